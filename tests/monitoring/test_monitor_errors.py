"""Errors thrown at GapMonitor: the state after each is the state before it, to the last bit."""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

from skfair.constraints import DemographicParity
from skfair.monitoring import GapMonitor

DECISIONS = [0, 1, 1, 0]
OUTCOMES = [0, 1, 0, 1]
SEX = list("abab")
TABLE = pd.DataFrame({"sex": SEX, "age": [1, 2, 1, 2]})


def monitor_without_outcomes():
    """Demographic parity, which needs no outcomes, at times 0 and 1."""
    monitor = GapMonitor("demographic_parity", 0.1, max_weight=2.0, run_length=10)
    for time in (0, 1):
        monitor.update(None, DECISIONS, sensitive_features=SEX, time=time)
    return monitor, {"y_true": None, "y_pred": DECISIONS, "sensitive_features": SEX, "time": 2}


def outcomes_later():
    """Equal opportunity, with two samples outstanding."""
    monitor = GapMonitor("equal_opportunity", 0.1, max_weight=2.0)
    monitor.update(None, DECISIONS, sensitive_features=SEX, time=0, ids=[1, 2, 3, 4])
    monitor.update_labels([1, 2], [1, 0], time=1)
    call = {"y_true": None, "y_pred": DECISIONS, "sensitive_features": SEX, "time": 2}
    return monitor, call | {"ids": list("wxyz")}


def monitor_with_delay():
    """Equalised odds by cohorts: samples with and without outcomes are outstanding."""
    monitor = GapMonitor("equalized_odds", 0.1, max_weight=2.0, delay=5)
    monitor.update(OUTCOMES, DECISIONS, sensitive_features=SEX, time=0)
    monitor.update(None, DECISIONS, sensitive_features=SEX, time=1, ids=[1, 2, 3, 4])
    call = {"y_pred": DECISIONS, "y_true": OUTCOMES, "sensitive_features": SEX, "time": 7}
    return monitor, call


def monitor_of_dates():
    """Error rates by cohorts of days, two attributes, classes of text."""
    monitor = GapMonitor("error_rate_parity", 0.1, max_weight=2.0, delay="90 days", pos_label="yes")
    words = ["no", "yes", "yes", "no"]
    call = {"y_pred": words, "y_true": words[::-1], "sensitive_features": TABLE}
    for time in ("2026-01-01", "2026-02-01"):
        monitor.update(**call, time=time)
    return monitor, call | {"time": "2026-04-15"}


MONITORS = monitor_without_outcomes, outcomes_later, monitor_with_delay, monitor_of_dates

WRONG = {
    "labels of another type": {"sensitive_features": [0, 1, 1, 0]},
    "labels of two types": {"sensitive_features": ["a", 1, "a", 1]},
    "missing labels": {"sensitive_features": ["a", None, "b", "a"]},
    "other attributes": {"sensitive_features": np.array([SEX, SEX, SEX]).T},
    "three dimensions": {"sensitive_features": np.zeros((4, 1, 1))},
    "too few labels": {"sensitive_features": SEX[:3]},
    "no labels": {"sensitive_features": None},
    "too few predictions": {"y_pred": DECISIONS[:3]},
    "no predictions": {"y_pred": None},
    "a number as predictions": {"y_pred": 1},
    "missing predictions": {"y_pred": [0, 1, np.nan, 0]},
    "three classes": {"y_pred": [0, 1, 2, 3]},
    "outcomes of other classes": {"y_true": ["good", "bad", "good", "bad"]},
    "missing outcomes": {"y_true": [0.0, 1.0, np.nan, 0.0]},
    "too few outcomes": {"y_true": OUTCOMES[:2]},
    "time runs backwards": {"time": -1},
    "an older date": {"time": "1999-01-01"},
    "no date": {"time": "soon"},
    "infinite time": {"time": np.inf},
    "no time": {"time": None},
    "a time of another zone": {"time": pd.Timestamp("2026-05-01", tz="UTC")},
    "a list as time": {"time": [2, 3]},
    "negative weights": {"sample_weight": [1.0, -1.0, 1.0, 1.0]},
    "missing weights": {"sample_weight": [1.0, np.nan, 1.0, 1.0]},
    "large weights": {"sample_weight": [1.0, 3.0, 1.0, 1.0]},
    "too few weights": {"sample_weight": [1.0]},
    "text as weights": {"sample_weight": list("wxyz")},
    "repeated ids": {"ids": [7, 7, 8, 9], "y_true": None},
    "missing ids": {"ids": [7, None, 8, 9], "y_true": None},
    "too few ids": {"ids": [7], "y_true": None},
    "features of fewer samples": {"X": np.zeros((3, 1))},
    "features of more samples": {"X": np.zeros((6, 1)).tolist()},
}
"""Changes of a call of `update` that is right."""

HARMLESS = {
    # What a constraint does not use is not read, or is right for one of the monitors.
    monitor_without_outcomes: {"repeated ids", "missing ids"},
}

