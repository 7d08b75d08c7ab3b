"""Claims about calibrated probabilities, their sample size, and refusals of fits."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from skfair._bound.gap import LargestDistance
from skfair._groups.events import Events
from skfair._statistics.calibration_errors import CalibrationErrors
from skfair._statistics.limits_of_rates import clopper_pearson_limits
from skfair.audit import Audit, Claim, verify
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import Calibration
from skfair.monitoring import GapMonitor
from skfair.statistics import required_sample_size


def draw(n, off=0.0, seed=0):
    """Groups, probabilities, and outcomes: women are more often positive than stated by `off`."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["f", "m"], n)
    p = rng.beta(2, 3, n)
    y = rng.random(n) < np.clip(p + off * (groups == "f"), 0.0, 1.0)
    return groups, p, y


def make_audit(n=8000, off=0.0, **params):
    groups, p, y = draw(n, off)
    return Audit.from_predictions(y, None, y_score=p, sensitive_features=groups, **params)


def test_a_claim_states_the_worst_group_and_is_verified():
    audit = make_audit(off=0.06)
    groups, p, y = draw(8000, 0.06)
    claim = audit.certify("calibration", 0.02)
    errors = [(y - p)[groups == name].mean() for name in "fm"]
    assert claim.verdict == "contradicted" and claim.exit_status == 3
    assert claim.estimate == pytest.approx(np.abs(errors).max())
    assert claim.worst_group == (
        "The probabilities of f are too low by 3.5 to 6.9 percentage points."
    )
    assert claim.text.startswith("Contradicted: as many of every group are positive as predicted")
    assert claim.sizes == {name: int((groups == name).sum()) for name in "fm"}
    stored = Claim.from_json(claim.to_json())
    assert stored == claim and verify(claim.to_json(), audit) == []
    assert "too low by" in claim.to_html() and "too low by" in claim.to_markdown()
    assert verify(claim.to_json(), make_audit())[0] == "verdict"


def test_limits_of_a_claim_are_those_of_the_report():
    groups, p, y = draw(2000)
    audit = Audit.from_predictions(y, p > 0.5, y_score=p, sensitive_features=groups)
    claim = audit.certify("calibration", 0.2, confidence_level=0.975)
    frame = audit.report(confidence_level=0.95).frame
    rows = frame[(frame["metric"] == "calibration_error") & (frame["attribute"] != "overall")]
    assert claim.high == pytest.approx(max(rows["high"].max(), -rows["low"].min()))
    assert claim.is_shown and claim.worst_group == ""


def test_too_high_probabilities_and_too_few_samples():
    groups, p, y = draw(1500, -0.2)
    claim = Audit.from_predictions(y, None, y_score=p, sensitive_features=groups).certify(
        Calibration(), 0.01
    )
    assert claim.worst_group.startswith("The probabilities of f are too high by ")
    undecided = make_audit(100).certify("calibration", 0.1)
    assert undecided.verdict == "open" and undecided.required_sample_size > undecided.n_smallest
    assert f"{undecided.required_sample_size:,} samples of each group suffice" in undecided.text


