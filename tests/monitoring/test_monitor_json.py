"""Monitors as JSON: round trips, and texts that are damaged."""

import json
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from skfair.constraints import BoundedGroupLoss, DemographicParity, LossParity
from skfair.monitoring import GapMonitor
from skfair.monitoring._monitor import seal


def stored_monitor():
    """A monitor with alarms, late outcomes, dates and several attributes, as parsed JSON."""
    constraint = DemographicParity(attributes="each")
    monitor = GapMonitor(constraint, 0.1, run_length=5, max_weight=2.0)
    rng = np.random.default_rng(0)
    for month in range(1, 4):
        table = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "age": rng.integers(2, size=300)})
        decisions = (table["sex"] == "f").astype(int)
        monitor.update(None, decisions, sensitive_features=table, time=f"2026-{month:02d}-01")
    assert len(monitor.alarms_)
    return json.loads(monitor.to_json())


def outstanding_monitor():
    """A monitor of cohorts with and without outcomes, as parsed JSON."""
    monitor = GapMonitor("equalized_odds", 0.1, delay=pd.Timedelta("90 days"))
    call = {"sensitive_features": list("ab"), "time": pd.Timestamp("2026-01-01")}
    monitor.update(None, [1, 0], ids=["u", "v"], **call)
    monitor.update([1, 1], [1, 0], **call)
    return json.loads(monitor.to_json())


def objects(node):
    """All objects of parsed JSON with fields by name."""
    if isinstance(node, list):
        for one in node:
            yield from objects(one)
    elif isinstance(node, dict):
        if isinstance(node.get("value"), dict):
            yield node["value"]
        for one in node.values():
            yield from objects(one)


def seal_text(text):
    """Text in JSON with its digest, so that the fields are read."""
    return json.dumps(seal(json.loads(text)))


def scalars(node, path=()):
    """Paths of all numbers, texts and nulls of parsed JSON."""
    if isinstance(node, dict | list):
        entries = node.items() if isinstance(node, dict) else enumerate(node)
        for key, one in entries:
            yield from scalars(one, (*path, key))
    else:
        yield path


STORED = stored_monitor()
N_FIELDS = sum(len(one) for one in objects(STORED))


def test_a_monitor_before_its_first_batch_has_json_too():
    monitor = GapMonitor("demographic_parity", 0.1, delay="3 days", value_range=(0, 2))
    again = GapMonitor.from_json(monitor.to_json())
    assert again.get_params() == monitor.get_params() and not hasattr(again, "verdict_")


@pytest.mark.parametrize("stored", [STORED, outstanding_monitor()])
def test_json_is_read_and_written_to_the_same_text(stored):
    text = json.dumps(stored)
    monitor = GapMonitor.from_json(text)
    assert monitor.to_json() == text
    json.loads(text, parse_constant=pytest.fail)  # no Infinity or NaN, which are not JSON


@pytest.mark.covering(0)
@pytest.mark.parametrize("number", range(N_FIELDS))
def test_a_missing_field_is_named_at_any_depth(number):
    damaged = json.loads(json.dumps(STORED))
    fields = [(one, name) for one in objects(damaged) for name in one]
    content, name = fields[number]
    del content[name]
    with pytest.raises(ValueError, match=f"must have the fields .*{name}"):
        GapMonitor.from_json(json.dumps(seal(damaged)))


@pytest.mark.parametrize("name", STORED["content"])
def test_a_missing_field_of_the_content_is_named(name):
    damaged = json.loads(json.dumps(STORED))
    del damaged["content"][name]
    with pytest.raises(ValueError, match=f"fields {name} in content"):
        GapMonitor.from_json(json.dumps(seal(damaged)))


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('"shape": [2, 3, 2]', '"shape": [2, 3, 3]', "windows .*damaged"),
        ('"dtype": "float64"', '"dtype": "no"', "damaged"),
        ('"type": "State"', '"type": "Stat"', "must name classes of skfair.constraints"),
        ('"type": "array"', '"kind": "array"', "damaged"),
        ('"constraint": {', '"constraint": 5, "other": {', None),
    ],
)
def test_a_damaged_field_is_named(old, new, match):
    text = json.dumps(STORED)
    assert old in text
    if match is None:
        monitor = GapMonitor.from_json(seal_text(text.replace(old, new, 1)))
        with pytest.raises(ValueError, match="constraint must be"):
            monitor.update(None, [1, 0], sensitive_features=[["f", 0], ["m", 1]])
        return
    with pytest.raises(ValueError, match=match):
        GapMonitor.from_json(seal_text(text.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[]", '"format": "skfair.GapMonitor", as GapMonitor.to_json returns it'),
        ("{", "it is not JSON"),
        ("monitor.json", "read_text"),
        ('{"format": "skfair.FairnessReport", "version": 1}', "this is other JSON"),
        ('{"format": "skfair.GapMonitor"}', "version None"),
        ('{"format": "skfair.GapMonitor", "version": 6, "content": {}}', "version 6"),
        ('{"format": "skfair.GapMonitor", "version": 10, "content": {}}', "constraint, delay"),
        ('{"format": "skfair.GapMonitor", "version": 10}', "must have the fields"),
    ],
)
def test_json_of_something_else_is_refused(text, match):
    with pytest.raises(ValueError, match=match):
        GapMonitor.from_json(seal_text(text) if '"version": 10' in text else text)


