import json
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline

from skfair._groups import check_groups
from skfair._statistics.gaps import gap_upper_limit
from skfair.audit import Audit, Claim, _certify, fairness_front
from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    LossParity,
    PartialEqualOpportunity,
    PartialGroupAUC,
    PartialStatisticalParity,
    RangeGap,
    applicable_constraint_names,
)
from skfair.groups import Samples
from skfair.losses import SquaredLoss, step_function
from skfair.metrics import METRICS, get_scorer, make_scorer
from skfair.metrics._scoring import make_limit_metric
from skfair.regression import ConstrainedERMRegressor
from skfair.statistics import gap_interval, ratio_interval, required_sample_size
from tests.audit.doors import certify_model, certify_predictions, skip_unexamined_numbers
from tests.gap_clients import LossRatio, SquareParity

RNG = np.random.default_rng(0)
N = 3000
GROUP = RNG.choice(["a", "b", "c"], size=N)
X = np.column_stack((RNG.normal(size=N) + 0.3 * (GROUP == "a"), RNG.normal(size=N)))
Y = (X[:, 0] + RNG.logistic(size=N) > 0).astype(int)
MODEL = LogisticRegression().fit(X[:300], Y[:300])
FRESH = X[300:], Y[300:]
FRESH_GROUP = GROUP[300:]

CERTIFIABLE = {
    name: kind() for name, kind in CONSTRAINTS.items() if kind.applies_to != ("numbers",)
}
for name in ("partial_equal_opportunity", "partial_equalized_odds"):
    CERTIFIABLE[name] = CONSTRAINTS[name](rank_within="class")
CERTIFIABLE |= {
    "bounded_group_loss": BoundedGroupLoss(0.8),
    "sum": EqualizedOdds(aggregate="sum"),
    "overall": DemographicParity(reference="overall"),
    "above overall": DemographicParity(reference="above_overall"),
    "mean distance": EqualizedOdds(reference="overall", aggregate="mean"),
    "mean excess": EqualizedOdds(reference="above_overall", aggregate="mean"),
    "signed mean": EqualizedOdds(reference="above_overall", aggregate="signed_mean"),
    "strata": DemographicParity(control_features=lambda X: X[:, 1] > 0),
    "raw": PartialStatisticalParity((0.1, 0.4), scale="raw"),
    "interval": PartialStatisticalParity((0.1, 0.4)),
}


def certify_held_out(**settings):
    return certify_model(MODEL, *FRESH, **({"sensitive_features": FRESH_GROUP} | settings))


def certify_within(name, tolerance):
    """The claim of an entry of `CERTIFIABLE` with a bound; one that has its own gets it there."""
    constraint = CERTIFIABLE[name]
    if isinstance(constraint, BoundedGroupLoss):
        return certify_held_out(constraint=BoundedGroupLoss(tolerance))
    return certify_held_out(constraint=constraint, tolerance=tolerance)


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", CERTIFIABLE)
def test_every_constraint_can_be_certified(name):
    certificate = certify_within(name, 5.0 if "loss" in name else 0.9)
    assert certificate.is_shown and certificate.required_sample_size is None
    assert certificate.estimate <= certificate.high + 1e-12
    certificate_below = certify_within(name, certificate.high * 0.9 + 1e-6)
    assert not certificate_below.is_shown


@pytest.mark.parametrize("make", [DemographicParity, EqualizedOdds, ErrorRateParity])
def test_a_ratio_is_certified_by_the_limits_of_ratio_interval(make):
    certificate = certify_held_out(constraint=make(ratio=0.5))
    ratio = certificate.estimate
    scorer = make_scorer(make().ratio_metric)
    assert ratio == pytest.approx(scorer(MODEL, *FRESH, sensitive_features=FRESH_GROUP))
    assert certificate.is_shown and certificate.threshold == 0.5 and not certificate.is_exact
    assert "is at least 0.5 times the largest. Here it is " in str(certificate)
    assert f"{ratio:.3g}, and with 95 % confidence at least {certificate.low:.3g} in the" in str(
        certificate
    )
    if make is DemographicParity:
        decisions = MODEL.predict(FRESH[0])
        interval = ratio_interval(decisions, sensitive_features=FRESH_GROUP, confidence_level=0.9)
        assert certificate.low == pytest.approx(interval.low)
        assert ratio == pytest.approx(interval.estimate)
    # Slightly more than the limit is not certified, and the limit is the metric's.
    refused = certify_held_out(constraint=make(ratio=certificate.low + 1e-6))
    assert not refused.is_shown
    assert str(refused).startswith("Not shown: the smallest ")
    assert f"{refused.required_sample_size:,} {refused.counted} of each group suffice" in str(
        refused
    )
    limit = make_limit_metric(make(ratio=0.5), 0.95)
    predictions = FRESH[1], MODEL.predict(FRESH[0])
    assert 1 - limit(*predictions, sensitive_features=FRESH_GROUP) == certificate.low


