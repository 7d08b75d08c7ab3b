import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair._utils.checks import check_tolerance
from skfair.audit import fairness_front
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.constraints import DemographicParity, PartialGroupAUC
from skfair.metrics._scoring import make_limit_metric
from skfair.model_selection import best_subject_to
from skfair.ranking import ConstrainedRanker
from skfair.statistics import required_sample_size
from tests.audit.doors import certify_model


@pytest.mark.parametrize("tolerance", [0, 0.0, 0.05, 1, np.float32(0.5), np.int64(1)])
def test_fractions_are_returned_as_floats(tolerance):
    checked = check_tolerance(tolerance)
    assert checked == tolerance and type(checked) is float


@pytest.mark.parametrize("wrong", [True, np.True_, np.nan, np.inf, -0.01, "0.05", None, [0.05], 1j])
def test_anything_but_a_finite_number_is_refused(wrong):
    with pytest.raises(ValueError, match="tolerance must be a finite number, at least 0; got"):
        check_tolerance(wrong, np.inf)


def test_percent_are_refused_where_rates_are_compared():
    with pytest.raises(
        ValueError, match=r"bound=5 is more .* 1\. Rates are fractions: 0.05 is five percentage"
    ):
        check_tolerance(5, name="bound")
    with pytest.raises(ValueError, match=r"tolerance=2.5 is more .* which is 2 for a sum\."):
        check_tolerance(2.5, 2.0, of="a sum")
    assert check_tolerance(1.5, 2.0) == 1.5 and check_tolerance(300, np.inf) == 300.0


@pytest.mark.parametrize(
    ("closed", "zero", "one"),
    [
        ("both", True, True),
        ("left", True, False),
        ("right", False, True),
        ("neither", False, False),
    ],
)
def test_the_ends_are_those_that_are_closed(closed, zero, one):
    for end, is_allowed in ((0.0, zero), (1.0, one)):
        if is_allowed:
            assert check_tolerance(end, closed=closed) == end
        else:
            with pytest.raises(ValueError, match="must be a finite number"):
                check_tolerance(end, closed=closed)


RNG = np.random.default_rng(0)
GROUPS = np.arange(200) % 2
X, NEW = RNG.normal(size=(2, 200, 2))
Y = (X[:, 0] + RNG.logistic(size=200) > 0).astype(int)
GROUPED = {"sensitive_features": GROUPS}
MODEL = LogisticRegression().fit(X, Y)

PERCENT = {
    "certify": lambda: certify_model(MODEL, NEW, Y, tolerance=3, **GROUPED),
    "certify a probability": lambda: certify_model(
        MODEL, NEW, Y, tolerance=3, constraint="mean_parity", **GROUPED
    ),
    "certify an area": lambda: certify_model(
        MODEL, NEW, Y, tolerance=3, constraint="partial_group_auc", **GROUPED
    ),
    "certify a share": lambda: certify_model(
        MODEL, NEW, Y, tolerance=3, constraint="partial_statistical_parity", **GROUPED
    ),
    "make_scorer": lambda: make_limit_metric(DemographicParity(tolerance=3), 0.95)(Y, Y, **GROUPED),
    "fairness_front": lambda: fairness_front(
        ConstrainedERMClassifier(), X, Y, values=[3], **GROUPED
    ),
    "linear fit": lambda: ConstrainedERMClassifier(tolerance=3).fit(X, Y, **GROUPED),
    "linear fit of areas": lambda: ConstrainedERMClassifier(PartialGroupAUC(), tolerance=3).fit(
        X, Y, **GROUPED
    ),
    "fit of any model": lambda: ConstrainedClassifierCV(LogisticRegression(), tolerance=3).fit(
        X, Y, **GROUPED
    ),
    "ranking": lambda: ConstrainedRanker(tolerance=3).fit(X, Y, **GROUPED),
    "bound of a gap": lambda: best_subject_to("neg_equalized_odds_difference", 3),
    "bound of a ratio": lambda: best_subject_to("demographic_parity_ratio", 80),
    "planning": lambda: required_sample_size(3),
}


@pytest.mark.parametrize("call", PERCENT.values(), ids=PERCENT)
def test_a_rate_in_percent_is_refused_everywhere(call):
    with pytest.raises(ValueError, match="Rates are fractions|in the range .0.0, 1.0."):
        call()


def test_bounds_without_a_largest_value_are_free():
    assert best_subject_to("neg_mean_score_difference", 3).bound == 3
    assert best_subject_to("neg_separation_gap", 1.5).bound == 1.5
    assert best_subject_to("gap", 80).bound == 80  # a scorer of one's own
