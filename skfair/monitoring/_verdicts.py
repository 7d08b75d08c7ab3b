"""What a monitor says about now: one table of states, from which every verdict follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skfair._statistics.gaps import Verdict
    from skfair.monitoring._recent import Window


VERDICTS: dict[str, Verdict] = {
    "alarm": "contradicted",
    "alarm stands": "contradicted",
    "window contradicted": "contradicted",
    "window above": "open",
    "all windows shown": "shown",
    "some windows shown": "shown",
    "start shown": "shown",
    "windows open": "open",
    "open": "open",
}
"""Verdict in each state, in the order in which states are looked for, the worst first.

- "alarm": an alarm was raised in this batch.
- "alarm stands": an alarm was raised before, and no state has been "shown" since.
- "window contradicted": the lower limit of a window is above the tolerance, without an alarm.
- "window above": a window does not decide, and its gap is above the tolerance.
- "all windows shown", "some windows shown": the windows that are not shown have gaps within the
  tolerance.
- "start shown": no window is shown, but there is a certificate on the mean since the start. Without
  `run_length`, or with too few samples, there are no windows.
- "windows open": no window is shown, and there is no certificate, or windows exclude its mean.
- "open": no certificate and no windows.
"""


def find_state(
    windows: list[Window],
    *,
    is_certified: bool,
    is_mean_excluded: bool,
    has_alarm: bool,
    is_alarm_standing: bool,
) -> str:
    """Return the state after a batch, a key of `VERDICTS`.

    `is_certified` is whether the evidence for the tolerance since the start, or since the last
    restart, is sufficient, and `is_mean_excluded` whether a window excludes the mean since then.
    """
    if has_alarm:
        return "alarm"
    state = _find_state_without_alarms(windows, is_certified, is_mean_excluded)
    if is_alarm_standing and VERDICTS[state] != "shown":
        return "alarm stands"
    return state


def _find_state_without_alarms(
    windows: list[Window], is_certified: bool, is_mean_excluded: bool
) -> str:
    """Return the state of windows and certificate."""
    if not windows:
        return "start shown" if is_certified else "open"
    if any(one.verdict == "contradicted" for one in windows):
        return "window contradicted"
    if any(one.verdict == "open" and one.is_above for one in windows):
        return "window above"
    n_shown = sum(one.verdict == "shown" for one in windows)
    if n_shown == len(windows):
        return "all windows shown"
    if n_shown:
        return "some windows shown"
    # Rates have changed if windows exclude the mean that the certificate is about.
    if is_certified and not is_mean_excluded:
        return "start shown"
    return "windows open"