@pytest.mark.slow
def test_a_certified_ratio_is_seldom_false():
    # Rates of 0.32 and 0.4 have the ratio 0.8; no certificate of it is true above 0.8.
    rng = np.random.default_rng(0)
    limit = make_limit_metric(DemographicParity(ratio=0.8), 0.95)
    n_misses = 0
    group = np.repeat([0, 1], [300, 500])
    for _ in range(300):
        decisions = (rng.random(800) < np.where(group == 0, 0.32, 0.4)).astype(int)
        n_misses += limit(decisions, decisions, sensitive_features=group) < 0.2
    assert n_misses <= stats.binom.isf(0.001, 300, 0.05)


def draw_with_minority(n, rates, seed):
    """Groups, a tenth of which is the minority, and decisions of these rates."""
    rng = np.random.default_rng(seed)
    is_minority = rng.random(n) < 0.1
    return is_minority, (rng.random(n) < np.where(is_minority, *rates)).astype(int)


def test_a_minority_that_is_never_selected_is_far_from_the_overall_rate():
    groups, decisions = draw_with_minority(20_000, (0.0, 0.5), seed=0)
    settings = {"sensitive_features": groups, "tolerance": 0.1}
    certificates = [
        certify_predictions(
            None, decisions, constraint=DemographicParity(reference=reference), **settings
        )
        for reference in ("overall", "above_overall")
    ]
    assert [one.is_shown for one in certificates] == [False, True]
    assert certificates[0].estimate == pytest.approx(decisions.mean())
    assert certificates[0].is_contradicted and not certificates[1].is_contradicted
    assert "no group differs by more than 10 percentage points from all in" in str(certificates[0])
    assert "no group is more than 10 percentage points above all in selection rate" in str(
        certificates[1]
    )
    forms = [json.loads(one.to_json())["form"] for one in certificates]
    assert forms == ["distance to overall", "above overall"]


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize(
    ("rates", "aggregate"),
    [
        ((0.3, 0.5), "max"),
        ((0.6, 0.4), "mean"),
        pytest.param((0.3, 0.5), "mean", marks=pytest.mark.slow),
        pytest.param((0.6, 0.4), "max", marks=pytest.mark.slow),
    ],
)
def test_a_certified_distance_from_the_overall_rate_is_seldom_false(rates, aggregate):
    # The minority is below or above the overall rate, and the tolerance just the true gap.
    shares = np.array([0.1, 0.9])
    rates = np.array(rates)
    distances = np.abs(rates - shares @ rates)
    n_misses = 0
    limit = make_limit_metric(DemographicParity(reference="overall", aggregate=aggregate), 0.95)
    for seed in range(100):
        groups, decisions = draw_with_minority(1500, rates, seed)
        upper = limit(decisions, decisions, sensitive_features=groups)
        n_misses += upper < getattr(distances, aggregate)()
    # Limits that err in .2 of samples would pass with a probability of .05.
    assert n_misses <= stats.binom.isf(0.001, 100, 0.05)


def test_nothing_is_certified_of_rates_of_zero():
    none_selected = DummyClassifier(strategy="constant", constant=0).fit(X, Y)
    groups = {"sensitive_features": FRESH_GROUP}
    certificate = certify_model(
        none_selected, *FRESH, constraint=DemographicParity(ratio=0.8), **groups
    )
    assert np.isnan(certificate.estimate)  # a ratio of zeros has no value
    assert (certificate.low, certificate.is_shown) == (0.0, False)


def test_the_tolerance_may_be_the_constraints():
    certificate = certify_held_out(constraint=DemographicParity(tolerance=0.3))
    same = certify_held_out(constraint="demographic_parity", tolerance=0.3)
    assert str(certificate) == str(same) and certificate.high == same.high
    with pytest.raises(
        ValueError, match="tolerance=0.3 must be .*, but .* has another bound of its own"
    ):
        certify_held_out(constraint=DemographicParity(ratio=0.8), tolerance=0.3)
    with pytest.raises(ValueError, match="a ratio less than 1"):
        certify_held_out(constraint=DemographicParity(ratio=1.0))
    with pytest.raises(ValueError, match="it is None, and DemographicParity has none"):
        certify_held_out(constraint="demographic_parity")


@pytest.mark.parametrize(
    "name", sorted(name for name in {*CONSTRAINTS} & {*CERTIFIABLE} if CONSTRAINTS[name].metric)
)
def test_the_gap_is_that_of_the_public_metric(name):
    constraint = CERTIFIABLE[name]
    if hasattr(constraint, "rank_within"):  # a scorer ranks within the group
        expected = METRICS[constraint.metric].function(
            FRESH[1], MODEL.decision_function(FRESH[0]), sensitive_features=FRESH_GROUP,
            interval=constraint.interval, rank_within="class",
        )  # fmt: skip
    else:
        scorer = get_scorer("neg_" + constraint.metric)
        expected = -scorer(MODEL, *FRESH, sensitive_features=FRESH_GROUP)
    assert certify_held_out(constraint=constraint, tolerance=0.9).estimate == pytest.approx(
        expected
    )


