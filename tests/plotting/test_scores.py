"""ScoreDistributionDisplay: densities by their definition, shaded ranks, and thresholds."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde, norm
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skfair.classification import ConstrainedERMClassifier
from skfair.plotting import ScoreDistributionDisplay

RNG = np.random.default_rng(0)
GROUP = np.repeat(["a", "b"], [300, 200])
SCORE = RNG.normal(size=500) + (GROUP == "b")
X = SCORE[:, np.newaxis]
Y = SCORE + RNG.normal(size=500) > 0.2


def draw(score=SCORE, group=GROUP, **settings):
    return ScoreDistributionDisplay.from_predictions(score, sensitive_features=group, **settings)


def grid_of(display):
    return display.table.index.to_numpy()


def cell_width(display):
    return np.diff(grid_of(display))[0]


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def find_threshold(ax):
    """Position of the line of the threshold, which is vertical; None if there is none."""
    positions = [line.get_xdata()[0] for line in ax.lines if line.get_label() == "threshold"]
    return positions[0] if positions else None


@pytest.mark.parametrize("weights", [None, 1.0 + (SCORE > 0)], ids=["equal", "unequal"])
def test_a_curve_is_the_kernel_estimate_of_its_definition(weights):
    display = draw(sample_weight=weights)
    w = np.ones(500) if weights is None else weights
    for group in "ab":
        members = GROUP == group
        shares = w[members] / w[members].sum()
        scores = SCORE[members]
        mean = shares @ scores
        deviation = np.sqrt(shares @ (scores - mean) ** 2)
        bandwidth = 0.9 * deviation * (shares**2).sum() ** 0.2
        kernels = norm.pdf(grid_of(display)[:, np.newaxis], scores, bandwidth)
        # The grid moves every score by at most half a cell, and the ends are reflected.
        inner = slice(60, -60)
        expected = (kernels @ shares)[inner]
        np.testing.assert_allclose(display.table[group].to_numpy()[inner], expected, atol=0.006)


def test_a_curve_is_that_of_scipy():
    scores = SCORE[GROUP == "a"]
    display = draw()
    factor = 0.9 * len(scores) ** -0.2 * scores.std() / scores.std(ddof=1)
    expected = gaussian_kde(scores, factor)(grid_of(display))
    inner = slice(60, -60)
    np.testing.assert_allclose(display.table["a"].to_numpy()[inner], expected[inner], atol=0.006)


@pytest.mark.parametrize(
    "score, group",
    [
        (SCORE, GROUP),
        ([0.1, 0.9, 0.5], ["a", "a", "b"]),
        ([1.0, 2.0], ["a", "b"]),
        (np.where(GROUP == "a", 0.3, SCORE), GROUP),
        (np.full(4, 3.0), list("aabb")),
        ([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2], list("aabb")),
        (np.zeros(4), list("aabb")),
        (np.full(4, -1e300), list("aabb")),
        (RNG.integers(1, 11, size=500), GROUP),
        ([5.0], ["a"]),
    ],
    ids="many few single constant equal rounding zero huge ranks one".split(),
)
def test_each_curve_is_a_density(score, group):
    display = draw(score, group, interval=(0, 0.5), threshold=0.5)
    densities = display.table.to_numpy()
    assert densities.min() >= 0
    np.testing.assert_allclose(densities.sum(axis=0) * cell_width(display), 1)


def test_equal_scores_of_a_group_are_a_peak_that_leaves_the_others_visible():
    score = np.where(GROUP == "a", 0.3, SCORE)
    display = draw(score)
    assert display.table["a"].idxmax() == pytest.approx(0.3, abs=cell_width(display))
    bandwidth = 0.5 * 0.9 * score.std() * 500**-0.2
    assert display.table["a"].max() == pytest.approx(norm.pdf(0.0, scale=bandwidth), rel=0.02)
    assert display.table["a"].max() < 15 * display.table["b"].max()


def test_equal_scores_of_all_samples_are_in_the_middle_of_the_axis():
    display = draw(np.full(4, 3.0), list("aabb"))
    assert display.table.idxmax().tolist() == pytest.approx([3.0, 3.0], abs=0.01)
    assert grid_of(display)[0] < 3.0 < grid_of(display)[-1]


def test_equal_weights_change_nothing_and_weight_zero_is_absent():
    weighted = draw(
        np.r_[SCORE, np.linspace(-9, 9, 50)],
        np.r_[GROUP, np.repeat("c", 50)],
        sample_weight=np.repeat([0.5, 0], [500, 50]),
    )
    pd.testing.assert_frame_equal(weighted.table, draw().table)


def test_order_and_read_only_input_change_nothing():
    score = SCORE[::-1].copy()
    score.flags.writeable = False
    pd.testing.assert_frame_equal(draw(score, GROUP[::-1]).table, draw().table)


def shaded_scores(display):
    """Lowest and highest score of the shading of each group."""
    shades = display.ax_.collections[: display.table.shape[1]]
    return [
        (path.vertices[:, 0].min(), path.vertices[:, 0].max())
        for shade in shades
        for path in shade.get_paths()
    ]


def test_the_shading_is_at_the_quantiles_of_the_interval():
    display = draw(interval={"a": (0.1, 0.3), "b": [(0, 0.1), (0.5, 1)]})
    expected = [np.quantile(SCORE[GROUP == "a"], [0.7, 0.9])]
    members = SCORE[GROUP == "b"]
    # Paths of one group ascend.
    expected += [[grid_of(display)[0], np.quantile(members, 0.5)]]
    expected += [[np.quantile(members, 0.9), grid_of(display)[-1]]]
    # The curve is smoothed, which moves quantiles outwards.
    np.testing.assert_allclose(shaded_scores(display), expected, atol=0.15)


def test_the_area_of_the_shading_is_the_share_of_the_interval():
    display = draw(interval=(0.1, 0.4))
    for (low, high), name in zip(shaded_scores(display), "ab", strict=True):
        inside = (grid_of(display) >= low) & (grid_of(display) <= high)
        area = display.table[name].to_numpy()[inside].sum() * cell_width(display)
        assert area == pytest.approx(0.3, abs=0.01)


def test_groups_are_distinct_in_colour_and_in_grey():
    ax = draw(interval=(0, 0.5), threshold=0.0).ax_
    lines = ax.lines[:2]
    shades = ax.collections[:2]
    assert len({line.get_color() for line in lines}) == 2
    assert len({line.get_linestyle() for line in lines}) == 2
    assert len({shade.get_hatch() for shade in shades}) == 2
    assert legend_of(ax) == ["a", "b", "in the interval", "threshold"]


def test_nothing_but_the_curves_is_drawn_without_interval_and_threshold():
    ax = draw().ax_
    assert len(ax.lines) == 2 and len(ax.collections) == 0
    assert legend_of(ax) == ["a", "b"]
    assert ax.get_xlabel() == "score"


def test_a_threshold_outside_the_scores_is_visible():
    ax = draw(threshold=9.0).ax_
    assert find_threshold(ax) == 9.0
    assert ax.get_xlim()[1] == pytest.approx(9.0)


def test_several_attributes_are_named_together():
    groups = pd.DataFrame({"sex": ["f", "m"] * 3, "age": ["old", "old", "young"] * 2})
    ax = draw(range(6), groups, interval=(0, 0.5)).ax_
    assert legend_of(ax) == ["f, old", "f, young", "m, old", "m, young", "in the interval"]


@pytest.mark.parametrize(
    "model, threshold, label",
    [
        (LinearSVC(), 0.0, "decision function"),
        (DecisionTreeClassifier(max_depth=3), 0.5, "probability of the positive class"),
        (FixedThresholdClassifier(LogisticRegression(), threshold=0.8), None, "decision function"),
    ],
    ids=["margins", "probabilities", "another threshold"],
)
def test_from_estimator_draws_the_threshold_by_which_it_decides(model, threshold, label):
    model.fit(X, Y)
    display = ScoreDistributionDisplay.from_estimator(model, X, sensitive_features=GROUP)
    assert display.threshold == find_threshold(display.ax_) == threshold
    assert display.ax_.get_xlabel() == label
    assert display.plot().ax_.get_xlabel() == label
    respond = getattr(model, "decision_function", lambda X: model.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(display.table, draw(respond(X)).table)


def test_from_estimator_draws_the_threshold_that_is_passed():
    model = LogisticRegression().fit(X, Y)
    groups = {"sensitive_features": GROUP}
    display = ScoreDistributionDisplay.from_estimator(model, X, threshold=0.7, **groups)
    assert find_threshold(display.ax_) == 0.7


def test_scores_of_a_pipeline_are_those_of_its_last_step():
    groups = {"sensitive_features": GROUP}
    model = ConstrainedERMClassifier(tolerance=0.2).fit(X, Y, **groups)
    pipeline = make_pipeline("passthrough", model)
    drawn = ScoreDistributionDisplay.from_estimator(pipeline, X, **groups)
    expected = draw(model.decision_function(X))
    pd.testing.assert_frame_equal(drawn.table, expected.table, check_names=False)


def test_plot_draws_on_axes():
    figure, ax = plt.subplots()
    table = pd.DataFrame({"a": [0.5, 0.5], "b": [0.2, 0.8]}, index=[0.0, 1.0])
    display = ScoreDistributionDisplay(table, threshold=0.5)
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax and display.figure_ is figure
    assert ax.lines[1].get_ydata().tolist() == [0.2, 0.8]
    assert legend_of(ax) == ["a", "b", "threshold"]


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="rows"):
        draw([1.0, 2.0], ["a"])
    with pytest.raises(ValueError, match="alpha < beta"):
        draw(interval=(0.5, 0.2))
    with pytest.raises(ValueError, match="needs an entry for every group"):
        draw(interval={"a": (0, 0.5)})
    with pytest.raises(ValueError, match="NaN"):
        draw(np.where(SCORE > 0, np.nan, SCORE))


def test_models_without_scores_of_two_classes_are_refused():
    groups = {"sensitive_features": GROUP}
    with pytest.raises(NotFittedError):
        ScoreDistributionDisplay.from_estimator(LogisticRegression(), X, **groups)
    model = LinearRegression().fit(X, Y)
    with pytest.raises(ValueError, match="must be a fitted classifier, but this LinearRegression"):
        ScoreDistributionDisplay.from_estimator(model, X, **groups)
