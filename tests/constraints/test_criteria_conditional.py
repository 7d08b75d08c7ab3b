"""Demographic parity within strata, against demographic parity of each stratum alone."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from skfair._groups import check_groups
from skfair.constraints import Constraint, DemographicParity, check_constraint
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid

N = 120
RNG = np.random.default_rng(0)
GROUPS, DEGREE, TOWN = (RNG.integers(k, size=N) for k in (2, 3, 2))
FRAME = pd.DataFrame({"degree": DEGREE, "income": RNG.normal(size=N), "town": TOWN})
TARGET = RNG.choice([-1.0, 1.0], N)
SCORES = RNG.normal(size=N)
WEIGHTS = RNG.uniform(1, 2, N)


def make_samples(X, rows=slice(None)):
    return Samples(TARGET[rows], check_groups(GROUPS[rows], len(TARGET[rows])), WEIGHTS[rows], X)


def bind(constraint, X=FRAME):
    return constraint.bind(make_samples(X), Sigmoid(), LogisticLoss(), 0.1)


def gaps_by_stratum(strata):
    """The gap of demographic parity in each stratum."""
    gaps = []
    for stratum in np.unique(strata, axis=0):
        inside = np.reshape(strata == stratum, (N, -1)).all(axis=1)
        alone = DemographicParity().bind(make_samples(None, inside), Sigmoid(), LogisticLoss(), 0.1)
        gaps.append(alone.value(SCORES[inside]))
    return gaps


@pytest.mark.parametrize(
    "strata, X",
    [
        ("degree", FRAME),
        (0, FRAME),
        (0, FRAME.to_numpy()),
        (0, sparse.csr_array(FRAME.to_numpy())),
        (lambda X: X["degree"], FRAME),
        (lambda X: [f"level {d}" for d in X[:, 0]], FRAME.to_numpy()),
    ],
    ids=["name", "position", "array", "sparse", "callable", "labels"],
)
def test_groups_are_compared_within_each_stratum(strata, X):
    bound = bind(DemographicParity(control_features=strata), X)
    assert len(bound.sums.cells.labels) == 6
    gaps = gaps_by_stratum(DEGREE)
    assert bound.value(SCORES) == pytest.approx(max(gaps), rel=1e-13)
    summed = bind(DemographicParity(control_features=strata, aggregate="sum"), X)
    assert summed.value(SCORES) == pytest.approx(sum(gaps), rel=1e-13)


def test_strata_of_several_columns_are_their_combinations():
    bound = bind(DemographicParity(control_features=["degree", "town"]))
    expected = max(gaps_by_stratum(np.column_stack((DEGREE, TOWN))))
    assert bound.value(SCORES) == pytest.approx(expected, rel=1e-13)
    assert ("stratum (0, 1)", 0) in bound.sums.cells.labels


def test_it_is_hyper_parameters():
    spec = DemographicParity(control_features="degree", tolerance=0.1, min_group_size=3)
    assert clone(spec).get_params() == spec.get_params()
    check_constraint(spec, X=pd.concat([FRAME] * 10, ignore_index=True))


def set_missing_value(X):
    return [None, *X["degree"][1:]]


@pytest.mark.parametrize(
    "strata, X, match",
    [
        ("school", FRAME, "finds no strata. X has no column 'school'; its 3 columns are 'degree'"),
        ("degree", FRAME.to_numpy(), r"X is not a DataFrame; name their positions.*set_output"),
        (7, FRAME.to_numpy(), "X has no column 7; its 3 columns are 0, 1, 2"),
        ("degree", None, "The samples have no X; pass Samples"),
        (set_missing_value, FRAME, "0 of control_features has 1 missing value.*in row 0"),
        (
            lambda X: np.arange(119),
            FRAME,
            "control_features has 119 rows but there are 120 samples",
        ),
        ("income", FRAME, r"finds 120 strata among 120 samples.*Pass bands .*pandas.qcut"),
        (0.5, FRAME, "'control_features' parameter of DemographicParity"),
    ],
)
def test_errors_name_the_remedy(strata, X, match):
    with pytest.raises(ValueError, match=match):
        bind(DemographicParity(control_features=strata), X)


def test_a_custom_constraint_sees_the_columns():
    class ParityOfTheWealthy(DemographicParity):
        def cells(self, make_samples):
            return {"the wealthy": make_samples.X["income"].to_numpy() > 0}

    bound = bind(ParityOfTheWealthy())
    inside = FRAME["income"] > 0
    alone = DemographicParity().bind(
        make_samples(None, inside.to_numpy()), Sigmoid(), LogisticLoss(), 0.1
    )
    assert bound.value(SCORES) == alone.value(SCORES[inside])
    assert issubclass(ParityOfTheWealthy, Constraint)
    check_constraint(ParityOfTheWealthy(), X=FRAME)