def test_demographic_parity_is_the_gap_of_decisions():
    certificate = certify_held_out(tolerance=0.5)
    decisions = MODEL.predict(FRESH[0])
    two_sided = gap_interval(decisions, sensitive_features=FRESH_GROUP, confidence_level=0.9)
    assert certificate.high == pytest.approx(two_sided.high)
    assert certificate.is_exact


def _decisions(hits, n):
    """A model's decisions, of which so many of each group are positive."""
    decisions = np.concatenate([np.arange(of) < x for x, of in zip(hits, n, strict=True)])
    return decisions.astype(float)[:, np.newaxis], np.repeat(np.arange(len(n)), n)


class _FirstColumn(DummyClassifier):
    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


FIXED = _FirstColumn(strategy="prior").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.slow
@pytest.mark.parametrize("n, difference", [((9, 7), 0.36), ((10, 9), 0.35), ((11, 11), 0.3)])
def test_certificates_are_wrong_in_five_percent_at_most(n, difference, monkeypatch):
    """Over every count, at the rates of the hypothesis: exact, at sizes where Newcombe's is not."""
    skip_unexamined_numbers(monkeypatch)
    certified = np.zeros((n[0] + 1, n[1] + 1))
    for hits in np.ndindex(certified.shape):
        decisions, groups = _decisions(hits, n)
        y = np.arange(len(groups)) % 2
        certified[hits] = certify_model(
            FIXED,
            decisions,
            y,
            sensitive_features=groups,
            tolerance=difference,
            min_group_size=1,
        ).is_shown
    worst = max(
        stats.binom.pmf(np.arange(n[0] + 1), n[0], p + difference)
        @ certified
        @ stats.binom.pmf(np.arange(n[1] + 1), n[1], p)
        for p in np.linspace(0, 1 - difference, 101)
    )
    assert 0.0 < worst <= 0.05


