"""Groups of partitioned samples that are compared: those of samples in memory."""

import numpy as np
import pandas as pd
import pytest

from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    MeanParity,
    PartialStatisticalParity,
)
from skfair.datasets import open_blocks
from skfair.metrics import demographic_parity_difference
from skfair.regression import ConstrainedERMRegressor
from skfair.solvers import SQP

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

# Without a client threads read the collections, and a warning says so.
pytestmark = [
    pytest.mark.filterwarnings("ignore:There is no Dask client"),
    pytest.mark.usefixtures("no_small_data"),
]

N_SAMPLES, CHUNK = 2400, 700
NAMES = ["a", "b", "c"]
ATTRIBUTES = ["sex", "region"]
SMALL = 150
"""Larger than the smallest region, and than one of the intersections."""


@pytest.fixture(scope="module")
def table():
    """Features, attributes, and targets of two kinds; the last region is small."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], size=N_SAMPLES)
    region = rng.choice(["north", "south", "west"], p=[0.6, 0.35, 0.05], size=N_SAMPLES)
    X = rng.normal(size=(N_SAMPLES, 3))
    X[:, 0] += 0.7 * (sex == "f") + 0.5 * (region == "south")
    score = X @ [1.0, -0.5, 0.3] + rng.logistic(size=N_SAMPLES)
    return pd.DataFrame(X, columns=NAMES).assign(
        sex=sex, region=region, success=(score > 0.5).astype(int), income=100 * score
    )


def make_partitions(table):
    starts = range(0, N_SAMPLES, CHUNK)
    return dd.from_map(lambda start: table.iloc[start : start + CHUNK], starts)


def fit_model(estimator, table):
    y = "income" if isinstance(estimator, ConstrainedERMRegressor) else "success"
    return estimator.fit(table[NAMES], table[y], sensitive_features=table[ATTRIBUTES])


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("attributes", ["each", "intersections"])
@pytest.mark.parametrize(
    "make",
    [
        lambda **params: ConstrainedERMRegressor(MeanParity(**params)),
        lambda **params: ConstrainedERMClassifier(
            EqualizedOdds(**params), tolerance=0.05, enforcement=None, solver=SQP(tol=1e-10)
        ),
    ],
    ids=["regressor", "classifier"],
)
def test_small_groups_are_left_out_as_in_memory(table, make, attributes):
    model = make(attributes=attributes, min_group_size=SMALL)
    with pytest.warns(UserWarning, match="are not compared") as warnings_in_memory:
        in_memory = fit_model(model, table)
    with pytest.warns(UserWarning, match="are not compared") as warnings_of_partitions:
        partitioned = fit_model(make(**model.constraint.get_params()), make_partitions(table))
    left_out = [
        [str(one.message) for one in caught if "are not compared" in str(one.message)]
        for caught in (warnings_in_memory, warnings_of_partitions)
    ]
    assert left_out[0] == left_out[1]
    report, expected = partitioned.constraint_report_, in_memory.constraint_report_
    for column in ("event", "group", "n"):
        assert report[column].tolist() == expected[column].tolist()
    for column in ("gap", "tolerance"):  # nan of groups that are not compared
        assert report[column].isna().tolist() == expected[column].isna().tolist()
    assert report["tolerance"].isna().any() and report["tolerance"].notna().any()
    np.testing.assert_allclose(report["estimate"], expected["estimate"], atol=1e-6)
    np.testing.assert_allclose(partitioned.coef_, in_memory.coef_, rtol=1e-6)


def test_every_attribute_keeps_the_tolerance_on_all_samples(table, tmp_path):
    """Also of files, whose attributes have no names."""
    codes = [np.unique(table[name], return_inverse=True)[1] for name in ATTRIBUTES]
    numbers = np.column_stack((table[NAMES], table["success"], *codes))
    np.save(tmp_path / "samples.npy", numbers)
    samples = open_blocks(tmp_path / "samples.npy")
    constraint = DemographicParity(attributes="each", min_group_size=SMALL)
    model = ConstrainedERMClassifier(constraint, tolerance=0.03)
    with pytest.warns(UserWarning, match=r"1 group.*are not compared: \(1, 2.0\) \("):
        model.fit(samples[[0, 1, 2]], samples[3], sensitive_features=samples[[4, 5]])
    report = model.constraint_report_
    assert report["group"].tolist() == [(0, 0.0), (0, 1.0), (1, 0.0), (1, 1.0), (1, 2.0)]
    assert report["tolerance"].isna().tolist() == [False] * 4 + [True]
    decided = model.predict(numbers[:, :3])
    large = codes[1] < 2
    for rows, attribute in ((slice(None), codes[0]), (large, codes[1])):
        gap = demographic_parity_difference(
            numbers[rows, 3], decided[rows], sensitive_features=attribute[rows]
        )
        assert gap <= 0.03


@pytest.mark.slow
def test_intersections_too_small_for_ranks_are_counted_over_all_partitions(table):
    constraint = PartialStatisticalParity((0.0, 0.5), min_group_size=SMALL)
    model = ConstrainedERMClassifier(constraint, tolerance=0.2)
    with pytest.warns(UserWarning, match=r"2 group\(s\) with fewer"):
        fit_model(model, make_partitions(table))
    report = model.constraint_report_
    assert len(report["group"].unique()) == 6
    assert len(report.dropna()["group"].unique()) == 4
    with pytest.raises(ValueError, match="at least 20 samples in the interval"):
        fit_model(PartialParityClassifier(interval=(0.0, 0.2)), make_partitions(table))


@pytest.mark.slow
def test_labels_that_are_similar_in_different_partitions_are_named(table):
    table = table.assign(sex=table["sex"].where(table.index < CHUNK, table["sex"].str.upper()))
    with pytest.warns(UserWarning) as caught:  # also of small groups
        fit_model(ConstrainedERMClassifier(tolerance=0.2), make_partitions(table))
    assert sum("'F' and 'f', 'M' and 'm'" in str(one.message) for one in caught) == 1
