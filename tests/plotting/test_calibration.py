"""Calibration of groups as a picture."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from skfair.metrics import reliability_table
from skfair.plotting import GroupCalibrationDisplay

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = RNG.random(200) < 1 / (1 + np.exp(-X[:, 0]))
GROUP = RNG.choice(["f", "m"], size=200)


def test_marks_are_the_bins_of_the_table():
    model = LogisticRegression().fit(X, Y)
    display = GroupCalibrationDisplay.from_estimator(
        model, X, Y, sensitive_features=GROUP, n_bins=4
    )
    table = reliability_table(Y, model.predict_proba(X)[:, 1], sensitive_features=GROUP, n_bins=4)
    for group, bars in zip(["f", "m"], display.ax_.containers, strict=True):
        expected = table.loc[group, ["mean_probability", "estimate"]].to_numpy()
        np.testing.assert_allclose(bars[0].get_xydata(), expected)
        ends = np.array([segment[:, 1] for segment in bars[2][0].get_segments()])
        np.testing.assert_allclose(ends, table.loc[group, ["low", "high"]].to_numpy())


def test_intersections_are_named():
    groups = np.column_stack((GROUP, np.where(X[:, 1] > 0, "old", "young")))
    display = GroupCalibrationDisplay.from_predictions(
        Y, np.full(200, 0.5), sensitive_features=groups
    )
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["f, old", "f, young", "m, old", "m, young", "calibrated"]


def test_models_without_probabilities_are_refused():
    with pytest.raises(ValueError, match="has no predict_proba"):
        GroupCalibrationDisplay.from_estimator(
            LinearSVC().fit(X, Y), X, Y, sensitive_features=GROUP
        )
