"""GroupCalibrationDisplay: marks and bars are the frequencies and intervals of the table."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from skfair.metrics import reliability_table
from skfair.plotting import GroupCalibrationDisplay

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = (RNG.random(200) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
GROUP = RNG.choice(["f", "m"], size=200)
MODEL = LogisticRegression().fit(X, Y)
PROBABILITY = MODEL.predict_proba(X)[:, 1]


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def marks(bars):
    return bars[0].get_xydata()


def bar_ends(bars):
    (segments,) = bars[2]
    return np.array([segment[:, 1] for segment in segments.get_segments()])


def test_marks_and_bars_by_hand():
    ax = GroupCalibrationDisplay.from_predictions(
        [0, 1, 1, 1, 0, 0, 1, 0],
        [0.2, 0.3, 0.9, 0.9, 0.2, 0.2, 0.9, 0.7],
        sensitive_features=[*"aaaabbbb"],
        n_bins=2,
    ).ax_
    first, second = ax.containers
    np.testing.assert_allclose(marks(first), [[0.25, 0.5], [0.9, 1.0]])
    np.testing.assert_allclose(marks(second), [[0.2, 0.0], [0.8, 0.5]])
    # Clopper and Pearson: with 2 of 2 the lower end is the square root of .025.
    np.testing.assert_allclose(bar_ends(first)[1], [0.025**0.5, 1.0])
    np.testing.assert_allclose(ax.lines[-1].get_xydata(), [[0, 0], [1, 1]])


@pytest.mark.parametrize("settings", [{}, {"strategy": "quantile", "confidence_level": 0.8}])
def test_marks_are_the_bins_of_the_table(settings):
    settings |= {"sensitive_features": GROUP, "n_bins": 4, "sample_weight": 1.0 + Y}
    table = reliability_table(Y, PROBABILITY, **settings)
    display = GroupCalibrationDisplay.from_estimator(MODEL, X, Y, **settings)
    pd.testing.assert_frame_equal(display.table, table)
    for group, bars in zip(["f", "m"], display.ax_.containers, strict=True):
        expected = table.loc[group]
        np.testing.assert_allclose(marks(bars), expected[["mean_probability", "estimate"]])
        np.testing.assert_allclose(bar_ends(bars), expected[["low", "high"]])
    level = 100 * settings.get("confidence_level", 0.95)
    assert display.ax_.get_ylabel().endswith(f"with {level:g} % confidence interval")


def test_a_table_without_its_level_is_drawn():
    table = reliability_table(Y, PROBABILITY, sensitive_features=GROUP)
    table.attrs.clear()
    ax = GroupCalibrationDisplay(table).plot().ax_
    assert ax.get_ylabel() == "observed frequency, with confidence interval"


def test_groups_that_are_called_overall_are_drawn():
    names = np.where(GROUP == "f", "a", "overall")
    display = GroupCalibrationDisplay.from_predictions(
        Y, PROBABILITY, sensitive_features=names, n_bins=3
    )
    assert legend_of(display.ax_) == ["a", "overall", "calibrated"]
    of_group = reliability_table(
        Y[names == "overall"],
        PROBABILITY[names == "overall"],
        sensitive_features=names[names == "overall"],
        n_bins=3,
    )
    expected = of_group[["mean_probability", "estimate"]].to_numpy()[:3]
    np.testing.assert_allclose(marks(display.ax_.containers[1]), expected)


def test_a_table_of_groups_alone_and_a_single_group_are_drawn():
    table = reliability_table(Y, PROBABILITY, sensitive_features=GROUP)
    alone = GroupCalibrationDisplay(table.drop("overall")).plot()
    assert legend_of(alone.ax_) == ["f", "m", "calibrated"]
    single = GroupCalibrationDisplay.from_predictions(Y, PROBABILITY, sensitive_features=[1] * 200)
    assert legend_of(single.ax_) == ["1", "calibrated"]


def test_a_group_of_one_sample_has_one_mark():
    groups = np.where(np.arange(200) == 7, "one", GROUP)
    ax = GroupCalibrationDisplay.from_predictions(Y, PROBABILITY, sensitive_features=groups).ax_
    np.testing.assert_allclose(marks(ax.containers[2]), [[PROBABILITY[7], Y[7]]])


def test_groups_are_distinct_in_colour_and_in_grey():
    ax = GroupCalibrationDisplay.from_predictions(
        Y, PROBABILITY, sensitive_features=np.arange(200) % 10, n_bins=2
    ).ax_
    lines = [bars[0] for bars in ax.containers]
    assert len({line.get_color() for line in lines}) == 10
    assert len({line.get_marker() for line in lines}) == 10


def test_intersections_and_labels_are_named():
    groups = np.column_stack((GROUP, np.where(X[:, 1] > 0, "old", "young")))
    words = np.where(Y == 1, "yes", "no")
    display = GroupCalibrationDisplay.from_predictions(
        words, PROBABILITY, sensitive_features=groups, pos_label="yes"
    )
    expected = ["f, old", "f, young", "m, old", "m, young", "calibrated"]
    assert legend_of(display.ax_) == expected
    numbers = GroupCalibrationDisplay.from_predictions(Y, PROBABILITY, sensitive_features=groups)
    pd.testing.assert_frame_equal(display.table, numbers.table)


def test_plot_draws_on_axes():
    figure, ax = plt.subplots()
    display = GroupCalibrationDisplay(reliability_table(Y, PROBABILITY, sensitive_features=GROUP))
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax and display.figure_ is figure


@pytest.mark.parametrize(
    "model, y, message",
    [
        (LinearSVC().fit(X, Y), Y, "must have predict_proba, .* but this LinearSVC has none"),
        (LinearRegression().fit(X, Y), Y, "must be a fitted classifier, but this LinearRegression"),
        (
            LogisticRegression().fit(*make_classification(50, 2, n_redundant=0, n_informative=2)),
            Y[:5],
            "inconsistent|rows",
        ),
        (LogisticRegression().fit(X, Y + (X[:, 1] > 1)), Y, "must have two classes"),
    ],
    ids=["margins", "numbers", "lengths", "three classes"],
)
def test_what_has_no_probabilities_of_two_classes_is_refused(model, y, message):
    with pytest.raises(ValueError, match=message):
        GroupCalibrationDisplay.from_estimator(model, X, y, sensitive_features=GROUP)


def test_an_unfitted_estimator_is_refused():
    with pytest.raises(NotFittedError):
        GroupCalibrationDisplay.from_estimator(LogisticRegression(), X, Y, sensitive_features=GROUP)
