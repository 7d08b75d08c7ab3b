"""ScoreDistributionDisplay: densities that are densities, and the shading of selected samples."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from skfair.classification import ConstrainedERMClassifier
from skfair.plotting import GroupRateCurveDisplay, ScoreDistributionDisplay

RNG = np.random.default_rng(0)
GROUP = np.repeat(["a", "b"], [300, 200])
SCORE = RNG.normal(size=500) + (GROUP == "b")


def scores_of(display):
    return display.table.index.to_numpy()


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture
def display():
    return ScoreDistributionDisplay.from_predictions(
        SCORE, sensitive_features=GROUP, interval={"a": (0.1, 0.3), "b": [(0, 0.1), (0.5, 1)]}
    )


def test_each_curve_is_a_density(display):
    width = np.diff(scores_of(display))[0]
    for line in display.ax_.lines:
        assert line.get_ydata().sum() * width == pytest.approx(1)
        assert line.get_ydata().min() >= 0


def test_a_curve_is_a_kernel_estimate_of_its_group(display):
    group = SCORE[GROUP == "a"]
    iqr = np.subtract(*np.quantile(group, [0.75, 0.25])) / 1.34
    bandwidth = 0.9 * min(group.std(), iqr) * len(group) ** -0.2
    expected = gaussian_kde(group, bandwidth / group.std(ddof=1))(scores_of(display))
    # The grid moves every score by at most half a cell, and the ends are reflected.
    inner = slice(60, -60)
    np.testing.assert_allclose(display.table.to_numpy().T[0][inner], expected[inner], atol=0.006)


def test_the_shading_covers_the_samples_of_the_interval(display):
    width = np.diff(scores_of(display))[0]
    cells = np.clip(np.round((SCORE - scores_of(display)[0]) / width).astype(int), 0, 511)
    for group, inside, share in zip("ab", display.where.to_numpy().T, [0.2, 0.6], strict=True):
        # At each end the samples in the cell of the end may be shaded or not.
        assert inside[cells[GROUP == group]].mean() == pytest.approx(share, abs=0.02)
    edges = np.quantile(SCORE[GROUP == "a"], [0.7, 0.9])
    shaded = scores_of(display)[display.where.to_numpy().T[0]]
    np.testing.assert_allclose([shaded.min(), shaded.max()], edges, atol=3 * width)


def test_groups_are_distinct_in_colour_and_in_grey(display):
    lines, shades = display.ax_.lines, display.ax_.collections[:2]
    assert len({line.get_color() for line in lines}) == 2
    assert len({line.get_linestyle() for line in lines}) == 2
    assert len({shade.get_hatch() for shade in shades}) == 2
    assert legend_of(display.ax_) == ["a", "b", "in the interval"]


def test_nothing_is_shaded_without_an_interval():
    ax = ScoreDistributionDisplay.from_predictions(SCORE, sensitive_features=GROUP).ax_
    assert len(ax.collections) == 0
    assert legend_of(ax) == ["a", "b"]


def test_equal_weights_change_nothing_and_weight_zero_is_absent():
    plain = ScoreDistributionDisplay.from_predictions(SCORE, sensitive_features=GROUP)
    absent = np.linspace(-9, 9, 50)
    weighted = ScoreDistributionDisplay.from_predictions(
        np.r_[SCORE, absent],
        sensitive_features=np.r_[GROUP, np.repeat("c", 50)],
        sample_weight=np.repeat([0.5, 0], [500, 50]),
    )
    np.testing.assert_allclose(scores_of(weighted), scores_of(plain))
    np.testing.assert_allclose(weighted.table, plain.table)


def test_weights_move_a_density():
    weights = np.where(SCORE > 0, 2.0, 1.0)
    display = ScoreDistributionDisplay.from_predictions(
        SCORE, sensitive_features=GROUP, sample_weight=weights
    )
    width = np.diff(scores_of(display))[0]
    for group, density in zip("ab", display.table.to_numpy().T, strict=True):
        inside = group == GROUP
        expected = np.average(SCORE[inside], weights=weights[inside])
        assert density @ scores_of(display) * width == pytest.approx(expected, abs=0.02)


def test_constant_scores_are_a_spike():
    display = ScoreDistributionDisplay.from_predictions(
        np.full(8, 3.0), sensitive_features=list("aabbaabb"), interval=(0, 0.5)
    )
    peak = scores_of(display)[np.argmax(display.table.to_numpy().T, axis=1)]
    np.testing.assert_allclose(peak, 3.0, atol=0.01)
    assert np.isfinite(display.table.to_numpy().T).all()


def test_several_attributes_are_named_together():
    groups = pd.DataFrame({"sex": ["f", "m"] * 3, "age": ["old", "old", "young"] * 2})
    ax = ScoreDistributionDisplay.from_predictions(range(6), sensitive_features=groups).ax_
    assert legend_of(ax) == ["f, old", "f, young", "m, old", "m, young"]


def test_from_estimator_draws_the_scores_of_the_estimator():
    X, y = SCORE[:, np.newaxis], SCORE > 0.2
    svm = LinearSVC().fit(X, y)
    display = ScoreDistributionDisplay.from_estimator(svm, X, sensitive_features=GROUP)
    scores = svm.decision_function(X)
    assert scores.min() < scores_of(display)[0] < scores_of(display)[-1] < scores.max()
    assert "decision" in display.ax_.get_xlabel()
    assert "density" in display.ax_.get_ylabel()


def test_an_unfitted_estimator_is_refused():
    with pytest.raises(NotFittedError):
        ScoreDistributionDisplay.from_estimator(
            LogisticRegression(), [[0.0]], sensitive_features=["a"]
        )


def test_plot_draws_on_axes(display):
    figure, ax = plt.subplots()
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax and display.figure_ is figure


def test_the_legend_stands_above_the_axes(display):
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.ax_.get_window_extent().y1 - 1


def test_by_hand():
    display = ScoreDistributionDisplay(
        pd.DataFrame({"a": [0.5, 0.5], "b": [0.2, 0.8]}, index=[0.0, 1.0])
    ).plot()
    assert display.ax_.lines[1].get_ydata().tolist() == [0.2, 0.8]
    assert legend_of(display.ax_) == ["a", "b"]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="rows"):
        ScoreDistributionDisplay.from_predictions([1.0, 2.0], sensitive_features=["a"])
    with pytest.raises(ValueError, match="alpha < beta"):
        ScoreDistributionDisplay.from_predictions(
            SCORE, sensitive_features=GROUP, interval=(0.5, 0.2)
        )


def test_a_regressor_is_refused():
    X = np.arange(20.0).reshape(-1, 1)
    model = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="must be a fitted classifier, but this LinearRegression"):
        ScoreDistributionDisplay.from_estimator(model, X, sensitive_features=np.arange(20) % 2)


def test_scores_of_a_pipeline_are_those_of_its_last_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X[:, 0] + rng.normal(size=500) > 0
    model = ConstrainedERMClassifier(tolerance=0.2).fit(X, y, sensitive_features=GROUP)
    pipeline = make_pipeline("passthrough", model)
    groups = {"sensitive_features": GROUP}
    for display in (ScoreDistributionDisplay, GroupRateCurveDisplay):
        drawn = display.from_estimator(pipeline, X, **groups)
        expected = display.from_predictions(model.decision_function(X), **groups)
        pd.testing.assert_frame_equal(drawn.table, expected.table)
