"""Times of batches: numbers, or points in time that are stored as text."""

from math import isfinite
from numbers import Integral, Real

import pandas as pd


def check_time(time, state, delay):
    """The time of a batch as it is stored; raise if it runs backwards or cannot have a delay."""
    time = normalize_time(time)
    if state.rows:
        check_order(time, state.time)
    if delay is not None:
        check_delay(delay, time)
    return time


def normalize_time(time):
    """A time as a number, ISO text or None; text is what a file stores."""
    if time is None:
        return None
    if isinstance(time, Real) and not isinstance(time, bool):
        number = int(time) if isinstance(time, Integral) else float(time)
        if isfinite(number):
            return number
    try:
        point = pd.Timestamp(str(time) if isinstance(time, pd.Period) else time)
    except (TypeError, ValueError):
        point = pd.NaT
    if point is pd.NaT:
        raise ValueError(f"time must be a number or a date, such as '2026-03-01'; got {time!r}.")
    return point.isoformat()


def to_point(time):
    """The time that text stands for, or the number."""
    return pd.Timestamp(time) if isinstance(time, str) else time


def check_order(time, latest):
    """Refuse a time before the latest one, of another type, or in some batches only."""
    if (time is None) != (latest is None):
        raise ValueError(
            f"time must be passed with every batch or with none; got {time!r} after {latest!r}."
        )
    try:
        runs_backwards = time is not None and to_point(time) < to_point(latest)
    except TypeError:
        raise ValueError(
            f"time must be of one type in all batches, but {time!r} came after {latest!r}."
        ) from None
    if runs_backwards:
        raise ValueError(
            f"time must not run backwards, but {time!r} came after {latest!r}. Nothing was "
            "counted: evidence depends on the order of batches. Sort them by time."
        )


def end_of_delay(start, delay):
    """The point in time or the number at which a delay is over."""
    return to_point(start) + (pd.Timedelta(delay) if isinstance(start, str) else delay)


def check_delay(delay, time):
    """Refuse a delay that cannot be added to a time, or is negative."""
    try:
        is_valid = time is not None and end_of_delay(time, delay) >= to_point(time)
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise ValueError(
            "delay must be a time span in units of time, such as 90 for numbers or '90 days' for "
            f"dates, and every batch needs a time; got delay={delay!r} and time={time!r}."
        )


def restore_times(column):
    """A column of stored times with points in time in place of text."""
    return column.map(to_point) if len(column) else column
