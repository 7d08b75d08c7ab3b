"""ClusterCompositionDisplay: bars, reference lines and numbers worked out by hand."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from skfair.cluster import FairKMeans
from skfair.plotting import ClusterCompositionDisplay

COUNTS = np.array([[30, 10], [20, 20]])
TABLE = pd.DataFrame(COUNTS, columns=["men", "women"])


class Clusterer(BaseEstimator):
    def fit(self, X=None, y=None):
        self.group_weights_ = COUNTS
        self.groups_ = SimpleNamespace(names=["men", "women"], counts=COUNTS.sum(axis=0).tolist())
        return self


def widths(ax):
    """Shares that were drawn, one row per cluster."""
    return np.transpose([[bar.get_width() for bar in bars] for bars in ax.containers])


def written(ax):
    return [text.get_text() for text in ax.texts]


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture
def ax():
    return ClusterCompositionDisplay.from_estimator(Clusterer().fit()).ax_


def test_bars_are_shares_stacked_to_one(ax):
    np.testing.assert_allclose(widths(ax), [[0.75, 0.25], [0.5, 0.5]])
    assert [bar.get_x() for bar in ax.containers[1]] == [0.75, 0.5]


def test_a_line_marks_the_division_of_the_data(ax):
    (line,) = ax.lines
    assert line.get_xdata() == [0.625, 0.625]


def test_size_and_balance_of_each_cluster_are_written(ax):
    assert written(ax)[:6] == ["samples", "40", "40", "balance", "0.333", "1.000"]


def test_the_legend_names_groups_then_the_reference(ax):
    assert legend_of(ax) == ["men", "women", "all data"]


def test_the_first_cluster_is_at_the_top(ax):
    bottom, top = ax.get_ylim()
    assert bottom > top
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["cluster 0", "cluster 1"]


def test_groups_are_distinct_in_colour_and_in_grey():
    display = ClusterCompositionDisplay(pd.DataFrame(np.ones((2, 6)))).plot()
    first_bars = [bars[0] for bars in display.ax_.containers]
    assert len({bar.get_facecolor() for bar in first_bars}) == 6
    assert len({bar.get_hatch() for bar in first_bars}) == 6


def test_the_legend_stands_below_the_axes(ax):
    ax.figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    title = ax.xaxis.label.get_window_extent()
    assert legend.y1 <= title.y0 + 1


def test_from_predictions_counts_and_keeps_the_clusters_names():
    labels = ["b", "a", "b", "b"]
    ax = ClusterCompositionDisplay.from_predictions(
        labels, sensitive_features=["m", "m", "f", "f"], sample_weight=[2, 1, 1, 1]
    ).ax_
    np.testing.assert_allclose(widths(ax), [[0, 1], [0.5, 0.5]])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["cluster a", "cluster b"]
    assert legend_of(ax) == ["f", "m", "all data"]


def test_several_attributes_are_named_together():
    groups = pd.DataFrame({"sex": ["f", "m"], "age": ["old", "young"]})
    ax = ClusterCompositionDisplay.from_predictions([0, 0], sensitive_features=groups).ax_
    assert legend_of(ax)[:2] == ["f, old", "m, young"]


def test_one_group_has_no_reference():
    ax = ClusterCompositionDisplay(pd.DataFrame({"all": [3, 4]})).plot().ax_
    assert len(ax.lines) == 0 and legend_of(ax) == ["all"]


def test_plot_draws_on_axes():
    figure, ax = plt.subplots()
    display = ClusterCompositionDisplay(TABLE)
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax and display.figure_ is figure


def test_an_unfitted_estimator_is_refused():
    with pytest.raises(NotFittedError):
        ClusterCompositionDisplay.from_estimator(Clusterer())


def test_wrong_lengths_are_refused():
    with pytest.raises(ValueError, match="rows"):
        ClusterCompositionDisplay.from_predictions([0, 1, 1], sensitive_features=["a", "b"])


def test_one_of_several_attributes_is_drawn():
    X = np.random.default_rng(0).normal(size=(60, 2))
    groups = pd.DataFrame({"sex": np.arange(60) % 2, "age": np.arange(60) // 2 % 3})
    model = FairKMeans(2, attributes="each", random_state=0).fit(X, sensitive_features=groups)
    display = ClusterCompositionDisplay.from_estimator(model, attribute="age")
    np.testing.assert_array_equal(display.table, model.group_weights_[:, 2:])
    assert list(display.table) == ["0", "1", "2"]
    for wrong in (None, "race"):
        with pytest.raises(ValueError, match=r"one of \['sex', 'age'\]"):
            ClusterCompositionDisplay.from_estimator(model, attribute=wrong)
    single = FairKMeans(2, attributes="each", random_state=0)
    single.fit(X, sensitive_features=groups[["age"]])
    assert list(ClusterCompositionDisplay.from_estimator(single).table) == ["0", "1", "2"]