WRONG_OUTCOMES = {
    "an unknown id": ([99], [1], None),
    "an id twice": ([3, 3], [1, 1], None),
    "an outcome too few": ([3, 4], [1], None),
    "a missing outcome": ([3], [np.nan], None),
    "another class": ([3], ["maybe"], None),
    "a missing id": ([None], [1], None),
    "a number as outcomes": ([3], 1, None),
    "time runs backwards": ([3], [1], -1),
    "a date in place of a number": ([3], [1], "2026-01-01"),
    "no iterable": (3, [1], None),
}

WRONG_PARAMETERS = {
    "tolerance": 0.2,
    "constraint": DemographicParity(min_group_size=2),
    "confidence_level": 0.9,
    "run_length": 20,
    "pos_label": "no",
    "delay": 1,
    "value_range": (0.0, 2.0),
    "max_weight": 1.0,
}


def assert_unchanged(monitor, before, error):
    """The monitor's JSON and pickle are those from before an error, and it says something."""
    assert (monitor.to_json(), pickle.dumps(monitor)) == before
    assert str(error.value)


@cache
def update_without_error(make):
    """JSON of a monitor after a call that is right."""
    monitor, call = make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return monitor.update(**call).to_json()


def thrown(make):
    """Names of the wrong calls of `update` for one of the monitors."""
    names = [name for name in WRONG if name not in HARMLESS.get(make, set())]
    return [(make, name) for name in names]


CASES = [case for make in MONITORS for case in thrown(make)]


@pytest.mark.covering(0)
@pytest.mark.parametrize(("make", "name"), CASES, ids=lambda one: getattr(one, "__name__", one))
def test_a_wrong_update_leaves_the_state_and_the_next_one_goes_on(make, name):
    monitor, call = make()
    before = monitor.to_json(), pickle.dumps(monitor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError)) as error:
            monitor.update(**call | WRONG[name])
        assert_unchanged(monitor, before, error)
        monitor.update(**call)
    assert monitor.to_json() == update_without_error(make)


@pytest.mark.parametrize("make", [outcomes_later, monitor_with_delay])
@pytest.mark.parametrize("name", WRONG_OUTCOMES)
def test_wrong_outcomes_leave_the_state(make, name):
    monitor, _ = make()
    ids, y_true, time = WRONG_OUTCOMES[name]
    before = monitor.to_json(), pickle.dumps(monitor)
    with pytest.raises((ValueError, TypeError)) as error:
        monitor.update_labels(ids, y_true, time=time)
    assert_unchanged(monitor, before, error)
    assert monitor.update_labels([3], [1]).summary()["n_outstanding"].iloc[-1] in (1, 8)


@pytest.mark.parametrize("name", WRONG_PARAMETERS)
def test_a_parameter_that_changes_is_named_and_may_be_set_back(name):
    monitor, call = monitor_without_outcomes()
    before = (monitor.to_json(), pickle.dumps(monitor))
    value = getattr(monitor, name)
    monitor.set_params(**{name: WRONG_PARAMETERS[name]})
    with pytest.raises(ValueError, match=f"{name}=") as error:
        monitor.update(**call)
    assert_unchanged(monitor.set_params(**{name: value}), before, error)
    assert len(monitor.update(**call).summary()) == 3


def test_at_least_one_hundred_errors_are_thrown():
    assert len(CASES) + 2 * len(WRONG_OUTCOMES) + len(WRONG_PARAMETERS) >= 100


def test_labels_of_outstanding_samples_are_checked_when_they_come():
    monitor = GapMonitor("equalized_odds", 0.1, delay=5)
    monitor.update([0, 1, 0], [0, 1, 1], sensitive_features=[0, 1, 1], time=0)
    with pytest.raises(TypeError, match="sensitive_features"):
        monitor.update([0, 1, 0], [0, 1, 1], sensitive_features=["0", "1", "1"], time=1)
    for time in (5, 6, 7, 100):
        monitor.update([0, 1], [0, 1], sensitive_features=[0, 1], time=time)
    assert set(monitor.to_frame()["group"]) == {0, 1}


def test_a_constraint_changed_in_place_is_a_change_too():
    constraint = DemographicParity()
    monitor = GapMonitor(constraint, 0.1).update(None, DECISIONS, sensitive_features=SEX)
    constraint.min_group_size = 50
    with pytest.raises(ValueError, match="must not change"):
        monitor.update(None, DECISIONS, sensitive_features=SEX)
    monitor.set_params(constraint=DemographicParity()).update(
        None, DECISIONS, sensitive_features=SEX
    )
    assert len(monitor.summary()) == 2


def test_a_warning_that_is_an_error_leaves_the_state():
    monitor, call = monitor_without_outcomes()
    before = monitor.to_json(), pickle.dumps(monitor)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="did not occur .*: 'c'") as error:
            monitor.update(**call | {"sensitive_features": list("abcc")})
    assert_unchanged(monitor, before, error)


def test_an_interrupt_leaves_the_state(monkeypatch):
    monitor, call = monitor_with_delay()
    before = monitor.to_json(), pickle.dumps(monitor)

    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("skfair.monitoring._state.judge", interrupt)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(KeyboardInterrupt):
            monitor.update(**call)
    assert (monitor.to_json(), pickle.dumps(monitor)) == before
