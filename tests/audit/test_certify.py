import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfair.audit import certify, limit_metric
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    ConditionalDemographicParity,
    DemographicParity,
    EqualizedOdds,
    PartialEqualOpportunity,
    PartialGroupAUC,
    PartialStatisticalParity,
)
from skfair.inference import gap_interval, people_needed
from skfair.metrics import METRICS, get_scorer

RNG = np.random.default_rng(0)
N = 3000
GROUP = RNG.choice(["a", "b", "c"], size=N)
X = np.column_stack((RNG.normal(size=N) + 0.3 * (GROUP == "a"), RNG.normal(size=N)))
Y = (X[:, 0] + RNG.logistic(size=N) > 0).astype(int)
MODEL = LogisticRegression().fit(X[:300], Y[:300])
FRESH = X[300:], Y[300:]
FRESH_GROUP = GROUP[300:]

CERTIFIABLE = {name: kind() for name, kind in CONSTRAINTS.items()}
for name in ("partial_equal_opportunity", "partial_equalized_odds"):
    CERTIFIABLE[name] = CONSTRAINTS[name](rank_within="class")
CERTIFIABLE |= {
    "bounded_group_loss": BoundedGroupLoss(0.8),
    "sum": EqualizedOdds(aggregate="sum"),
    "overall": DemographicParity(reference="overall"),
    "mean excess": EqualizedOdds(reference="overall", aggregate="mean"),
    "signed mean": EqualizedOdds(reference="overall", aggregate="signed_mean"),
    "strata": ConditionalDemographicParity(lambda X: X[:, 1] > 0),
    "raw": PartialStatisticalParity((0.1, 0.4), scale="raw"),
    "interval": PartialStatisticalParity((0.1, 0.4)),
}


def fresh(**settings):
    return certify(MODEL, *FRESH, **({"sensitive_features": FRESH_GROUP} | settings))


@pytest.mark.parametrize("name", CERTIFIABLE)
def test_every_constraint_can_be_certified(name):
    found = fresh(constraint=CERTIFIABLE[name], tolerance=5.0 if "loss" in name else 0.9)
    assert found.certified and found.people_needed is None
    assert found.gap <= found.limit + 1e-12
    kept = fresh(constraint=CERTIFIABLE[name], tolerance=found.limit * 0.9 + 1e-6)
    assert not kept.certified


@pytest.mark.parametrize("name", sorted(set(CONSTRAINTS) & set(CERTIFIABLE)))
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
    assert fresh(constraint=constraint, tolerance=0.9).gap == pytest.approx(expected)


def test_demographic_parity_is_the_gap_of_decisions():
    found = fresh(tolerance=0.5)
    decisions = MODEL.predict(FRESH[0])
    two_sided = gap_interval(decisions, sensitive_features=FRESH_GROUP, confidence_level=0.9)
    assert found.limit == pytest.approx(two_sided.high)
    assert found.is_exact


def _decided(hits, n):
    """A model's decisions, of which so many of each group are positive."""
    decisions = np.concatenate([np.arange(of) < x for x, of in zip(hits, n, strict=True)])
    return decisions.astype(float)[:, np.newaxis], np.repeat(np.arange(len(n)), n)


class _FirstColumn(DummyClassifier):
    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


FIXED = _FirstColumn(strategy="prior").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("n, difference", [((9, 7), 0.35), ((11, 11), 0.3)])
def test_certificates_are_wrong_in_five_percent_at_most(n, difference):
    """Over every count, at the rates of the hypothesis: exact, at sizes where Newcombe's is not."""
    certified = np.zeros((n[0] + 1, n[1] + 1))
    for hits in np.ndindex(certified.shape):
        decisions, groups = _decided(hits, n)
        y = np.arange(len(groups)) % 2
        certified[hits] = certify(
            FIXED, decisions, y, sensitive_features=groups, tolerance=difference
        ).certified
    worst = max(
        stats.binom.pmf(np.arange(n[0] + 1), n[0], p + difference)
        @ certified
        @ stats.binom.pmf(np.arange(n[1] + 1), n[1], p)
        for p in np.linspace(0, 1 - difference, 101)
    )
    assert 0.0 < worst <= 0.05


