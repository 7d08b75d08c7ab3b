"""Which columns carry a gap: importances by permutation, with standard errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfair.audit import gap_importance
from skfair.constraints import RateParity
from skfair.metrics import equal_opportunity_difference

NAMES = [*"pqrst"]


def make_linear(rng, coefficients):
    """A regressor of given coefficients."""
    model = LinearRegression().fit(pd.DataFrame(np.eye(5), columns=NAMES), np.arange(5))
    model.coef_ = coefficients
    return model


def draw_model(seed, n_samples=1500):
    """Samples of two groups, a linear model, and the shares that its columns carry."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b"], n_samples, p=[0.4, 0.6])
    shifts = 0.15 * rng.normal(size=5)
    planted = rng.integers(5)
    shifts[planted] = 1.0
    X = pd.DataFrame(rng.normal(size=(n_samples, 5)), columns=NAMES)
    X += np.outer(groups == "a", shifts)
    coefficients = rng.uniform(0.3, 1.0, 5) * rng.choice([-1.0, 1.0], 5)
    coefficients[planted] = 1.0
    shares = pd.Series(coefficients * shifts / (coefficients @ shifts), index=NAMES)
    return X, groups, make_linear(rng, coefficients), NAMES[planted], shares


def count_covered(seeds, n_samples=600):
    """Models whose planted column is first, and shares within two standard errors."""
    n_first = 0
    inside = []
    for seed in seeds:
        X, groups, model, planted, shares = draw_model(seed, n_samples)
        settings = {"constraint": "mean_parity", "n_repeats": 2, "random_state": seed}
        table = gap_importance(model, X, sensitive_features=groups, **settings)
        n_first += table.index[0] == planted
        distances = (table["share"] - shares[table.index]).abs()
        inside += (distances <= 2.0 * table["share_error"]).tolist()
    return n_first, np.mean(inside)


@pytest.mark.slow
def test_the_planted_column_is_first_in_three_models():
    n_first, coverage = count_covered(range(3))
    assert n_first == 3 and coverage >= 0.8


@pytest.mark.slow
def test_shares_of_forty_models_are_those_of_the_closed_form():
    n_first, coverage = count_covered(range(100, 140))
    assert n_first == 40 and 0.92 <= coverage <= 0.98


class Rule(ClassifierMixin, BaseEstimator):
    """Decides by the first column, of text, alone."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] == "x").astype(int)


def draw_text():
    """Applicants whose decision follows from a text, which follows from the group in part."""
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b", "c"], 900)
    text = np.where(rng.random(900) < np.where(groups == "a", 0.8, 0.4), "x", "y")
    X = pd.DataFrame({"text": text, "noise": rng.normal(size=900)})
    return X, rng.integers(0, 2, 900), groups


def test_a_rule_of_one_column_by_hand():
    X, y, groups = draw_text()
    model = Rule().fit(X, y)
    settings = {"sensitive_features": groups, "constraint": "equal_opportunity", "random_state": 0}
    table = gap_importance(model, X, y, **settings, n_repeats=1)
    decisions = (X["text"] == "x").to_numpy()
    assert table.attrs["gap"] == pytest.approx(
        equal_opportunity_difference(y, decisions.astype(int), sensitive_features=groups)
    )
    assert table.attrs["highest"] == "a" and table.attrs["lowest"] in ("b", "c")
    # A second route: the permutations that the random state draws, column by column.
    order = np.random.RandomState(0).permutation(900)
    fall = decisions.astype(float) - decisions[order]
    high, low = (fall[(groups == table.attrs[end]) & (y == 1)] for end in ("highest", "lowest"))
    assert table.loc["text", "importance"] == pytest.approx(high.mean() - low.mean())
    error = np.sqrt(high.var() / len(high) + low.var() / len(low))
    assert table.loc["text", "standard_error"] == pytest.approx(error)
    assert table.loc["noise", ["importance", "standard_error", "share"]].tolist() == [0, 0, 0]
    assert table.loc["text", "group_auc"] > 0.6 and abs(table.loc["noise", "group_auc"] - 0.5) < 0.1


@pytest.mark.slow
def test_sets_of_columns_are_permuted_as_one():
    """Copies of a column carry half of a gap each, and all of it as one."""
    X, groups, _, planted, _ = draw_model(1)
    X = pd.DataFrame({"first": X[planted], "copy": X[planted], "other": np.arange(len(X)) % 2})
    model = LinearRegression().fit(X, X["first"])
    model.coef_ = np.array([0.5, 0.5, 0.0])
    sets = {"both": ["first", "copy"], "first": ["first"]}
    settings = {"sensitive_features": groups, "constraint": "mean_parity", "random_state": 0}
    table = gap_importance(model, X, columns=sets, **settings)
    assert table.loc["both", "share"] == pytest.approx(1.0, abs=0.1)
    assert table.loc["first", "share"] == pytest.approx(0.5, abs=0.05)
    model.fit(X.to_numpy(), X["first"])
    array = gap_importance(model, X.to_numpy(), columns=[0, 2], **settings)
    assert array.index.tolist() == [0, 2]


@pytest.mark.slow
def test_columns_of_a_pipeline_are_those_before_it_and_weights_count():
    X, y, groups = draw_text()
    model = make_pipeline(OneHotEncoder(max_categories=5), LogisticRegression()).fit(X, X["text"])
    weights = np.where(np.arange(900) < 600, 1.0, 0.0)
    settings = {"random_state": 0, "pos_label": "x"}
    table = gap_importance(model, X, sensitive_features=groups, sample_weight=weights, **settings)
    again = gap_importance(model, X[:600], sensitive_features=groups[:600], **settings)
    assert table.index[0] == again.index[0] == "text"
    assert table.attrs["gap"] == pytest.approx(again.attrs["gap"])


def test_inputs_are_not_written_to_and_wrong_ones_are_named():
    X, y, groups = draw_text()
    before = X.copy()
    model = Rule().fit(X, y)
    gap_importance(model, X, sensitive_features=groups, n_repeats=1, random_state=0)
    pd.testing.assert_frame_equal(X, before)
    with pytest.raises(ValueError, match="columns must name columns of X, but 'age' is none of"):
        gap_importance(model, X, sensitive_features=groups, columns=["age"])
    with pytest.raises(ValueError, match="n_repeats must be a positive whole number"):
        gap_importance(model, X, sensitive_features=groups, n_repeats=0)
    with pytest.raises(ValueError, match="constraint must compare differences of means"):
        gap_importance(model, X, y, sensitive_features=groups, constraint=RateParity("precision"))
    with pytest.raises(ValueError, match="no gap in these data"):
        gap_importance(model, X.assign(text="x"), sensitive_features=groups)
