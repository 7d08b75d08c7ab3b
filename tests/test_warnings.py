"""Every warning points at the line of the user's own that brought it about."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from skfair.classification import (
    ConstrainedERMClassifier,
    PartialParityClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import (
    AlternatingSwaps,
    FairKMeans,
    FairKMedoids,
    FairSpectralClustering,
    cluster_front,
)
from skfair.constraints import BoundedGroupLoss
from skfair.exceptions import ConstraintCostWarning, InfeasibleConstraintWarning
from skfair.metrics import (
    METRICS,
    equal_opportunity_loss_difference,
    get_scorer,
    partial_statistical_parity_difference,
)
from skfair.model_selection import best_subject_to
from skfair.regression import PartialParityRegressor
from skfair.solvers import PLADA

RNG = np.random.default_rng(0)
GROUPS = np.repeat(["a", "b"], 100)
X = RNG.normal(size=(200, 2)) + (GROUPS == "b")[:, np.newaxis]
Y = (X[:, 0] + RNG.normal(size=200) > 0.5).astype(int)
GHOST = np.where(np.arange(200) < 5, "ghost", GROUPS)
WEIGHTS = (GHOST != "ghost").astype(float)

FITS = {
    "ConstrainedERMClassifier": lambda **columns: ConstrainedERMClassifier(tolerance=0.5).fit(
        X, Y, **columns
    ),
    "PartialParityClassifier": lambda **columns: PartialParityClassifier(tolerance=0.9).fit(
        X, Y, **columns
    ),
    "PartialParityRegressor": lambda **columns: PartialParityRegressor(tolerance=0.9).fit(
        X, X[:, 0], **columns
    ),
    "PartialParityPostprocessor": lambda **columns: PartialParityPostprocessor(
        LogisticRegression(),
        constraint="partial_demographic_parity",
        interval=(0, 1),
        tolerance=0.9,
    ).fit(X, Y, **columns),
    "FairKMeans": lambda **columns: FairKMeans(2, random_state=0).fit(X, **columns),
    "FairKMedoids": lambda **columns: FairKMedoids(2).fit(X, **columns),
    "cluster_front": lambda **columns: cluster_front(FairKMeans(2, random_state=0), X, **columns),
    "FairSpectralClustering": lambda **columns: FairSpectralClustering(2, random_state=0).fit(
        X, **columns
    ),
    "spectral front": lambda **columns: cluster_front(
        FairSpectralClustering(2, random_state=0), X, **columns
    ),
}
"""Every estimator and front. All may warn about the groups or weights."""

NO_GROUPS = {name: fit for name, fit in FITS.items() if name != "cluster_front"}
WITH_WEIGHTS = {name: fit for name, fit in FITS.items() if "pectral" not in name}

OTHERS = {
    "no time for a classifier": lambda: ConstrainedERMClassifier(
        solver=PLADA(max_iter=1), tolerance=0.01
    ).fit(X, Y, sensitive_features=GROUPS),
    "a step of PLADA that is too long": lambda: ConstrainedERMClassifier(
        solver=PLADA(tau=10.0, max_iter=2), tolerance=0.9
    ).fit(X, Y, sensitive_features=GROUPS),
    "unknown rates": lambda: METRICS["equal_opportunity_difference"](
        [0, 0, 1, 1], [0, 1, 1, 0], sensitive_features=list("aabb")
    ),
    "unknown losses": lambda: equal_opportunity_loss_difference(
        [0, 0, 1, 1], [0.0, 1.0, 2.0, 3.0], sensitive_features=list("aabb")
    ),
    "no sample of a rank": lambda: partial_statistical_parity_difference(
        [1.0, 1.0, 0.0, 2.0], sensitive_features=list("aabb"), interval=(0.2, 1.0)
    ),
    "a scorer of unknown rates": lambda: get_scorer("neg_equal_opportunity_difference")(
        LogisticRegression().fit(X, Y), X, np.where(GROUPS == "a", 0, Y), sensitive_features=GROUPS
    ),
    "no candidate that is fair": lambda: best_subject_to("neg_gap", 0.1)(
        {"mean_test_neg_gap": np.array([-0.3]), "mean_test_accuracy": np.array([0.5])}
    ),
}


def assert_mine(caught):
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize("name", NO_GROUPS)
def test_no_groups(name):
    with pytest.warns(UserWarning, match="sensitive_features") as caught:
        NO_GROUPS[name](sensitive_features=None)
    assert_mine(caught)


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_a_group_without_weight(name):
    with pytest.warns(UserWarning, match="without any sample weight.*'ghost'") as caught:
        WITH_WEIGHTS[name](sensitive_features=GHOST, sample_weight=WEIGHTS)
    assert_mine(caught)


@pytest.mark.parametrize("case", OTHERS)
def test_other_warnings(case):
    with pytest.warns(UserWarning) as caught:
        OTHERS[case]()
    assert_mine(caught)


def test_a_search_points_at_the_line_that_started_it():
    with pytest.warns(UserWarning, match="no sensitive_features") as caught:
        cross_val_score(ConstrainedERMClassifier(tolerance=0.5), X, Y, cv=2)
    assert_mine(caught)


SHARES = ["a"] * 3 + ["b"] * 197
"""A group of three, which four clusters cannot all contain."""

UNMET = {
    "FairKMeans": lambda: FairKMeans(
        4, algorithm=AlternatingSwaps(20, 0, n_iter=5), random_state=0
    ).fit(X, sensitive_features=X[:, 0] > 0.5),
    "FairSpectralClustering": lambda: FairSpectralClustering(
        4, assign_labels="kmeans", min_balance=1, random_state=0
    ).fit(X, sensitive_features=SHARES),
    "a front": lambda: cluster_front(
        FairKMeans(4, random_state=0), X, sensitive_features=SHARES
    ).select(min_balance=1),
    "ranks": lambda: PartialParityPostprocessor(LogisticRegression(), tolerance=0.0).fit(
        X, Y, sensitive_features=X[:, 1] > 0.2
    ),
    "losses": lambda: ConstrainedERMClassifier(BoundedGroupLoss(0.01)).fit(
        X, Y, sensitive_features=GROUPS
    ),
}


@pytest.mark.parametrize("case", UNMET)
def test_a_bound_that_is_not_met_names_the_page_that_helps(case):
    title = re.search(
        r"^=+\n(.+), and what helps\?\n=+$",
        (Path(__file__).parents[1] / "doc" / "statuses.rst").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    with pytest.warns((InfeasibleConstraintWarning, ConstraintCostWarning)) as caught:
        UNMET[case]()
    unmet = (InfeasibleConstraintWarning, ConstraintCostWarning)
    messages = [str(one.message) for one in caught if issubclass(one.category, unmet)]
    assert messages
    assert all(one.endswith(f". See the page '{title[1]}' of the guide.") for one in messages)
