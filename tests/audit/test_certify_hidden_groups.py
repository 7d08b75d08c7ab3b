"""Certificates where the group is missing for some samples."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from skfair._statistics.hidden_groups import RecordedGroups
from skfair.constraints import DemographicParity, EqualOpportunity
from skfair.statistics import gap_interval
from tests.audit.doors import certify_model, skip_unexamined_numbers

RNG = np.random.default_rng(0)


def draw(n, rng=RNG):
    sex = rng.choice(["f", "m"], n)
    X = rng.normal(size=(n, 2)) + np.outer(sex == "m", [0.3, 0.0])
    return X, (X[:, 0] + rng.logistic(size=n) > 0.1).astype(int), sex


MODEL = LogisticRegression().fit(*draw(1000)[:2])
X, Y, SEX = draw(8000)
DECISIONS = MODEL.predict(X)
HIDDEN = np.where(RNG.random(8000) < np.where(DECISIONS, 0.4, 0.2), SEX, None)


def certificate(groups=HIDDEN, **settings):
    settings = {"missing": "at_random", "tolerance": 0.3} | settings
    return certify_model(MODEL, X, Y, sensitive_features=groups, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("odds_ratio", [1.0, 1.5, np.inf])
@pytest.mark.parametrize("constraint", ["demographic_parity", "equal_opportunity"])
def test_the_limit_is_that_of_the_largest_possible_difference(constraint, odds_ratio):
    """Model rates by hand, and limit each difference at the level of the claim."""
    target = np.where(Y == 1, 1.0, -1.0)
    scores = 2.0 * DECISIONS - 1.0
    features = np.column_stack([scores, target, scores * target, X])
    codes = np.array([{"f": 0, "m": 1}.get(one, -1) for one in HIDDEN])
    groups = RecordedGroups(["f", "m"], codes, features, odds_ratio)
    within = Y == 1 if constraint == "equal_opportunity" else np.ones(len(Y), dtype=bool)
    ends = groups.extreme_rates(DECISIONS.astype(float), [(within, [0, 1])])
    # Ends are the largest rates, then the smallest: the largest of one less the smallest of other.
    differences = sparse.csr_array([[1.0, 0.0, 0.0, -1.0], [0.0, 1.0, -1.0, 0.0]])
    high = ends.upper(differences, 0.95).max()
    shown = certificate(constraint=constraint, odds_ratio=odds_ratio)
    assert shown.high == pytest.approx(min(1.0, high), abs=1e-6)
    rates = groups.rates(DECISIONS.astype(float), within, [0, 1]).values
    assert shown.estimate == pytest.approx(np.ptp(rates), abs=1e-6)
    assert shown.is_shown == (high <= 0.3)


def test_groups_that_are_all_recorded_have_the_limit_of_their_gap():
    limit = gap_interval(DECISIONS, sensitive_features=SEX, confidence_level=0.9).high
    assert certificate(SEX).high == pytest.approx(limit)


@pytest.mark.slow
def test_the_certificate_states_its_assumption():
    shown = certificate()
    assert shown.is_shown and not shown.is_exact
    assert str(shown).endswith(
        " This holds if groups are missing at random given X, predictions and outcomes."
    )
    assert "by a factor of at most 1.2." in str(certificate(odds_ratio=1.2))
    nothing = certificate(odds_ratio=np.inf)
    assert not nothing.is_shown and nothing.assumption == "whatever the missing groups are"
    assert nothing.required_sample_size is None and nothing.n_smallest is None
    assert '"assumption": "whatever' in nothing.to_json()
    assert certify_model(MODEL, X, Y, sensitive_features=SEX, tolerance=0.3).assumption == ""


@pytest.mark.slow
def test_ratios_and_several_cells():
    ratio = certificate(constraint=DemographicParity(ratio=0.5), tolerance=None)
    assert ratio.is_shown and ratio.unit == "ratio"
    odds, alone = (certificate(constraint=name) for name in ("equalized_odds", "equal_opportunity"))
    assert odds.high >= alone.high and odds.estimate >= alone.estimate


def test_a_ratio_of_zeros_has_no_value():
    constant = DummyClassifier(strategy="constant", constant=0).fit(X, Y)
    claim = certify_model(
        constant, X, Y, sensitive_features=HIDDEN, missing="at_random",
        constraint=DemographicParity(ratio=0.5),
    )  # fmt: skip
    assert np.isnan(claim.estimate) and claim.verdict == "open"
    assert "Here there is no ratio, as all values are 0" in str(claim)


@pytest.mark.slow
def test_at_most_one_in_twenty_is_certified_on_the_edge(monkeypatch):
    """Groups are recorded more often after a positive decision; the gap equals the tolerance."""
    skip_unexamined_numbers(monkeypatch)
    population, _, sex = draw(400_000, np.random.default_rng(1))
    decisions = MODEL.predict(population)
    gap = np.ptp([decisions[sex == one].mean() for one in "fm"])
    certified = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        X, y, sex = draw(3000, rng)
        is_recorded = rng.random(3000) < np.where(MODEL.predict(X), 0.5, 0.25)
        hidden = np.where(is_recorded, sex, None)
        certified += certify_model(
            MODEL, X, y, sensitive_features=hidden, tolerance=gap, missing="at_random"
        ).is_shown
    assert certified / 80 <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 80)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"missing": "error", "odds_ratio": 2.0}, "is about samples whose group is missing"),
        ({"constraint": "mean_parity"}, "is for differences and ratios of rates of decisions"),
        ({"constraint": EqualOpportunity(reference="overall")}, "is for differences and ratios"),
        ({"sample_weight": RNG.random(8000)}, "not implemented for sample_weight"),
        ({"odds_ratio": 0.5}, "odds_ratio must be a number from 1 on"),
        ({"groups": [*HIDDEN[:7990], *["x"] * 10]}, "must each have 30 recorded samples"),
    ],
)
def test_what_cannot_be_certified_is_refused(change, message):
    constraint = {"constraint": DemographicParity(min_group_size=1)}
    with pytest.raises(ValueError, match=message):
        certificate(**constraint | change)
