"""How often decisions change if only one feature changes."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfair.metrics import flip_rate

BONUS = {"a": 0.0, "b": 1.0, "c": 0.0}


class Rule(BaseEstimator):
    """Accept whose points and bonus of the group are positive."""

    def predict(self, X):
        return np.where(X["points"] + X["group"].map(BONUS).astype(float) > 0, "yes", "no")


def draw_table(n=300):
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b", "c"], n, p=[0.2, 0.5, 0.3])
    return pd.DataFrame({"points": rng.normal(size=n), "group": groups})


@pytest.mark.parametrize("dtype", ["str", "object", "category"])
def test_shares_are_those_of_samples_between_two_thresholds(dtype):
    X = draw_table().astype({"group": dtype}).sample(frac=1, random_state=1)
    copy = X.copy()
    table = flip_rate(Rule(), X, column="group")
    pd.testing.assert_frame_equal(X, copy)
    assert table["value"].tolist() == ["b", "b", "c", "c", "a", "a"]  # the most frequent first
    for row in table.itertuples():
        points = X["points"][X["group"] == row.value]
        ends = sorted([-BONUS[row.value], -BONUS[row.replaced_by]])
        changed = (points > ends[0]) & (points <= ends[1])
        assert row.n == len(points) and row.flip_rate == pytest.approx(changed.mean())
        assert row.low <= row.flip_rate <= row.high


def test_limits_are_those_of_a_share():
    table = flip_rate(Rule(), draw_table(), column="group", confidence_level=0.9)
    between = table[table["flip_rate"] > 0.1].iloc[0]
    wilson = stats.binomtest(round(between.flip_rate * between.n), between.n)
    limits = wilson.proportion_ci(0.9, method="wilson")
    assert (between.low, between.high) == pytest.approx((limits.low, limits.high))
    never = table[table["flip_rate"] == 0].iloc[0]
    assert never.low == 0 and never.high == pytest.approx(1 - 0.05 ** (1 / never.n))


def test_a_pipeline_encodes_the_new_value():
    X = draw_table()
    y = X["points"] + X["group"].map(BONUS) > 0
    encode = make_column_transformer((OneHotEncoder(), ["group"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(C=1e4)).fit(X, y)
    pd.testing.assert_frame_equal(
        flip_rate(model, X, column="group").round(1), flip_rate(Rule(), X, column="group").round(1)
    )


def test_an_array_has_positions():
    X = draw_table()
    codes = np.column_stack([X["points"], X["group"] == "b"]).astype(float)
    codes.flags.writeable = False
    model = LogisticRegression().fit(codes, codes.sum(axis=1) > 0)
    table = flip_rate(model, codes, column=1)
    assert sorted(table["value"]) == [0.0, 1.0]
    assert (table["flip_rate"] > 0.2).all()
    pd.testing.assert_frame_equal(flip_rate(model, codes.tolist(), column=1), table)


def test_samples_without_a_value_are_left_out():
    X = draw_table()
    X.loc[:9, "group"] = None
    expected = flip_rate(Rule(), X[10:], column="group")
    pd.testing.assert_frame_equal(flip_rate(Rule(), X, column="group"), expected)


@pytest.mark.parametrize(
    ("X", "column", "match"),
    [
        (draw_table(), "sex", "column must name one column of X, 'points', 'group'; got 'sex'"),
        (draw_table(), "points", "2 to 20 different values, but 'points' has 300"),
        (draw_table().assign(group="a"), "group", "but 'group' has 1 in X"),
        (np.zeros((3, 2)), 2, "position of a column of X, 0 to 1, or its name .* got 2"),
        (np.zeros((3, 2)), True, "or its name in a DataFrame; got True"),
        (np.zeros((3, 2)), "x", "or its name in a DataFrame; got 'x'"),
        (np.zeros(3), 1, r"X must be 2D, but has shape \(3,\)"),
    ],
)
def test_wrong_arguments_are_named(X, column, match):
    with pytest.raises(ValueError, match=match):
        flip_rate(Rule(), X, column=column)


def test_sparse_data_are_refused():
    with pytest.raises(TypeError, match=r"^Sparse data was passed as X, .* Pass X.toarray\(\)"):
        flip_rate(Rule(), sparse.eye_array(3), column=1)
