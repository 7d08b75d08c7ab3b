"""The tutorial, on the data that it generates where Adult is not available."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

PATH = Path(__file__).parents[2] / "examples" / "tutorial" / "plot_from_data_to_decision.py"


@pytest.fixture(scope="module")
def tutorial():
    """The names that the tutorial defines."""
    pytest.importorskip("matplotlib")

    def refuse(**params):
        raise OSError("offline")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skfair.datasets.fetch_adult", refuse)
        return runpy.run_path(str(PATH))


def test_the_three_sets_of_samples_are_disjoint(tutorial):
    indices = [tutorial[f"X_{name}"].index for name in ("train", "test", "later")]
    assert len(set().union(*indices)) == sum(map(len, indices)) == 45_000


def test_mitigation_lowers_the_held_out_gap(tutorial):
    is_woman = (tutorial["sex_test"] == "Female").to_numpy()
    gaps = {}
    for name in ("plain", "fair"):
        decisions = tutorial[name].predict(tutorial["X_test"])
        gaps[name] = abs(decisions[is_woman].mean() - decisions[~is_woman].mean())
    assert gaps["fair"] < 0.08 < gaps["plain"]
    assert tutorial["certificate"].is_shown


def test_the_monitor_reads_all_later_samples_without_an_alarm(tutorial):
    counts = tutorial["monitor"].to_frame()
    assert counts["time"].nunique() == 10
    assert tutorial["monitor"].alarms_.empty


def test_the_stored_model_decides_equally(tutorial):
    restored, fair, X = (tutorial[name] for name in ("restored", "fair", "X_later"))
    np.testing.assert_array_equal(restored.predict(X), fair.predict(X))