def test_a_model_weights_and_clusters_are_certified():
    groups, p, y = draw(4000)
    X = np.column_stack((p, groups == "f"))
    model = LogisticRegression().fit(X[:2000], y[:2000])
    held_out = Audit.from_estimator(model, X[2000:], y[2000:], sensitive_features=groups[2000:])
    assert held_out.certify("calibration", 0.1).is_shown
    plain = make_audit(4000).certify("calibration", 0.03)
    equal = make_audit(4000, sample_weight=np.full(4000, 2.0)).certify("calibration", 0.03)
    assert (equal.estimate, equal.high) == pytest.approx((plain.estimate, plain.high))
    clustered = make_audit(4000, groups=np.arange(4000) // 4).certify("calibration", 0.03)
    assert "if clusters of samples are independent" in clustered.text
    undecided = make_audit(100, groups=np.arange(100) // 4).certify("calibration", 0.1)
    assert undecided.verdict == "open" and undecided.required_sample_size is None


def draw_unrelated(n, rng):
    """Outcomes of which .05 are positive; .6 is said of .3 at random, and .001 otherwise."""
    p = np.where(rng.random(n) < 0.3, 0.6, 0.001)
    return p, rng.random(n) < 0.05


def draw_overconfident(n, rng):
    """Probabilities of .9 of a tenth, of which half are positive; .02 otherwise."""
    p = np.where(rng.random(n) < 0.1, 0.9, 0.02)
    return p, rng.random(n) < np.where(p > 0.5, 0.5, p)


@pytest.mark.parametrize(
    ("draw_group", "error"), [(draw_unrelated, 0.1307), (draw_overconfident, 0.04)]
)
def test_limits_hold_where_probabilities_vary_more_than_outcomes_follow(draw_group, error):
    """Probabilities are too high by `error`; limits given them missed it in .2 and .09."""
    n_draws, n = 1000, 150
    rng = np.random.default_rng(0)
    p, y = draw_group(n_draws * n, rng)
    events = Events.disjoint(np.repeat(np.arange(n_draws), n), n_draws)
    errors = CalibrationErrors(events, y.astype(float), p)
    low, high = errors.limits(0.95)
    limit = stats.binom.ppf(0.999, n_draws, 0.05)
    assert (low > -error).sum() <= limit and (high < -error).sum() <= limit


@pytest.mark.parametrize("level", [0.95, 0.999])
def test_limits_are_quantiles_of_gaffkes_sums(level):
    """Differences and one more at the end of their range, with random weights."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 5, 80)
    y = (rng.random(80) < p).astype(float)
    errors = CalibrationErrors(Events.disjoint(np.zeros(80, dtype=int), 1), y, p)
    (low,), (high,) = errors.limits(level)
    weights = rng.dirichlet(np.ones(81), 200_000)
    sums = weights @ np.append(y - p, 1.0 - p.min())
    assert high == pytest.approx(np.quantile(sums, level), abs=0.004)
    sums = weights @ np.append(y - p, -p.max())
    assert low == pytest.approx(np.quantile(sums, 1.0 - level), abs=0.004)


@pytest.mark.parametrize("level", [0.95, 0.99, 0.9999])
def test_limits_of_equal_probabilities_are_exact(level):
    """All numbers of positives; limits are Clopper and Pearson's up to part of a sample."""
    n = 60
    hits = np.arange(n + 1)
    y = (np.arange(n) < hits[:, np.newaxis]).astype(float).ravel()
    events = Events.disjoint(np.repeat(hits, n), n + 1)
    low, high = CalibrationErrors(events, y, np.full(len(y), 0.1)).limits(level)
    exact_low, exact_high = clopper_pearson_limits(hits, n, level)
    # Samples by which limits may be narrower, and wider.
    np.testing.assert_array_less(high, exact_high - 0.1 + 0.9 / n)
    np.testing.assert_array_less(exact_high - 0.1, high + 0.04 / n)
    np.testing.assert_array_less(exact_low - 0.1, low + 0.9 / n)
    np.testing.assert_array_less(low, exact_low - 0.1 + 0.04 / n)


def test_an_open_claim_about_a_share_near_one_states_a_size():
    audit = Audit.from_predictions(
        np.repeat([1, 0], [29, 1]), None, y_score=np.full(30, 0.9), sensitive_features=["a"] * 30
    )
    assert audit.certify("calibration", 0.07).required_sample_size > 30


@pytest.mark.slow
def test_few_claims_of_miscalibrated_probabilities_are_shown():
    """The error is that of the tolerance itself, of one group."""
    n_shown = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        p = rng.beta(1, 5, 300)
        y = rng.random(300) < p + 0.05
        audit = Audit.from_predictions(y, None, y_score=p, sensitive_features=["a"] * 300)
        n_shown += audit.certify("calibration", 0.05).is_shown
    assert n_shown <= stats.binom.ppf(0.999, 100, 0.05)


@pytest.mark.parametrize(
    ("rate", "n_groups", "expected"), [(0.1, 1, 0.0), (0.3, 3, 0.02), (0.005, 2, 0.0)]
)
def test_the_required_size_gives_the_power(rate, n_groups, expected):
    n = required_sample_size(
        0.05, purpose="calibration", rate=rate, n_groups=n_groups, expected=expected
    )
    hits = np.arange(n + 1)
    low, high = clopper_pearson_limits(
        hits, n, 0.95
    )  # of a claim, whose probabilities are all equal
    is_shown = (low - rate >= -0.05) & (high - rate <= 0.05)
    power = stats.binom.pmf(hits[is_shown], n, rate + expected).sum() ** n_groups
    assert 0.78 < power < (0.87 if n > 100 else 1.0)
    smaller = max(1, int(0.9 * n))
    hits = np.arange(smaller + 1)
    low, high = clopper_pearson_limits(hits, smaller, 0.95)
    is_shown = (low - rate >= -0.05) & (high - rate <= 0.05)
    assert stats.binom.pmf(hits[is_shown], smaller, rate + expected).sum() ** n_groups < 0.8


def test_a_size_near_the_bound_is_found_at_once():
    n = required_sample_size(0.02, purpose="calibration", rate=0.1, expected=0.0199999)
    assert n > 10**13


def test_plans_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="n_groups must be a number of groups"):
        required_sample_size(0.02, purpose="calibration", n_groups=[0.5, 0.5])
    with pytest.raises(ValueError, match="rate must be a mean probability"):
        required_sample_size(0.2, purpose="calibration", rate=0.9, expected=0.15)
    with pytest.raises(ValueError, match="plans for a tolerance"):
        required_sample_size(ratio=0.8, purpose="calibration")


@pytest.mark.parametrize("constraint", ["calibration", Calibration(tolerance=0.02)])
@pytest.mark.parametrize("make", [ConstrainedERMClassifier, ConstrainedClassifierCV])
def test_fits_say_why_calibration_is_no_constraint(make, constraint):
    groups, p, y = draw(200)
    model = make(constraint=constraint)
    if make is ConstrainedClassifierCV:
        model.set_params(estimator=LogisticRegression())
    with pytest.raises(ValueError, match="different error rates unless predictions are perfect"):
        model.fit(p[:, np.newaxis], y, sensitive_features=groups)


def test_claims_refuse_what_are_no_probabilities():
    groups, p, y = draw(200)
    audit = Audit.from_predictions(y, None, y_score=3.0 * p, sensitive_features=groups)
    with pytest.raises(ValueError, match=r"y_score must be probabilities in \[0, 1\]"):
        audit.certify("calibration", 0.1)
    decided = Audit.from_predictions(y, p > 0.5, sensitive_features=groups)
    with pytest.raises(ValueError, match="there are decisions alone"):
        decided.certify("calibration", 0.1)


def test_the_gap_is_the_largest_distance():
    gap = LargestDistance((0, 2))
    means = np.array([-0.3, 0.9, 0.2])
    assert gap(means) == 0.3
    np.testing.assert_array_equal(gap.subgradient(means), [-1.0, 0.0, 0.0])
    assert (gap.linear_forms(3) @ means).max() == 0.3
    assert gap.mean_limits(0.1, -0.3) == (-0.1, 0.1)


def test_monitors_refuse_calibration():
    groups, p, y = draw(200)
    with pytest.raises(ValueError, match="can be certified once"):
        GapMonitor("calibration", 0.1).update(y, p, sensitive_features=groups)


def test_claim_states_that_it_cannot_see_probabilities_that_samples_lack():
    """Of 900 samples one has a probability of .9, which most samples of 300 lack."""
    assumption = (
        "This holds if no probability of a group is outside the range that its samples show."
    )
    assert make_audit().certify("calibration", 0.1).findings[-1] == assumption
    # .05 is stated of all others, and no outcome is positive: the distance is more than .05.
    rng = np.random.default_rng(0)
    truth = 0.05 + 0.85 / 900
    n_shown = 0
    for _ in range(60):
        p = np.where(rng.random(300) < 1.0 / 900, 0.9, 0.05)
        audit = Audit.from_predictions(
            np.zeros(300, dtype=int), None, y_score=p, sensitive_features=np.repeat("a", 300)
        )
        n_shown += audit.certify("calibration", truth - 1e-6).is_shown
    assert n_shown > 30
