"""The report of several classes is that of each against the rest."""

import numpy as np
import pandas as pd
import pytest

from skfair.metrics import class_report, group_report

RNG = np.random.default_rng(0)
Y_TRUE, Y_PRED = RNG.choice(["a", "b", "c"], (2, 200))
GROUP = RNG.choice(["f", "m"], 200)
WEIGHTS = RNG.random(200)


def test_a_report_of_every_class():
    report = class_report(Y_TRUE, Y_PRED, sensitive_features=GROUP, sample_weight=WEIGHTS)
    of_class = group_report(
        Y_TRUE == "b", Y_PRED == "b", sensitive_features=GROUP, sample_weight=WEIGHTS
    )
    pd.testing.assert_frame_equal(report.loc["b"], of_class)
    np.testing.assert_allclose(report["selection_rate"].groupby(level=1).sum(), 1.0)


def test_rows_are_matched_by_index():
    frame = pd.DataFrame({"t": Y_TRUE, "p": Y_PRED, "g": GROUP}, index=range(7, 207))
    with pytest.raises(ValueError, match="same pandas index"):
        class_report(frame["t"], frame["p"].sample(frac=1), sensitive_features=frame["g"])
