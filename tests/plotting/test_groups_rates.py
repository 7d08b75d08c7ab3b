"""GroupRateDisplay: marks and bars are the rates and intervals of the report."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from skfair.metrics import Rate, group_report
from skfair.plotting import GroupRateDisplay

TRUE = [1, 1, 0, 0, 1, 1, 0, 0]
PREDICTED = [1, 1, 1, 0, 1, 0, 0, 0]
GROUP = list("aaaabbbb")


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def marks(ax):
    """Rates that were drawn, one row per group."""
    return np.array([bars[0].get_xdata() for bars in ax.containers])


def reaches(ax):
    """Ends of the bars, one row per group, each with (low, high) per rate."""
    return np.array([np.array(bars[2][0].get_segments())[:, :, 0] for bars in ax.containers])


def table_of(n_groups):
    rows = [*(f"group {k}" for k in range(n_groups)), "overall"]
    return pd.DataFrame({"rate": 0.5, "rate_low": 0.4, "rate_high": 0.6, "rate_n": 10}, index=rows)


@pytest.fixture
def ax():
    return GroupRateDisplay.from_predictions(TRUE, PREDICTED, sensitive_features=GROUP).ax_


def test_marks_are_the_rates(ax):
    np.testing.assert_allclose(marks(ax), [[0.75, 1, 0.5], [0.25, 0.5, 0]])


def test_bars_of_small_groups_are_exact_intervals_and_never_points(ax):
    """Clopper and Pearson's: of 2 of 2 the lower limit is the root of .025."""
    of_four = (0.194120, 0.993691)
    of_two = (0.158114, 1)
    half = (0.012579, 0.987421)
    np.testing.assert_allclose(
        reaches(ax),
        [
            [of_four, of_two, half],
            [(1 - of_four[1], 1 - of_four[0]), half, (0, 1 - of_two[0])],
        ],
        atol=1e-6,
    )


def test_beside_each_mark_stands_what_it_is_a_share_of(ax):
    written = [(text.get_text(), text.get_position()[1]) for text in ax.texts]
    assert [text for text, _ in written] == ["of 4", "of 2", "of 2"] * 2
    heights = np.concatenate([bars[0].get_ydata() for bars in ax.containers])
    np.testing.assert_allclose([height for _, height in written], heights)
    weighted = GroupRateDisplay.from_predictions(
        TRUE, PREDICTED, sensitive_features=GROUP, sample_weight=np.arange(1, 9) ** 2
    )
    weights = {"sensitive_features": GROUP, "sample_weight": np.arange(1, 9) ** 2}
    report = group_report(TRUE, PREDICTED, confidence_level=0.95, **weights)
    effective = report["selection_rate_n"].iloc[0]
    assert effective < 4 and weighted.ax_.texts[0].get_text() == f"of {effective:.1f}"


def test_a_line_marks_the_rate_of_all_samples(ax):
    lines = ax.collections[-1].get_segments()
    np.testing.assert_allclose([segment[0, 0] for segment in lines], [0.5, 0.75, 0.25])


def test_the_legend_names_groups_then_the_reference(ax):
    assert legend_of(ax) == ["a", "b", "all samples"]


def test_rates_are_named_from_the_top(ax):
    bottom, top = ax.get_ylim()
    assert bottom > top
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == ["selection rate", "true positive rate", "false positive rate"]


def test_marks_of_a_rate_stay_in_its_row(ax):
    heights = np.array([bars[0].get_ydata() for bars in ax.containers])
    assert (np.abs(heights - np.arange(3)) < 0.5).all()
    assert (np.diff(heights, axis=0) > 0).all()


def test_groups_are_distinct_in_colour_and_in_grey():
    display = GroupRateDisplay(table_of(n_groups=5)).plot()
    points = [bars[0] for bars in display.ax_.containers]
    assert len({point.get_color() for point in points}) == 5
    assert len({point.get_marker() for point in points}) == 5


