"""The table of states of a monitor."""

import pytest

from skfair.monitoring._recent import Window
from skfair.monitoring._verdicts import VERDICTS, find_state


def window(verdict, is_above=False, n_batches=1):
    return Window(n_batches, 1, 1, 1, 0.0, 0.0, 1.0, verdict, is_above, [])


ALL = {
    "alarm": ([window("contradicted")], {"has_alarm": True, "is_alarm_standing": True}),
    "alarm stands": ([window("open")], {"is_alarm_standing": True}),
    "window contradicted": ([window("shown"), window("contradicted")], {}),
    "window above": ([window("open", is_above=True), window("shown")], {}),
    "all windows shown": ([window("shown"), window("shown")], {"is_alarm_standing": True}),
    "some windows shown": ([window("open"), window("shown")], {}),
    "start shown": ([window("open")], {"is_certified": True}),
    "windows open": ([window("open")], {"is_certified": True, "is_mean_excluded": True}),
    "open": ([], {}),
}


@pytest.mark.parametrize("state", ALL)
def test_states(state):
    windows, facts = ALL[state]
    names = ("is_certified", "is_mean_excluded", "has_alarm", "is_alarm_standing")
    assert find_state(windows, **dict.fromkeys(names, False) | facts) == state
    assert set(ALL) == set(VERDICTS)