def test_the_people_needed_are_named_and_do():
    decisions, groups = _decided((40, 40), (200, 200))
    y = np.arange(400) % 2
    found = certify(FIXED, decisions, y, sensitive_features=groups, tolerance=0.05)
    assert not found.certified
    assert found.people_needed == people_needed(0.05, rate=0.2)
    assert f"{found.people_needed} people of each group would do" in str(found)
    n = 4 * found.people_needed
    decisions, groups = _decided((n // 5, n // 5), (n, n))
    y = np.arange(2 * n) % 2
    assert certify(FIXED, decisions, y, sensitive_features=groups, tolerance=0.05).certified


def test_the_people_needed_are_those_of_the_groups_whatever_the_cells():
    decisions, groups = _decided((50, 50), (100, 100))
    settings = {"sensitive_features": groups, "tolerance": 0.1, "constraint": "equalized_odds"}
    found = certify(FIXED, decisions, np.arange(200) % 2, **settings)
    assert found.gap == 0.0 and found.people_needed == people_needed(0.1, n_groups=2)


def test_a_gap_above_the_tolerance_needs_no_more_people():
    decisions, groups = _decided((60, 20), (100, 100))
    y = np.arange(200) % 2
    found = certify(FIXED, decisions, y, sensitive_features=groups, tolerance=0.1)
    assert found.people_needed is None and "no number of people" in str(found)


def test_groups_that_are_too_small_are_named_with_the_number_needed():
    decisions, groups = _decided((10, 10, 1), (100, 100, 20))
    with pytest.warns(UserWarning, match=r"fewer than 59 people.*: 2 \(20\)"):
        found = certify(
            FIXED, decisions, np.arange(220) % 2, sensitive_features=groups, tolerance=0.05
        )
    assert not found.certified


def test_the_number_that_is_named_is_right():
    """No success of 59: the exact limit is just within .05."""
    assert 1 - 0.05 ** (1 / 59) <= 0.05 < 1 - 0.05 ** (1 / 58)


def test_regressors():
    model = LinearRegression().fit(X[:300], X[:300, 0] * 2.0)
    found = certify(
        model, X, X[:, 0] * 2.0, sensitive_features=GROUP, constraint="mean_parity", tolerance=1.0
    )
    means = pd.Series(model.predict(X)).groupby(GROUP).mean()
    assert found.gap == pytest.approx(np.ptp(means)) and found.certified and not found.is_exact


def test_weights_and_overlapping_groups_are_asymptotic():
    weights = np.random.default_rng(1).uniform(0.5, 1.5, size=len(FRESH_GROUP))
    assert not fresh(tolerance=0.3, sample_weight=weights).is_exact
    overlapping = sparse.csr_array(np.column_stack((FRESH_GROUP == "a", FRESH_GROUP != "c")))
    found = fresh(tolerance=0.3, sensitive_features=overlapping)
    assert not found.is_exact and found.gap < found.limit


def test_people_of_weight_zero_are_absent():
    weights = (np.arange(len(FRESH_GROUP)) % 3 > 0).astype(float)
    kept = weights > 0
    constraint = ConditionalDemographicParity(lambda X: X[:, 1] > 0)
    found = fresh(tolerance=0.3, sample_weight=weights, constraint=constraint)
    alone = certify(
        MODEL,
        FRESH[0][kept],
        FRESH[1][kept],
        sensitive_features=FRESH_GROUP[kept],
        tolerance=0.3,
        constraint=constraint,
    )
    assert found == alone


def test_people_of_the_fit_are_refused():
    with pytest.raises(ValueError, match="2700 of the 2700 rows of X are in X_fit"):
        fresh(tolerance=0.3, X_fit=X)
    with pytest.warns(UserWarning, match="100 of the 2700 rows of X are in X_fit"):
        fresh(tolerance=0.3, X_fit=X[:400])
    assert fresh(tolerance=0.3, X_fit=X[:300]).certified


@pytest.mark.parametrize("level", [0, 1, 95])
def test_confidence_is_a_probability(level):
    with pytest.raises(ValueError, match="confidence_level must be"):
        fresh(tolerance=0.3, confidence_level=level)


@pytest.mark.parametrize("tolerance", [0.0, -0.1, np.nan])
def test_a_tolerance_is_positive(tolerance):
    with pytest.raises(ValueError, match="tolerance must be positive"):
        fresh(tolerance=tolerance)


def test_what_cannot_be_certified_is_said():
    with pytest.raises(ValueError, match='rank_within="class"'):
        fresh(tolerance=0.3, constraint=PartialEqualOpportunity((0.0, 0.5)))
    with pytest.raises(ValueError, match=r"for the interval \(0, 1\) only"):
        fresh(tolerance=0.3, constraint=PartialGroupAUC((0.0, 0.5)))
    with pytest.raises(ValueError, match="constraint must be one of"):
        fresh(tolerance=0.3, constraint="parity")
    with pytest.raises(ValueError, match="rows"):
        fresh(tolerance=0.3, sensitive_features=FRESH_GROUP[:-1])


def test_partial_limits_hold():
    """Exponential scores, one group's shifted: the gap is known."""
    rng, interval, missed = np.random.default_rng(3), (0.2, 0.6), 0
    constraint = PartialStatisticalParity(interval)
    limit = limit_metric(constraint)
    group = np.repeat([0, 1], 300)
    # The shares above are s and 1.25 s. On the interval (1.25 s - s) / .4 is largest at s = .48.
    truth = 0.3
    for _ in range(200):
        scores = rng.exponential(size=600) + np.where(group == 1, np.log(1.25), 0.0)
        missed += limit(scores, sensitive_features=group) < truth
    assert missed <= stats.binom.isf(0.001, 200, 0.05)


def test_limits_are_metrics_of_which_scorers_are_made():
    limit = limit_metric("equal_opportunity", confidence_level=0.9)
    scorer = get_scorer(limit)
    found = scorer(MODEL, *FRESH, sensitive_features=FRESH_GROUP)
    expected = fresh(tolerance=0.3, constraint="equal_opportunity", confidence_level=0.9)
    assert found == pytest.approx(-expected.limit)
    assert -found > METRICS["equal_opportunity_difference"](
        FRESH[1], MODEL.predict(FRESH[0]), sensitive_features=FRESH_GROUP
    )


def test_certificates_say_themselves_in_words():
    assert str(fresh(tolerance=0.5)).startswith("Certified: the gap is at most 0.5, with 95 % conf")
    assert str(fresh(tolerance=0.01)).startswith("Not certified: these people do not show")


def test_each_of_many_classes_is_certified_against_the_rest():
    three = np.array(["x", "y", "z"])[(X[:, 0] > 0).astype(int) + (X[:, 0] > 1)]
    model = LogisticRegression().fit(X[:300], three[:300])
    people = {"sensitive_features": FRESH_GROUP, "tolerance": 0.5}
    found = certify(model, X[300:], three[300:], **people)
    alone = [certify(model, X[300:], three[300:], pos_label=label, **people) for label in "xyz"]
    assert found.certified and found.is_exact
    assert found.limit == max(one.limit for one in alone)
    shares = pd.crosstab(FRESH_GROUP, model.predict(X[300:]), normalize="index")
    assert found.gap == pytest.approx(np.ptp(shares, axis=0).max())
    people["tolerance"] = (alone[0].limit + found.limit) / 2  # one of them does not keep it
    assert not certify(model, X[300:], three[300:], **people).certified


def test_models_of_another_kind_are_told_where_to_go():
    with pytest.raises(TypeError, match="pass the predictions"):
        certify(object(), *FRESH, sensitive_features=FRESH_GROUP, tolerance=0.1)


def test_what_an_exact_test_does_not_confirm_is_said():
    found = fresh(tolerance=0.5)._replace(certified=False, limit=0.49)
    assert "which an exact test does not confirm" in str(found)


def test_losses_of_few_people_are_said_to_be_uncertain():
    few = slice(None, 400)
    given = {"sensitive_features": FRESH_GROUP[few], "tolerance": 1.0}
    with pytest.warns(UserWarning, match="fewer than 300 people: 'a' "):
        certify(MODEL, FRESH[0][few], FRESH[1][few], constraint="loss_parity", **given)