def test_the_required_sample_size_is_named_and_suffices():
    decisions, groups = _decisions((40, 40), (200, 200))
    y = np.arange(400) % 2
    certificate = certify_model(FIXED, decisions, y, sensitive_features=groups, tolerance=0.05)
    assert not certificate.is_shown
    assert certificate.required_sample_size == required_sample_size(0.05, rate=0.2)
    assert f"{certificate.required_sample_size:,} samples of each group suffice" in str(certificate)
    n = 4 * certificate.required_sample_size
    decisions, groups = _decisions((n // 5, n // 5), (n, n))
    y = np.arange(2 * n) % 2
    assert certify_model(FIXED, decisions, y, sensitive_features=groups, tolerance=0.05).is_shown


def test_the_required_sample_size_is_per_group_and_not_per_cell():
    decisions, groups = _decisions((50, 50), (100, 100))
    settings = {"sensitive_features": groups, "tolerance": 0.1, "constraint": "equalized_odds"}
    certificate = certify_model(FIXED, decisions, np.arange(200) % 2, **settings)
    assert certificate.estimate == 0.0 and certificate.required_sample_size == required_sample_size(
        0.1, n_groups=2
    )


@pytest.mark.slow
def test_the_required_sample_size_is_exact_at_small_rates():
    """No success of 50: not certified at .05, but with the 59 that are named."""
    decisions, groups = _decisions((0, 0), (50, 50))
    with pytest.warns(UserWarning, match="fewer than 59"):
        certificate = certify_model(
            FIXED, decisions, np.arange(100) % 2, sensitive_features=groups, tolerance=0.05
        )
    assert not certificate.is_shown
    assert certificate.required_sample_size == required_sample_size(0.05, rate=0.5 / 51) >= 59
    n = certificate.required_sample_size
    decisions, groups = _decisions((0, 0), (n, n))
    y = np.arange(2 * n) % 2
    assert certify_model(FIXED, decisions, y, sensitive_features=groups, tolerance=0.05).is_shown


def test_a_gap_above_the_tolerance_has_no_required_sample_size():
    decisions, groups = _decisions((60, 20), (100, 100))
    y = np.arange(200) % 2
    certificate = certify_model(FIXED, decisions, y, sensitive_features=groups, tolerance=0.1)
    assert certificate.is_contradicted and certificate.required_sample_size is None
    assert "suffice" not in str(certificate)


def test_a_failed_certificate_states_what_these_data_certify():
    decisions, groups = _decisions((40, 50), (200, 200))
    data = FIXED, decisions, np.arange(400) % 2
    failed = certify_model(*data, sensitive_features=groups, tolerance=0.1)
    shown = failed.shown_threshold
    assert failed.high <= shown <= 0.15 and not failed.is_shown
    assert f"by at most {100 * shown:.3g} in the population." in str(failed)
    again = certify_model(*data, sensitive_features=groups, tolerance=shown)
    assert again.is_shown and again.shown_threshold is None
    # The tests of this certificate certify nothing that is much smaller.
    lower = shown - 0.02 * (shown - failed.high) - 0.001
    assert not certify_model(*data, sensitive_features=groups, tolerance=lower).is_shown
    content = json.loads(failed.to_json())
    assert content["shown_threshold"] == shown and content["text"] == str(failed)
    assert content["format"] == "skfair.Claim" and content["verdict"] == "open"


@pytest.mark.slow
def test_the_tolerance_that_would_be_certified_is_seldom_exceeded(monkeypatch):
    """By enumeration of all counts: the population's gap is above it in at most 5 %."""
    monkeypatch.setattr(_certify, "_required_size", lambda *_: None)  # slow, and not examined
    n, gap = 12, 0.35
    stated = np.ones((n + 1, n + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of small groups
        for i, j in np.ndindex(stated.shape):
            decisions, groups = _decisions((i, j), (n, n))
            certificate = certify_model(
                FIXED,
                decisions,
                np.arange(2 * n) % 2,
                sensitive_features=groups,
                tolerance=0.01,
                min_group_size=1,
            )
            stated[i, j] = certificate.shown_threshold or 1.0
    counts = np.arange(n + 1)
    exceeded = max(
        stats.binom.pmf(counts, n, p + gap) @ (stated < gap) @ stats.binom.pmf(counts, n, p)
        for p in np.linspace(0, 1 - gap, 41)
    )
    assert 0.0 < exceeded <= 0.05


def test_means_and_ratios_state_what_they_certify():
    failed = certify_held_out(constraint="loss_parity", tolerance=1e-3)
    assert failed.high <= failed.shown_threshold <= 1.01 * failed.high
    assert certify_held_out(constraint="loss_parity", tolerance=failed.shown_threshold).is_shown
    failed = certify_held_out(constraint=DemographicParity(ratio=0.99))
    ratio = failed.shown_threshold
    assert certify_held_out(constraint=DemographicParity(ratio=round(ratio, 6))).is_shown


def test_nothing_is_certified_without_a_selection():
    """Half a success stands for none, and its lower limit is 0: no ratio above 0 is shown."""
    decisions, groups = _decisions((0, 0), (50, 50))
    data = FIXED, decisions, np.arange(100) % 2
    failed = certify_model(
        *data, sensitive_features=groups, constraint=DemographicParity(ratio=0.8)
    )
    assert failed.shown_threshold is None and "What is shown" not in str(failed)
    assert np.isnan(failed.estimate) and failed.required_sample_size is None
    assert "Here there is no ratio, as all values are 0, and with 95 % conf" in str(failed)
    assert failed.find_differences(Claim.from_json(failed.to_json())) == []


def test_a_gap_at_the_tolerance_has_no_required_sample_size():
    decisions, groups = _decisions((4000, 4100), (10000, 10000))
    data = FIXED, decisions, np.arange(20000) % 2
    failed = certify_model(*data, sensitive_features=groups, tolerance=0.01)
    assert failed.required_sample_size is None and failed.n_smallest is None


@pytest.mark.parametrize("hits", [(40, 40), (180, 200)])
def test_a_failed_ratio_states_how_many_more_samples_it_takes(hits):
    decisions, groups = _decisions(hits, (400, 400))
    four_fifths = {"constraint": DemographicParity(ratio=0.8)}
    data = FIXED, decisions, np.arange(800) % 2
    failed = certify_model(*data, sensitive_features=groups, **four_fifths)
    observed = hits[0] / hits[1]
    n = required_sample_size(ratio=0.8, expected=observed, rate=sum(hits) / 800)
    assert failed.required_sample_size == n > failed.n_smallest == 400
    assert f"{n:,} samples of each group suffice; the smallest group has 400." in str(failed)
    # With so many samples, and the same rates, it is certified.
    decisions, groups = _decisions([hit * n // 400 for hit in hits], (n, n))
    data = FIXED, decisions, np.arange(2 * n) % 2
    assert certify_model(*data, sensitive_features=groups, **four_fifths).is_shown


def test_the_attributes_of_several_classes_are_those_of_the_worst_one():
    limits = [
        _certify._Limits(False, 0.1, 0.2, 0.0, True, {}, 100, t, size)
        for size, t in ((500, 0.21), (700, 0.3))
    ]
    combined = _certify._combine_classes(limits)
    assert combined.required_sample_size == 700 and combined.shown_tolerance == 0.3
    unknown = limits[0]._replace(required_sample_size=None)
    assert _certify._combine_classes([unknown, limits[1]]).required_sample_size is None


def test_groups_that_are_too_small_are_named_with_the_number_needed():
    decisions, groups = _decisions((10, 10, 1), (100, 100, 20))
    data = FIXED, decisions, np.arange(220) % 2
    with pytest.warns(UserWarning, match=r"fewer than 59 samples.*: 2 \(20\)"):
        certificate = certify_model(
            *data, sensitive_features=groups, tolerance=0.05, min_group_size=20
        )
    assert not certificate.is_shown
    with pytest.warns(UserWarning, match=r"fewer than min_group_size=30"):
        certificate = certify_model(*data, sensitive_features=groups, tolerance=0.05)
    assert certificate.left_out == ("2",)


def test_the_number_that_is_named_is_right():
    """No success of 59: the exact limit is just within .05."""
    assert 1 - 0.05 ** (1 / 59) <= 0.05 < 1 - 0.05 ** (1 / 58)


def test_regressors():
    model = LinearRegression().fit(X[:300], X[:300, 0] * 2.0)
    certificate = certify_model(
        model, X, X[:, 0] * 2.0, sensitive_features=GROUP, constraint="mean_parity", tolerance=1.0
    )
    means = pd.Series(model.predict(X)).groupby(GROUP).mean()
    assert (
        certificate.estimate == pytest.approx(np.ptp(means))
        and certificate.is_shown
        and not certificate.is_exact
    )


def test_weights_and_overlapping_groups_are_asymptotic():
    weights = np.random.default_rng(1).uniform(0.5, 1.5, size=len(FRESH_GROUP))
    assert not certify_held_out(tolerance=0.3, sample_weight=weights).is_exact
    overlapping = sparse.csr_array(np.column_stack((FRESH_GROUP == "a", FRESH_GROUP != "c")))
    certificate = certify_held_out(tolerance=0.3, sensitive_features=overlapping)
    assert not certificate.is_exact and certificate.estimate < certificate.high


def test_samples_of_weight_zero_are_absent():
    weights = (np.arange(len(FRESH_GROUP)) % 3 > 0).astype(float)
    certificate_below = weights > 0
    constraint = DemographicParity(control_features=lambda X: X[:, 1] > 0)
    certificate = certify_held_out(tolerance=0.3, sample_weight=weights, constraint=constraint)
    alone = certify_model(
        MODEL,
        FRESH[0][certificate_below],
        FRESH[1][certificate_below],
        sensitive_features=FRESH_GROUP[certificate_below],
        tolerance=0.3,
        constraint=constraint,
    )
    assert certificate == alone


def test_training_samples_are_refused():
    with pytest.raises(ValueError, match="2700 of the 2700 rows of X are in X_fit"):
        certify_held_out(tolerance=0.3, X_fit=X)
    with pytest.warns(UserWarning, match="100 of the 2700 rows of X are in X_fit"):
        certify_held_out(tolerance=0.3, X_fit=X[:400])
    assert certify_held_out(tolerance=0.3, X_fit=X[:300]).is_shown


@pytest.mark.parametrize("level", [0, 1, 95])
def test_confidence_is_a_probability(level):
    with pytest.raises(ValueError, match="confidence_level must be"):
        certify_held_out(tolerance=0.3, confidence_level=level)


@pytest.mark.parametrize("tolerance", [0.0, -0.1])
def test_a_tolerance_is_positive(tolerance):
    with pytest.raises(ValueError, match="tolerance must be positive"):
        certify_held_out(tolerance=tolerance)


def test_constraints_that_cannot_be_certified_are_refused():
    with pytest.raises(ValueError, match='rank_within="class"'):
        certify_held_out(tolerance=0.3, constraint=PartialEqualOpportunity((0.0, 0.5)))
    with pytest.raises(ValueError, match=r"for the interval \(0, 1\) only"):
        certify_held_out(tolerance=0.3, constraint=PartialGroupAUC((0.0, 0.5)))
    with pytest.raises(ValueError, match="constraint must be one of"):
        certify_held_out(tolerance=0.3, constraint="parity")
    with pytest.raises(ValueError, match="rows"):
        certify_held_out(tolerance=0.3, sensitive_features=FRESH_GROUP[:-1])


@pytest.mark.slow
def test_partial_limits_hold():
    """Exponential scores, shifted in one group: the gap is known."""
    rng = np.random.default_rng(3)
    interval = (0.2, 0.6)
    n_misses = 0
    constraint = PartialStatisticalParity(interval)
    limit = make_limit_metric(constraint, 0.95)
    group = np.repeat([0, 1], 300)
    # The shares above are s and 1.25 s. On the interval (1.25 s - s) / .4 is largest at s = .48.
    truth = 0.3
    for _ in range(200):
        scores = rng.exponential(size=600) + np.where(group == 1, np.log(1.25), 0.0)
        n_misses += limit(scores, sensitive_features=group) < truth
    assert n_misses <= stats.binom.isf(0.001, 200, 0.05)


def test_limits_are_metrics_of_which_scorers_are_made():
    scorer = make_scorer(EqualOpportunity(), confidence_level=0.9)
    with pytest.raises(ValueError, match="Did you mean 'equal_opportunity'"):
        make_scorer("recall", confidence_level=0.9)
    named = make_scorer("equal_opportunity", confidence_level=0.9)
    assert named(MODEL, *FRESH, sensitive_features=FRESH_GROUP) == scorer(
        MODEL, *FRESH, sensitive_features=FRESH_GROUP
    )
    certificate = scorer(MODEL, *FRESH, sensitive_features=FRESH_GROUP)
    expected = certify_held_out(tolerance=0.3, constraint="equal_opportunity", confidence_level=0.9)
    assert certificate == pytest.approx(-expected.high)
    assert -certificate > METRICS["equal_opportunity_difference"](
        FRESH[1], MODEL.predict(FRESH[0]), sensitive_features=FRESH_GROUP
    )


def test_nothing_is_certified_of_one_group():
    one = np.full(len(FRESH_GROUP), "a")
    for constraint in ("demographic_parity", "equalized_odds", DemographicParity(ratio=0.8)):
        tolerance = None if getattr(constraint, "ratio", None) else 0.3
        with pytest.raises(ValueError, match="needs two groups to be compared"):
            certify_held_out(tolerance=tolerance, constraint=constraint, sensitive_features=one)
    loss = certify_held_out(
        tolerance=None, constraint=BoundedGroupLoss(2.0), sensitive_features=one
    )
    assert loss.is_shown


def test_features_of_other_samples_are_refused():
    limit = make_limit_metric(DemographicParity(control_features=0), 0.95)
    features = FRESH[0] > 0
    labels = MODEL.predict(FRESH[0])
    weights = np.arange(len(labels)) > 0
    limits = [
        limit(FRESH[1], labels, sensitive_features=FRESH_GROUP, X=X)
        for X in (features, features.tolist())
    ]
    assert limits[0] == limits[1]
    for other in (features[1:], np.r_[features, features]):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            limit(FRESH[1], labels, sensitive_features=FRESH_GROUP, X=other, sample_weight=weights)


def test_a_claim_is_neither_true_nor_false():
    with pytest.raises(TypeError, match="ask for claim.verdict"):
        bool(certify_held_out(tolerance=0.5))


def test_each_of_many_classes_is_certified_against_the_rest():
    three = np.array(["x", "y", "z"])[(X[:, 0] > 0).astype(int) + (X[:, 0] > 1)]
    model = LogisticRegression().fit(X[:300], three[:300])
    settings = {"sensitive_features": FRESH_GROUP, "tolerance": 0.5}
    certificate = certify_model(model, X[300:], three[300:], **settings)
    alone = [
        certify_model(model, X[300:], three[300:], pos_label=label, **settings) for label in "xyz"
    ]
    assert certificate.is_shown and certificate.is_exact
    assert certificate.high == max(one.high for one in alone)
    shares = pd.crosstab(FRESH_GROUP, model.predict(X[300:]), normalize="index")
    assert certificate.estimate == pytest.approx(np.ptp(shares, axis=0).max())
    second = sorted(one.high for one in alone)[1]
    settings["tolerance"] = (second + certificate.high) / 2  # one of them does not keep it
    assert not certify_model(model, X[300:], three[300:], **settings).is_shown


def test_the_error_about_other_models_names_the_function_for_them():
    with pytest.raises(TypeError, match="pass the predictions"):
        certify_model(object(), *FRESH, sensitive_features=FRESH_GROUP, tolerance=0.1)


def test_losses_too_skewed_for_their_number_are_warned_of():
    rows = slice(None, 90)
    target = X[rows, 0] + np.where(np.arange(90) == np.flatnonzero(GROUP[:90] == "b")[0], 50.0, 0.0)
    model = LinearRegression().fit(X[300:], X[300:, 0])
    params = {"sensitive_features": GROUP[rows], "tolerance": 1.0, "min_group_size": 20}
    params["constraint"] = LossParity(loss="squared")
    with pytest.warns(UserWarning, match="too skewed for so few samples, or all equal: .*'b' "):
        certify_model(model, X[rows], target, **params)


REGRESSOR = LinearRegression().fit(X[:300], 10 * X[:300, 0])
TARGET = 10 * X[300:, 0] + RNG.normal(size=N - 300) * np.where(FRESH_GROUP == "a", 4.0, 1.0)


def certify_numbers(model=REGRESSOR, **settings):
    return certify_model(
        model, FRESH[0], TARGET, **({"sensitive_features": FRESH_GROUP} | settings)
    )


@pytest.mark.parametrize(
    "name", sorted(set(CONSTRAINTS) - set(applicable_constraint_names("numbers")))
)
def test_constraints_on_classes_are_refused_of_regressors(name):
    with pytest.raises(ValueError, match=r"LinearRegression predicts numbers.*'loss_parity', 'mea"):
        certify_numbers(constraint=name, tolerance=0.05)
    with pytest.raises(ValueError, match="predicts numbers or clusters"):
        fairness_front(
            LinearRegression(), FRESH[0], TARGET, sensitive_features=FRESH_GROUP,
            constraint="demographic_parity",
        )  # fmt: skip


def test_targets_of_a_regressor_are_numbers():
    words = np.where(TARGET > 0, "high", "low")
    params = {"sensitive_features": FRESH_GROUP, "constraint": LossParity(loss="squared")}
    with pytest.raises(ValueError, match="y must be numbers.* but holds"):
        certify_model(REGRESSOR, FRESH[0], words, tolerance=0.1, **params)


def test_losses_of_a_regressor_are_those_that_are_named():
    """A false certificate before: the logistic loss of predictions above 0 is equal."""
    errors = REGRESSOR.predict(FRESH[0]) - TARGET
    for loss, values in {"squared": errors**2, "absolute": np.abs(errors)}.items():
        means = pd.Series(values).groupby(FRESH_GROUP).mean()
        certificate = certify_numbers(constraint=LossParity(loss=loss), tolerance=0.05)
        assert certificate.estimate == pytest.approx(np.ptp(means))
        assert not certificate.is_shown
    with pytest.raises(ValueError, match=r"Pass a constraint .* LossParity\(loss='squared'\)"):
        certify_numbers(constraint="loss_parity", tolerance=0.05)
    with pytest.raises(ValueError, match="predicts numbers"):
        certify_numbers(constraint=LossParity(loss="logistic"), tolerance=0.05)


@pytest.mark.filterwarnings("ignore:X looks like the training data of the model")
@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_a_regressor_of_skfair_is_certified_by_the_loss_of_its_fit(loss):
    """On its own training data the gap is that of its report."""
    model = ConstrainedERMRegressor("loss_parity", loss=loss)
    model.fit(FRESH[0], TARGET, sensitive_features=FRESH_GROUP)
    certificate = certify_numbers(model, constraint="loss_parity", tolerance=100.0)
    assert certificate.estimate == pytest.approx(model.constraint_report_["gap"].iloc[0])
    assert f"100 {'squared ' * (loss == 'squared')}units of the target" in str(certificate)
    inside = make_pipeline("passthrough", model)
    assert certify_numbers(inside, constraint="loss_parity", tolerance=100.0) == certificate


def test_a_certificate_names_its_units():
    certificate = certify_numbers(constraint="mean_parity", tolerance=9.0)
    assert "mean predictions of any two groups differ by at most 9 units of the target" in str(
        certificate
    )
    assert "selection rates of any two groups differ by at most 50 points" in str(
        certify_held_out(tolerance=0.5)
    )
    partial = certify_held_out(tolerance=0.5, constraint="partial_statistical_parity")
    assert "50 points of those ranked in the interval" in str(partial)
    area = certify_held_out(tolerance=0.4, constraint="partial_group_auc")
    assert "0.4 units of the area under the ROC curve" in str(area)
    probability = certify_held_out(tolerance=0.5, constraint="mean_parity")
    assert "0.5 units of the predicted probability" in str(probability)
    assert "units of LogisticLoss" in str(certify_held_out(tolerance=5.0, constraint="loss_parity"))


@pytest.mark.slow
def test_a_classifier_of_skfair_is_certified_by_the_loss_of_its_fit():
    model = ConstrainedERMClassifier("loss_parity", loss="hinge")
    model.fit(*FRESH, sensitive_features=FRESH_GROUP)
    settings = {"sensitive_features": FRESH_GROUP, "constraint": "loss_parity"}
    with pytest.warns(UserWarning, match="looks like the training data"):
        certificate = certify_model(model, *FRESH, tolerance=1.0, **settings)
    assert certificate.estimate == pytest.approx(model.constraint_report_["gap"].iloc[0])


def test_losses_have_known_names():
    with pytest.raises(ValueError, match="'loss' parameter of LossParity must be .*'squared'"):
        certify_held_out(constraint=LossParity(loss="deviance"), tolerance=1.0)


def test_models_without_the_scores_that_are_compared_are_refused():
    forest = RandomForestClassifier(5, random_state=0).fit(X[:300], Y[:300])
    with pytest.raises(ValueError, match="has no decision_function. Pass .*demographic_parity"):
        certify_model(
            forest, *FRESH, sensitive_features=FRESH_GROUP, constraint="loss_parity", tolerance=1
        )
    clusters = KMeans(2, n_init=1, random_state=0).fit(X[:300])
    with pytest.raises(TypeError, match="KMeans has no classes_ and is no regressor"):
        certify_model(clusters, *FRESH, sensitive_features=FRESH_GROUP, tolerance=0.1)
    three = LogisticRegression().fit(X[:300], (X[:300, 0] > 0).astype(int) + (X[:300, 0] > 1))
    with pytest.raises(ValueError, match="knows 3 classes"):
        certify_model(
            three, *FRESH, sensitive_features=FRESH_GROUP, constraint="mean_parity", tolerance=1
        )


class _HighScoreParity(Constraint):
    def cells(self, samples):
        return {"all": np.ones(len(samples.target), dtype=bool)}

    def terms(self, surrogate, loss):
        return (lambda scores, target: surrogate(scores - 0.5),)


def test_a_constraint_without_a_public_metric_can_be_certified():
    high = pd.Series(MODEL.decision_function(FRESH[0]) > 0.5).groupby(FRESH_GROUP).mean()
    certificate = certify_held_out(constraint=_HighScoreParity(), tolerance=0.5)
    assert certificate.estimate == pytest.approx(np.ptp(high))


@pytest.mark.parametrize("model", [LinearRegression(), ConstrainedERMRegressor(None)])
def test_squares_of_numbers_are_those_of_predictions_as_they_are(model):
    X = np.random.default_rng(0).normal(size=(400, 2))
    group = np.arange(400) % 2
    y = 3.0 * X[:, 0] + 5.0
    settings = {"sensitive_features": group, "constraint": SquareParity(), "tolerance": 50.0}
    plain = clone(model).fit(X[:200], y[:200])
    certificate = certify_model(
        plain, X[200:], y[200:], **settings | {"sensitive_features": group[200:]}
    )
    squares = pd.Series(plain.predict(X[200:]) ** 2).groupby(group[200:]).mean()
    assert certificate.estimate == pytest.approx(np.ptp(squares))
    assert certificate.unit == "units of what is averaged"


def test_a_gap_of_ones_own_is_not_certified_by_the_limits_of_another():
    class TripleRange(RangeGap):
        def __call__(self, means):
            return 3.0 * super().__call__(means)

    class TripleParity(LossParity):
        gap, metric = TripleRange, None

    with pytest.raises(ValueError, match="linear_forms of TripleRange must have the gap"):
        certify_held_out(constraint=TripleParity(), tolerance=0.9)


def test_a_gap_that_no_sentence_states_is_not_claimed():
    class LargeGroupsRange(RangeGap):
        pass

    class LargeGroupsParity(DemographicParity):
        gap, metric = LargeGroupsRange, None

    with pytest.raises(ValueError, match="No sentence says what the gap LargeGroupsRange of Large"):
        certify_held_out(constraint=LargeGroupsParity(), tolerance=0.9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, pytest.param(400, marks=pytest.mark.slow)])
def test_limits_of_ratios_of_losses_hold_as_often_as_stated(n):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], n)
    n_wrong = 0
    for _ in range(300):
        losses = rng.exponential(size=2 * n) * np.where(group, 0.8, 1.0)
        samples = Samples(np.zeros(2 * n), check_groups(group, 2 * n), np.ones(2 * n))
        bound = LossRatio(loss="squared").bind(samples, step_function, SquaredLoss(), 0.5)
        estimates = bound.estimates(np.sqrt(2.0 * losses))
        n_wrong += gap_upper_limit(*estimates, 0.95) < 0.2
    assert n_wrong <= 25  # 15 are expected at most


def test_a_ratio_of_means_needs_positive_ones():
    samples = Samples(np.zeros(4), check_groups([0, 0, 1, 1], 4), np.ones(4))
    bound = LossRatio(loss="squared").bind(samples, step_function, SquaredLoss(), 0.5)
    with pytest.raises(ValueError, match="means above 0, .* by a tolerance instead"):
        bound.estimates(np.array([0.0, 0.0, 1.0, 2.0]))


def test_a_gap_within_the_tolerance_may_be_certified_on_more_samples():
    certificate = certify_numbers(constraint="mean_parity", tolerance=9.0)
    near = certify_numbers(
        constraint="mean_parity", tolerance=(certificate.estimate + certificate.high) / 2
    )
    assert not near.is_shown and "A larger sample may suffice" in str(near)


class CountingClassifier(LogisticRegression):
    """A classifier that counts the calls of its methods."""

    calls = Counter()

    def predict(self, X):
        self.calls["predict"] += 1
        return super().predict(X)

    def predict_proba(self, X):
        self.calls["predict_proba"] += 1
        return super().predict_proba(X)


@pytest.mark.parametrize("constraint", ["equalized_odds", "mean_parity"])
def test_a_model_predicts_once(constraint):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    groups = rng.choice(["a", "b"], 400)
    y = (X[:, 0] > 0).astype(int)
    model = CountingClassifier().fit(X, y)
    CountingClassifier.calls.clear()
    certify_model(model, X, y, sensitive_features=groups, constraint=constraint, tolerance=0.5)
    assert CountingClassifier.calls == {"predict": 1, "predict_proba": 1}


def test_an_audit_of_a_model_without_outcomes_certifies_selection_rates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    groups = rng.choice(["a", "b"], 400)
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    audit = Audit.from_estimator(model, X, sensitive_features=groups)
    plain = Audit.from_predictions(None, model.predict(X), sensitive_features=groups)
    assert str(audit.certify(tolerance=0.3)) == str(plain.certify(tolerance=0.3))
    with pytest.raises(ValueError, match="y_true must hold the outcomes, on which"):
        audit.certify("equalized_odds", 0.3)
    with pytest.raises(ValueError, match="scores without decisions"):
        audit.top(100).certify(tolerance=0.3)


def test_claims_of_values_without_bound_assume_that_samples_lack_none():
    rng = np.random.default_rng(0)
    target = 100.0 * rng.normal(size=900)
    groups = np.repeat(["f", "m"], [300, 600])
    predicted = target + 10.0 * rng.normal(size=900)
    audit = Audit.from_predictions(target, predicted, sensitive_features=groups)
    claim = audit.certify("mean_parity", tolerance=50.0)
    # A value of 1 % of the population is missing from 300 samples with probability .05.
    assert 0.99**300 == pytest.approx(0.05, abs=0.002)
    assert str(claim).endswith(
        "This holds if values of less than 1 % of a group, which its samples may lack, change no "
        "mean."
    )
    bounded = Audit.from_predictions(target > 0, predicted > 0, sensitive_features=groups)
    assert "which its samples may lack" not in str(bounded.certify(tolerance=0.5))