@pytest.mark.slow
def test_a_change_of_any_value_is_refused():
    paths = list(scalars(STORED))
    for path in paths[:: max(1, len(paths) // 40)]:
        damaged = json.loads(json.dumps(STORED))
        *parents, last = path
        node = damaged
        for key in parents:
            node = node[key]
        for other in (None, 7, "seven"):
            if node[last] == other:
                continue
            unchanged, node[last] = node[last], other
            with pytest.raises(ValueError, match="digest|is other JSON|reads version"):
                GapMonitor.from_json(json.dumps(damaged))
            node[last] = unchanged


def test_text_that_was_cut_is_refused():
    text = json.dumps(STORED)
    for end in range(0, len(text), 97):
        with pytest.raises(ValueError, match="it is not JSON"):
            GapMonitor.from_json(text[:end])


@pytest.mark.parametrize("state", [3, [], {"type": "State", "value": 3}])
def test_a_state_that_is_none_is_refused(state):
    damaged = json.loads(json.dumps(STORED))
    damaged["content"]["state"] = state
    with pytest.raises(ValueError, match="state"):
        GapMonitor.from_json(json.dumps(seal(damaged)))


def test_a_callable_has_no_json():
    with pytest.raises(ValueError, match="pickle"):
        GapMonitor(LossParity(loss=lambda scores, target: None), 0.1).to_json()


@pytest.mark.parametrize("unit", [pd.Timedelta, np.timedelta64])
def test_json_keeps_a_delay_that_is_a_time_span(unit):
    monitor = GapMonitor("error_rate_parity", 0.2, delay=unit(90, "D"))
    monitor.update([1, 1], [1, 0], sensitive_features=list("ab"), time="2026-01-01")
    monitor = GapMonitor.from_json(monitor.to_json())
    assert monitor.delay == unit(90, "D")
    assert (
        monitor.update(None, [], sensitive_features=[], time="2026-04-01")
        .summary()["n_outstanding"]
        .iloc[-1]
        == 0
    )


def test_objects_have_the_fields_that_are_written():
    # Attributes that were added without a field would be lost.
    monitor = GapMonitor(BoundedGroupLoss(0.5, loss="absolute"), 0.5)
    rng = np.random.default_rng(0)
    monitor.update(
        rng.integers(2, size=100), rng.random(100), sensitive_features=rng.integers(2, size=100)
    )
    comparison = monitor._state.comparisons["group"]
    for one in (comparison, comparison.gap, comparison.cells["all"], monitor._state.outstanding):
        assert list(vars(one)) and set(vars(one)) == set(type(one).__annotations__)


@pytest.mark.parametrize(
    "labels",
    [
        [date(2020, 1, 1), date(2021, 1, 1)],
        [datetime(2020, 1, 1, 5), datetime(2021, 1, 1)],
        [pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2021-01-01", tz="UTC")],
        [np.datetime64("2020-01-01"), np.datetime64("2021-01-01")],
        [pd.Period("2020-01", "M"), pd.Period("2021-01", "M")],
        [timedelta(days=1), timedelta(hours=5)],
        [pd.Timedelta(1, "D"), pd.Timedelta(2, "h")],
    ],
)
def test_groups_that_are_dates_go_on_after_a_file(labels):
    column = np.empty((80, 1), dtype=object)
    column[:, 0] = labels * 40
    decisions = np.tile([1, 0, 0, 1], 20)
    first = GapMonitor("demographic_parity", 0.2).update(None, decisions, sensitive_features=column)
    resumed = GapMonitor.from_json(first.to_json())
    for monitor in (first, resumed):
        monitor.update(None, decisions, sensitive_features=column)
    assert sorted(resumed.to_frame()["group"].unique()) == sorted(labels)
    pd.testing.assert_frame_equal(resumed.summary(), first.summary())
