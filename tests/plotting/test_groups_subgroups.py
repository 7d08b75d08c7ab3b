"""SubgroupDisplay: departures of subgroups with their limits."""

import numpy as np
import pandas as pd
import pytest

from skfair.plotting._groups import SubgroupDisplay
from tests.audit.doors import search_predictions


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.choice(["x", "y"], size=(4000, 2)), columns=list("ab"))
    chance = np.where((table == "x").all(axis=1), 0.2, np.where(table["a"] == "y", 0.6, 0.4))
    y_pred = (rng.random(4000) < chance).astype(int)
    y_true = rng.integers(2, size=4000)
    metrics = ["selection_rate", "true_positive_rate"]
    return search_predictions(y_true, y_pred, sensitive_features=table, metrics=metrics)


def test_bars_are_the_limits_of_the_table(report):
    display = report.plot(metric="selection_rate")
    rows = report.subgroups[report.subgroups["metric"] == "selection_rate"]
    assert [one.get_text() for one in display.ax_.get_yticklabels()] == rows["subgroup"].tolist()
    drawn = {}
    for container in display.ax_.containers:
        line, _, (bars,) = container
        for x, y, segment in zip(*line.get_data(), bars.get_segments(), strict=True):
            drawn[int(y)] = (segment[0, 0], x, segment[1, 0])
    expected = 100.0 * rows[["low", "difference", "high"]].to_numpy(dtype=float)
    np.testing.assert_allclose([drawn[row] for row in range(len(rows))], expected)
    largest = report.searches.set_index("metric").loc["selection_rate", "largest_possible"]
    dashed = [line.get_xdata()[0] for line in display.ax_.lines if line.get_linestyle() == "--"]
    np.testing.assert_allclose(sorted(dashed), [-100.0 * largest, 100.0 * largest])
    texts = [one.get_text() for one in display.ax_.texts]
    first = rows.iloc[0]
    assert texts[0] == (
        f"{first['estimate']:.0%}, rest {first['rest_estimate']:.0%} (n = {first['n']:,})"
    )


def test_signs_have_colours_of_their_own():
    names = ["subgroup", "difference", "low", "high", "estimate", "rest_estimate", "n"]
    rows = [("a = x", -0.2, -0.3, -0.1, 0.2, 0.4, 90), ("b = y", 0.2, 0.1, 0.3, 0.6, 0.4, 1200)]
    table = pd.DataFrame(rows, columns=names)
    ax = SubgroupDisplay(table, metric="selection_rate", largest_possible=0.4).plot().ax_
    assert ax.texts[1].get_text() == "60%, rest 40% (n = 1,200)"
    _, labels = ax.get_legend_handles_labels()
    assert {"higher", "lower", "largest possible"} == set(labels)
    assert len({container[0].get_color() for container in ax.containers}) == 2


def test_a_metric_is_needed_where_several_were_searched(report):
    with pytest.raises(ValueError, match="one of those searched, .*true_positive_rate.*got None"):
        report.plot()
    with pytest.raises(ValueError, match="got 'accuracy'"):
        report.plot(metric="accuracy")


def test_nothing_that_departs_is_said_in_words():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.choice(["x", "y"], size=500)})
    empty = search_predictions(None, rng.integers(2, size=500), sensitive_features=table)
    display = empty.plot()
    assert display.ax_.texts[0].get_text() == "no subgroup is shown to depart"
    assert display.figure_.axes == [display.ax_]


def test_axes_that_are_passed_are_drawn_on(report):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = report.plot(metric="true_positive_rate", ax=ax)
    assert display.ax_ is ax
    assert "true positive rate minus that of the rest" in ax.get_xlabel()