def test_other_metrics_can_be_drawn():
    ax = GroupRateDisplay.from_predictions(
        TRUE, PREDICTED, sensitive_features=GROUP, metrics=["accuracy"]
    ).ax_
    np.testing.assert_allclose(marks(ax), [[0.75], [0.75]])
    with pytest.raises(ValueError, match="A metric must be one of .* got 'recal'"):
        GroupRateDisplay.from_predictions(
            TRUE, PREDICTED, sensitive_features=GROUP, metrics=["accuracy", "recal"]
        )


def test_metrics_beyond_rates_have_their_own_axis():
    cost = Rate("cost", {"fp": 1, "fn": 5})
    display = GroupRateDisplay.from_predictions(
        TRUE, PREDICTED, sensitive_features=GROUP, metrics=[cost]
    )
    assert display.ax_.get_xlim()[1] > 1.25
    assert display.ax_.get_xlabel().startswith("value")


def test_scores_of_an_estimator_are_those_of_its_predictions():
    X = np.random.default_rng(0).normal(size=(80, 2))
    y = X[:, 0] > 0
    group = np.repeat(["a", "b"], 40)
    model = LogisticRegression().fit(X[:, 1:], y)
    settings = {"sensitive_features": group, "metrics": ["brier_score", "roc_auc", "recall"]}
    estimated = GroupRateDisplay.from_estimator(model, X[:, 1:], y, **settings)
    predicted = GroupRateDisplay.from_predictions(
        y, model.predict(X[:, 1:]), y_proba=model.predict_proba(X[:, 1:])[:, 1], **settings
    )
    pd.testing.assert_frame_equal(estimated.table, predicted.table)


def test_unknown_rates_are_left_blank():
    ax = GroupRateDisplay.from_predictions(
        [1, 0, 0, 0], [1, 0, 1, 0], sensitive_features=list("aabb")
    ).ax_
    assert np.isnan(marks(ax)[1, 1])  # b has no positive


def test_from_estimator_takes_the_positive_class_from_the_estimator():
    X = np.arange(8.0)[:, np.newaxis]
    y = np.array(["yes", "no"])[np.array(TRUE)]  # "yes" is the second class, and 0
    model = LogisticRegression().fit(X, y)
    ax = GroupRateDisplay.from_estimator(model, X, y, sensitive_features=GROUP, pos_label="yes").ax_
    predicted = (model.predict(X) == "yes").reshape(2, 4)
    np.testing.assert_allclose(marks(ax)[:, 0], predicted.mean(axis=1))


def test_an_unfitted_estimator_is_refused():
    with pytest.raises(NotFittedError):
        GroupRateDisplay.from_estimator(
            LogisticRegression(), [[0.0]], [1], sensitive_features=["a"]
        )


def test_plot_draws_on_axes():
    figure, ax = plt.subplots()
    display = GroupRateDisplay(table_of(n_groups=1))
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax and display.figure_ is figure
    assert legend_of(ax) == ["group 0", "all samples"]
    assert ax.get_xlabel() == "rate, with confidence interval"


def test_the_axis_names_the_level_of_the_table():
    report = group_report(TRUE, PREDICTED, sensitive_features=GROUP, confidence_level=0.8)
    assert GroupRateDisplay(report).plot().ax_.get_xlabel() == "rate, with 80 % confidence interval"


def test_a_table_without_intervals_or_of_several_strata_is_refused():
    with pytest.raises(ValueError, match="table must have intervals; pass one of group_report"):
        GroupRateDisplay(group_report(TRUE, PREDICTED, sensitive_features=GROUP)).plot()
    strata = group_report(
        *(TRUE, PREDICTED),
        sensitive_features=GROUP,
        control_features=["x", "y"] * 4,
        confidence_level=0.95,
    )
    with pytest.raises(ValueError, match="pass the rows of one stratum"):
        GroupRateDisplay(strata).plot()
    ax = GroupRateDisplay(strata.loc["x"]).plot().ax_
    assert legend_of(ax) == ["a", "b", "all samples"]
