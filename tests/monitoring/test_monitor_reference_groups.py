"""GapMonitor of constraints on one side of a reference group."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skfair.constraints import DemographicParity, EqualizedOdds
from skfair.monitoring import GapMonitor

BELOW = {"reference": {"group": "b"}, "direction": "below", "tolerance": 0.1}
ABOVE = BELOW | {"direction": "above"}


def draw(rng, rates, size):
    """Decisions and a table of groups a, b, ... with these rates and this mean size."""
    groups = rng.choice([*"abcd"[: len(rates)]], size * len(rates))
    chances = np.array(rates)[np.unique(groups, return_inverse=True)[1]]
    return (rng.random(len(groups)) < chances).astype(int), pd.DataFrame({"group": groups})


def read(constraint, rates, n_batches, size=150, seed=0, **settings):
    """A monitor that has read so many batches, all decisions, and their groups."""
    rng = np.random.default_rng(seed)
    monitor = GapMonitor(constraint, **settings)
    batches = [draw(rng, rates, size) for _ in range(n_batches)]
    for decisions, table in batches:
        monitor.update(None, decisions, sensitive_features=table)
    decisions = np.concatenate([one for one, _ in batches])
    return monitor, decisions, pd.concat([one for _, one in batches])["group"].to_numpy()


@pytest.mark.parametrize("direction", ["below", "above"])
def test_gaps_are_those_of_numpy(direction):
    constraint = DemographicParity(**BELOW | {"direction": direction, "tolerance": 0.6})
    monitor, decisions, groups = read(constraint, (0.3, 0.5, 0.9), 3, run_length=20)

    def gap(size):
        a, b, c = (decisions[:size][groups[:size] == one].mean() for one in "abc")
        return b - a if direction == "below" else c - b

    assert monitor.interval().estimate == pytest.approx(gap(None))
    assert monitor.windows_["gap"].iloc[1] == pytest.approx(gap(None))
    assert monitor.summary()["batch_gap"].iloc[0] == pytest.approx(gap(450))
    names = [name for name, *_ in monitor.windows_["extremes"].iloc[1]]
    assert names == (["a", "b"] if direction == "below" else ["b", "c"])
    assert monitor.batches_to_alarm_ is None


def test_only_one_side_is_bounded():
    rates = (0.8, 0.5, 0.48)
    assert read(DemographicParity(**BELOW), rates, 12)[0].verdict_ == "shown"
    assert read(DemographicParity(**ABOVE), rates, 12)[0].verdict_ == "contradicted"
    assert read(DemographicParity(tolerance=0.1), rates, 12)[0].verdict_ == "contradicted"
    assert read(DemographicParity(**BELOW), rates[::-1], 12)[0].verdict_ == "shown"
    assert read(DemographicParity(**BELOW), (0.2, 0.5, 0.5), 12)[0].verdict_ == "contradicted"


def test_the_reference_may_come_later_and_has_to_be_large_enough():
    rng = np.random.default_rng(0)
    monitor = GapMonitor(DemographicParity(**BELOW))
    decisions, table = draw(rng, (0.2, 0.5, 0.5), 200)
    others = table["group"] != "b"
    monitor.update(None, decisions[others], sensitive_features=table[others])
    assert monitor.interval().estimate == 0.0
    with_ten = others | (np.cumsum(~others) <= 10)
    monitor.update(None, decisions[with_ten], sensitive_features=table[with_ten])
    assert monitor.interval().estimate == 0.0
    assert monitor.left_out_ == ["b"]
    monitor.update(None, decisions, sensitive_features=table)
    assert monitor.interval().estimate > 0.2
    frame = monitor.to_frame()
    assert {*frame["group"]} == {"a", "b", "c"}


def test_each_attribute_has_a_reference_and_files_keep_it():
    rng = np.random.default_rng(0)
    constraint = EqualizedOdds(
        reference={"sex": "m", "race": "y"}, direction="below", tolerance=0.1, attributes="each"
    )
    monitor = GapMonitor(constraint)
    table = pd.DataFrame({"sex": rng.choice([*"fm"], 900), "race": rng.choice([*"xyz"], 900)})
    y = rng.integers(2, size=900)
    decisions = (rng.random(900) < np.where(table["race"] == "x", 0.9, 0.5)).astype(int)
    monitor.update(y, decisions, sensitive_features=table)

    def shortfall(name, reference):
        return max(
            decisions[cell & (table[name] == reference)].mean()
            - min(decisions[cell & (table[name] == one)].mean() for one in table[name].unique())
            for cell in (y == 0, y == 1)
        )

    gap = max(shortfall("sex", "m"), shortfall("race", "y"))
    assert monitor.interval().estimate == pytest.approx(gap)
    restored = GapMonitor.from_json(monitor.to_json())
    for one in (monitor, restored):
        one.update(y, decisions, sensitive_features=table[["race", "sex"]][table.columns])
    pd.testing.assert_frame_equal(restored.summary(), monitor.summary())
    # Of intersections the reference is one of them.
    joint = GapMonitor(constraint.set_params(attributes="intersections"))
    joint.update(y, decisions, sensitive_features=table)
    joined = table["sex"] + table["race"]
    gap = max(
        decisions[cell & (joined == "my")].mean()
        - min(decisions[cell & (joined == one)].mean() for one in joined.unique())
        for cell in (y == 0, y == 1)
    )
    assert joint.interval().estimate == pytest.approx(gap)


def test_attributes_are_those_of_the_reference():
    decisions, table = draw(np.random.default_rng(0), (0.5, 0.5), 100)
    with pytest.raises(ValueError, match="one label for each attribute, which are 'sex'"):
        GapMonitor(DemographicParity(**BELOW)).update(
            None, decisions, sensitive_features=table.rename(columns={"group": "sex"})
        )


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["below", "above"])
def test_on_the_edge_false_statements_are_rare(direction):
    # All other groups differ by just the tolerance, one of them on the side that is not bounded.
    constraint = DemographicParity(**BELOW | {"direction": direction})
    rates = (0.4, 0.5, 0.4, 0.8) if direction == "below" else (0.6, 0.5, 0.6, 0.2)
    n_draws = 30
    certified = 0
    exceeded = 0
    wrong = 0
    for seed in range(n_draws):
        summary = read(constraint, rates, 12, size=100, seed=seed)[0].summary()
        certified += (summary["verdict"] == "shown").any()
        exceeded += (summary["verdict"] == "contradicted").any()
        wrong += ((summary["low"] > 0.1 + 1e-9) | (summary["high"] < 0.1 - 1e-9)).any()
    limit = stats.binom.isf(1e-2, n_draws, 0.05)
    assert max(certified, exceeded, wrong) <= limit


@pytest.mark.slow
def test_false_alarms_come_once_in_a_run_length():
    n_streams, n_batches, run_length = 7, 60, 20
    n_alarms = 0
    for seed in range(n_streams):
        monitor, *_ = read(
            DemographicParity(**BELOW), (0.4, 0.5, 0.8), n_batches, 60, seed, run_length=run_length
        )
        n_alarms += len(monitor.alarms_)
    # Alarms are about Poisson, 21 of them at most on average.
    assert n_alarms <= stats.poisson.isf(1e-2, n_streams * n_batches / run_length)
