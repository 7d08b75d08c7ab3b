"""GroupRateCurveDisplay: the curve of one group's positive rate against another's."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_curve
from sklearn.pipeline import make_pipeline

from skfair.classification import ConstrainedERMClassifier
from skfair.plotting import GroupRateCurveDisplay

SCORE = [5, 4, 3, 2, 1, 3, 3]
GROUP = list("aaaaabb")


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def curves(ax):
    return [line for line in ax.lines if line.get_gid()]


def bands(ax):
    """Corners (x0, x1, y0, y1) of the shaded bands."""
    return [patch.get_extents().transformed(ax.transData.inverted()) for patch in ax.patches]


@pytest.fixture
def ax():
    return GroupRateCurveDisplay.from_predictions(SCORE, sensitive_features=GROUP).ax_


def test_by_hand(ax):
    (line,) = curves(ax)
    # Above 5, 4, 3, 2, 1 and -inf; both of b fall at once, below 3.
    np.testing.assert_allclose(line.get_xdata(), [0, 0.2, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(line.get_ydata(), [0, 0, 0, 1, 1, 1])


def test_the_largest_group_is_the_reference_unless_named(ax):
    assert ax.get_xlabel() == "share of a above the threshold"
    assert ax.get_ylabel() == "share of b above the threshold"
    other = GroupRateCurveDisplay.from_predictions(
        SCORE, sensitive_features=GROUP, reference="b"
    ).ax_
    assert other.get_xlabel() == "share of b above the threshold"
    weighted = GroupRateCurveDisplay.from_predictions(
        SCORE, sensitive_features=GROUP, sample_weight=[1] * 5 + [9] * 2
    ).ax_
    assert weighted.get_xlabel() == "share of b above the threshold"


def test_it_is_the_roc_curve_of_the_group():
    rng = np.random.default_rng(0)
    group = rng.random(200) < 0.3
    score = np.round(rng.normal(size=200) + group, 1)
    (line,) = curves(GroupRateCurveDisplay.from_predictions(score, sensitive_features=group).ax_)
    fpr, tpr, _ = roc_curve(group, score, drop_intermediate=False)
    np.testing.assert_allclose(line.get_xydata(), np.column_stack((fpr, tpr)))


def test_bands_mark_the_interval_on_both_axes():
    ax = GroupRateCurveDisplay.from_predictions(
        SCORE, sensitive_features=GROUP, interval={"a": (0.2, 0.4), "b": [(0, 0.1), (0.5, 1)]}
    ).ax_
    upright, *flat = bands(ax)
    np.testing.assert_allclose(upright.intervalx, [0.2, 0.4])
    np.testing.assert_allclose([band.intervaly for band in flat], [[0, 0.1], [0.5, 1]])


def test_several_groups_are_drawn_against_the_reference():
    ax = GroupRateCurveDisplay.from_predictions(
        range(6), sensitive_features=list("aabbcc"), reference="b", name="model"
    ).ax_
    assert legend_of(ax) == ["model: a", "model: c"]
    assert ax.get_ylabel() == "share of the other group above the threshold"


def test_several_models_are_distinct_and_share_one_background():
    ax = None
    for name in ("one", "two", "three"):
        ax = GroupRateCurveDisplay.from_predictions(
            SCORE, sensitive_features=GROUP, interval=(0, 0.5), name=name, ax=ax
        ).ax_
    for getter in ("get_color", "get_linestyle"):
        assert len({getattr(line, getter)() for line in curves(ax)}) == 3
    assert legend_of(ax) == ["one", "two", "three"]
    assert len(ax.lines) == 4 and len(ax.patches) == 2


def test_many_thresholds_are_thinned():
    score = np.random.default_rng(0).normal(size=10_000)
    group = np.arange(10_000) % 2
    (line,) = curves(GroupRateCurveDisplay.from_predictions(score, sensitive_features=group).ax_)
    assert len(line.get_xdata()) <= 2000
    np.testing.assert_array_equal(line.get_xydata()[[0, -1]], [[0, 0], [1, 1]])


def test_from_estimator_names_the_curve():
    X = np.array(SCORE, dtype=float)[:, np.newaxis]
    model = LogisticRegression().fit(X, np.array(SCORE) > 3)
    ax = GroupRateCurveDisplay.from_estimator(model, X, sensitive_features=GROUP).ax_
    (line,) = curves(ax)
    np.testing.assert_allclose(line.get_xdata(), [0, 0.2, 0.4, 0.6, 0.8, 1])
    assert legend_of(ax) == ["LogisticRegression"]


def test_an_unfitted_estimator_is_refused():
    with pytest.raises(NotFittedError):
        GroupRateCurveDisplay.from_estimator(
            LogisticRegression(), [[0.0]], sensitive_features=["a"]
        )


def test_plot_draws_on_axes():
    figure, ax = plt.subplots()
    display = GroupRateCurveDisplay(pd.DataFrame({"a": [0, 0.5, 1], "b": [0, 0.2, 1]}))
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax and display.figure_ is figure
    assert ax.get_legend() is None
    assert ax.get_xlabel() == "share of a above the threshold"


def test_a_display_of_a_table_takes_the_same_reference_and_interval():
    table = pd.DataFrame({"a": [0, 0.5, 1], "b": [0, 0.2, 1]})
    settings = {"reference": "b", "interval": {"a": (0, 0.5), "b": (0.2, 0.4)}}
    ax = GroupRateCurveDisplay(table, **settings).plot().ax_
    assert ax.get_xlabel() == "share of b above the threshold"
    (line,) = curves(ax)
    np.testing.assert_array_equal(line.get_xydata(), table[["b", "a"]])
    upright, flat = bands(ax)
    np.testing.assert_allclose([*upright.intervalx, *flat.intervaly], [0.2, 0.4, 0, 0.5])


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="at least two groups"):
        GroupRateCurveDisplay.from_predictions([1, 2], sensitive_features=["a", "a"])
    with pytest.raises(ValueError, match=r"one of the groups \['a', 'b'\]; got 'c'"):
        GroupRateCurveDisplay.from_predictions(SCORE, sensitive_features=GROUP, reference="c")
    with pytest.raises(ValueError, match="rows"):
        GroupRateCurveDisplay.from_predictions([1.0, 2.0], sensitive_features=["a"])
    with pytest.raises(ValueError, match="alpha < beta"):
        GroupRateCurveDisplay.from_predictions(SCORE, sensitive_features=GROUP, interval=(0.5, 0.2))


def test_scores_of_a_pipeline_are_those_of_its_last_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    groups = {"sensitive_features": np.repeat(["a", "b"], [300, 200])}
    y = X[:, 0] + rng.normal(size=500) > 0
    model = ConstrainedERMClassifier(tolerance=0.2).fit(X, y, **groups)
    drawn = GroupRateCurveDisplay.from_estimator(make_pipeline("passthrough", model), X, **groups)
    expected = GroupRateCurveDisplay.from_predictions(model.decision_function(X), **groups)
    pd.testing.assert_frame_equal(drawn.table, expected.table)


def test_a_regressor_is_refused():
    X = np.arange(20.0).reshape(-1, 1)
    groups = {"sensitive_features": np.arange(20) % 2}
    model = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="must be a fitted classifier, but this LinearRegression"):
        GroupRateCurveDisplay.from_estimator(model, X, **groups)


def draw_outcomes():
    """Scores, outcomes and groups, in which scores say less about the outcomes of b."""
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], size=300)
    outcome = rng.random(300) < 0.4
    score = np.round(rng.normal(size=300) + outcome * np.where(group == "a", 2.0, 0.5), 1)
    return score, outcome, group, rng.integers(1, 4, size=300)


def test_with_outcomes_each_group_has_the_roc_curve_of_scikit_learn():
    score, outcome, group, weights = draw_outcomes()
    ax = GroupRateCurveDisplay.from_predictions(
        score, y_true=outcome, sensitive_features=group, sample_weight=weights
    ).ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("false positive rate", "true positive rate")
    assert legend_of(ax) == ["a", "b"]
    for name, line in zip("ab", curves(ax), strict=True):
        rows = group == name
        x, y, _ = roc_curve(outcome[rows], score[rows], sample_weight=weights[rows])
        drawn = {*map(tuple, np.round(line.get_xydata(), 12))}
        assert {*map(tuple, np.round(np.transpose([x, y]), 12))} <= drawn
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(np.trapezoid(y, x))


def test_roc_curves_of_a_model_are_those_of_its_scores():
    score, outcome, group, _ = draw_outcomes()
    X, words = score[:, np.newaxis], np.where(outcome, "good", "bad")
    model = LogisticRegression().fit(X, words)
    settings = {"sensitive_features": group, "pos_label": "good"}
    drawn = GroupRateCurveDisplay.from_estimator(model, X, words, **settings)
    expected = GroupRateCurveDisplay.from_predictions(score, y_true=words, **settings)
    pd.testing.assert_frame_equal(drawn.table, expected.table)
    pd.testing.assert_frame_equal(drawn.negatives, expected.negatives)
    assert legend_of(drawn.ax_) == ["LogisticRegression: a", "LogisticRegression: b"]


def test_roc_curves_need_both_outcomes_and_no_reference():
    score, outcome, group, _ = draw_outcomes()
    with pytest.raises(ValueError, match="'b' has no positives in y_true"):
        GroupRateCurveDisplay.from_predictions(
            score, y_true=outcome & (group == "a"), sensitive_features=group
        )
    with pytest.raises(ValueError, match="y_true must be left out with interval or reference"):
        GroupRateCurveDisplay.from_predictions(
            score, y_true=outcome, sensitive_features=group, reference="a"
        )
    with pytest.raises(ValueError, match="pos_label names a class of y_true"):
        GroupRateCurveDisplay.from_predictions(score, sensitive_features=group, pos_label=True)
