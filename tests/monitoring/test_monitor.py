"""GapMonitor: what it counts, what it refuses, and that its state is never lost."""

import pickle
import warnings
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skfair.constraints import (
    BoundedGroupLoss,
    Constraint,
    DemographicParity,
    LossParity,
    MeanParity,
    RangeGap,
)
from skfair.losses import Pointwise
from skfair.monitoring import GapMonitor


def draw(rng, n, rates=(0.3, 0.3), names="abcdef"):
    """Decisions of groups with these selection rates."""
    codes = rng.integers(len(rates), size=n)
    decisions = (rng.random(n) < np.asarray(rates)[codes]).astype(int)
    return decisions, np.array(list(names))[codes]


def make_monitor(rates, n_batches=8, n=500, tolerance=0.1, seed=0, **params):
    rng = np.random.default_rng(seed)
    monitor = GapMonitor("demographic_parity", tolerance)
    monitor.set_params(**params)
    for _ in range(n_batches):
        decisions, groups = draw(rng, n, rates)
        monitor.update(None, decisions, sensitive_features=groups)
    return monitor


def same(first, second):
    """Whether two monitors have the same state, to the last bit."""
    return first.to_json() == second.to_json()


def test_equal_rates_are_certified_and_different_ones_raise_an_alarm():
    assert make_monitor((0.3, 0.3)).verdict_ == "shown"
    monitor = make_monitor((0.5, 0.3))
    assert monitor.verdict_ == "contradicted" and monitor.summary()["was_exceeded"].iloc[-1]
    assert monitor.summary()["evidence_against"].iloc[-1] >= 20
    assert make_monitor((0.3, 0.2), n_batches=2).verdict_ == "open"


def test_the_frames_have_what_was_counted():
    monitor = GapMonitor("demographic_parity", 0.2, min_group_size=1)
    monitor.update(None, [1, 1, 0, 0, 1], sensitive_features=list("aaabb"), time="2026-01-01")
    monitor.update(None, [0, 1, 0], sensitive_features=list("bab"), time="2026-02-01")
    frame = monitor.to_frame()
    assert frame["n"].tolist() == [3, 2, 1, 2]
    np.testing.assert_allclose(frame["estimate"], [2 / 3, 1 / 2, 1.0, 0.0])
    assert frame["time"].iloc[-1] == pd.Timestamp("2026-02-01")
    summary = monitor.summary()
    np.testing.assert_allclose(summary["batch_gap"], [2 / 3 - 1 / 2, 1.0])
    np.testing.assert_allclose(summary["gap"], [2 / 3 - 1 / 2, 3 / 4 - 1 / 4])
    assert monitor.interval().estimate == pytest.approx(0.5)
    assert summary["n"].tolist() == [5, 3]


def test_the_interval_contains_the_gap_and_shrinks():
    monitor = make_monitor((0.4, 0.3), n_batches=20, tolerance=0.25)
    summary = monitor.summary()
    assert ((summary["low"] <= 0.1) & (summary["high"] >= 0.1)).all()
    assert summary["high"].iloc[-1] < 0.15 < summary["high"].iloc[0]
    assert (summary["high"].diff().dropna() <= 0).all()


def test_interval_and_verdict_need_a_batch():
    with pytest.raises(NotFittedError):
        GapMonitor("demographic_parity", 0.1).interval()


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_the_order_of_samples_in_a_batch_does_not_matter(seed, is_weighted, has_values):
    rng = np.random.default_rng(seed)
    constraint = MeanParity() if has_values else DemographicParity()
    one, other = GapMonitor(constraint, 0.1), GapMonitor(constraint, 0.1)
    for _ in range(3):
        decisions, groups = draw(rng, 80, (0.5, 0.3, 0.1))
        values = np.round(rng.random(80), 2) if has_values else decisions
        weights = rng.random(80) if is_weighted else np.ones(80)
        order = rng.permutation(80)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one.update(None, values, sensitive_features=groups, sample_weight=weights)
            other.update(
                None, values[order], sensitive_features=groups[order], sample_weight=weights[order]
            )
    assert same(one, other)


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from(["json", "pickle"]))
def test_a_monitor_that_is_stored_after_each_batch_goes_on_equally(seed, how):
    rng = np.random.default_rng(seed)
    params = {"delay": 2, "run_length": 50}
    one = GapMonitor("error_rate_parity", 0.1, **params)
    other = clone(one)
    for time in range(5):
        decisions, groups = draw(rng, 30)
        ids = [f"{time}-{i}" for i in range(30)]
        for monitor in (one, other):
            monitor.update(None, decisions, sensitive_features=groups, time=time, ids=ids)
            monitor.update_labels(ids, 1 - decisions if time % 2 else decisions)
        if how == "json":
            other = GapMonitor.from_json(other.to_json())
        else:
            other = pickle.loads(pickle.dumps(other))
    assert same(one, other)
    pd.testing.assert_frame_equal(one.summary(), other.summary())


@pytest.mark.slow
def test_skops_stores_a_monitor():
    skops = pytest.importorskip("skops.io")
    monitor = make_monitor((0.3, 0.2), n_batches=2)
    stored = skops.dumps(monitor)
    restored = skops.loads(stored, trusted=skops.get_untrusted_types(data=stored))
    assert same(monitor, restored)


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore:Groups that did not occur in earlier batches")
@pytest.mark.parametrize("size", [1, 10])
def test_small_batches_have_the_evidence_of_blocks_of_twenty(size):
    rng = np.random.default_rng(0)
    small, blocks = (GapMonitor("demographic_parity", 0.1, run_length=None) for _ in range(2))
    decisions, groups = draw(rng, 400, (0.9, 0.1))
    for monitor, n_samples in ((small, size), (blocks, 20)):
        for start in range(0, 400, n_samples):
            rows = slice(start, start + n_samples)
            monitor.update(None, decisions[rows], sensitive_features=groups[rows])
    assert small.verdict_ == "contradicted"
    assert (
        small.summary()["evidence_against"].iloc[-1]
        == blocks.summary()["evidence_against"].iloc[-1]
    )


def test_parameters_may_not_change_after_the_first_batch():
    monitor = GapMonitor("demographic_parity", 0.1)
    monitor.update(None, [1, 0], sensitive_features=["a", "b"]).set_params(tolerance=0.2)
    with pytest.raises(ValueError, match="must not change"):
        monitor.update(None, [1, 0], sensitive_features=["a", "b"])


@pytest.mark.parametrize(
    ("y_pred", "groups", "weights"),
    [([], ["a"], None), ([1, 0], ["a", "b"], [0, 0, 0]), (None, ["a"], None), (1, ["a"], None)],
)
def test_inputs_of_unequal_lengths_are_refused_even_without_samples(y_pred, groups, weights):
    monitor = GapMonitor("demographic_parity", 0.1)
    with pytest.raises((ValueError, TypeError)):
        monitor.update(None, y_pred, sensitive_features=groups, sample_weight=weights)
    assert not hasattr(monitor, "verdict_")


def test_a_large_first_batch_counts_as_its_samples_would_in_several():
    rng = np.random.default_rng(0)
    decisions, groups = draw(rng, 6000)
    monitor = GapMonitor("demographic_parity", 0.1)
    assert monitor.update(None, decisions, sensitive_features=groups).verdict_ == "shown"


@pytest.mark.slow
def test_a_change_raises_the_alarm_and_names_its_time():
    rng = np.random.default_rng(1)
    monitor = GapMonitor("demographic_parity", 0.05, run_length=500)
    alarms = []
    for time in range(60):
        decisions, groups = draw(rng, 400, (0.4, 0.4 if time < 30 else 0.2))
        monitor.update(None, decisions, sensitive_features=groups, time=time)
        if monitor.verdict_ == "contradicted":
            alarms.append(time)
            assert 28 <= monitor.since_ <= time
    assert alarms and 30 <= alarms[0] <= 40
    # The detector restarts after each alarm, and so does the interval.
    assert len(alarms) >= 3
    assert monitor.summary()["low"].max() > 0.05 and monitor.interval().low > 0
    assert monitor.interval().estimate == pytest.approx(0.2, abs=0.05)


def test_rates_that_change_together_are_no_alarm():
    rng = np.random.default_rng(2)
    monitor = GapMonitor("demographic_parity", 0.05)
    for time in range(60):
        rate = 0.5 + 0.4 * np.sin(time / 4)
        decisions, groups = draw(rng, 200 + 100 * (time % 3), (rate, rate))
        monitor.update(None, decisions, sensitive_features=groups)
    assert monitor.verdict_ != "contradicted"


@pytest.mark.slow
def test_a_model_that_is_far_within_the_tolerance_raises_no_alarm_after_the_run_length():
    rng = np.random.default_rng(3)
    monitor = GapMonitor("demographic_parity", 0.2, run_length=10)
    for _ in range(60):
        decisions, groups = draw(rng, 400, (0.4, 0.4))
        monitor.update(None, decisions, sensitive_features=groups)
    assert monitor.verdict_ == "shown" and not len(monitor.alarms_)


def test_three_groups_with_unequal_odds_raise_an_alarm_about_one_class():
    rng = np.random.default_rng(3)
    monitor = GapMonitor("equalized_odds", 0.1)
    for _ in range(10):
        groups, y_true = rng.integers(3, size=600), rng.integers(2, size=600)
        rate = np.where(y_true == 1, 0.6, np.where(groups == 2, 0.5, 0.2))
        monitor.update(y_true, (rng.random(600) < rate).astype(int), sensitive_features=groups)
    assert monitor.verdict_ == "contradicted"
    rates = monitor.to_frame().groupby(["event", "group"])["estimate"].mean()
    assert rates["negatives", 2] > 0.4 > rates["negatives", 0]


def test_each_attribute_is_compared_by_itself():
    rng = np.random.default_rng(4)
    monitor = GapMonitor(DemographicParity(attributes="each"), 0.1)
    for _ in range(10):
        table = pd.DataFrame({"sex": rng.choice(["f", "m"], 600), "age": rng.integers(3, size=600)})
        rate = np.where(table["sex"] == "f", 0.5, 0.2)
        monitor.update(None, (rng.random(600) < rate).astype(int), sensitive_features=table)
    assert monitor.verdict_ == "contradicted"
    assert set(monitor.to_frame()["attribute"]) == {"sex", "age"}
    intersections = GapMonitor("demographic_parity", 0.1)
    intersections.update(None, [0, 1], sensitive_features=[["f", 1], ["m", 2]])
    assert intersections.to_frame()["group"].tolist() == [("f", 1), ("m", 2)]


def test_equal_attributes_without_times_raise_an_alarm_together():
    decisions = np.repeat([0, 1], 500)
    table = pd.DataFrame({"one": np.repeat(["a", "b"], 500), "two": np.repeat(["c", "d"], 500)})
    monitor = GapMonitor(DemographicParity(attributes="each"), 0.1)
    monitor.update(None, decisions, sensitive_features=table)
    assert monitor.verdict_ == "contradicted"
    assert monitor.alarms_.to_dict("records") == [{"batch": 1, "time": None, "since": None}]


def test_data_of_dask_are_loaded():
    dd = pytest.importorskip("dask.dataframe")
    decisions, groups = draw(np.random.default_rng(0), 500)
    table = pd.DataFrame({"decision": decisions, "sex": groups, "weight": 1.0, "y": 1})
    lazy = dd.from_pandas(table, npartitions=3)
    one, other = GapMonitor("equalized_odds", 0.1), GapMonitor("equalized_odds", 0.1)
    for monitor, data in ((one, table), (other, lazy)):
        monitor.update(
            data["y"],
            data["decision"],
            sensitive_features=data["sex"],
            sample_weight=data["weight"],
        )
        monitor.update(None, data["decision"], sensitive_features=data[["sex"]], ids=data.index)
        monitor.update_labels(data.index, data["y"])
    assert same(one, other) and one.summary()["n_outstanding"].iloc[-1] == 0


def test_columns_may_come_in_another_order_but_not_others():
    table = pd.DataFrame({"sex": ["f", "m", "f"], "age": [1, 1, 2]})
    one, other = GapMonitor("demographic_parity", 0.1), GapMonitor("demographic_parity", 0.1)
    for _ in range(2):
        one.update(None, [1, 0, 1], sensitive_features=table)
    other.update(None, [1, 0, 1], sensitive_features=table)
    other.update(None, [1, 0, 1], sensitive_features=table[["age", "sex"]])
    assert same(one, other)
    with pytest.raises(ValueError, match="first batch"):
        one.update(None, [1, 0, 1], sensitive_features=table.rename(columns={"age": "race"}))
    with pytest.raises(ValueError, match="first batch"):
        one.update(None, [1, 0, 1], sensitive_features=table["sex"])


def test_strata_are_compared_within():
    rng = np.random.default_rng(5)
    monitor = GapMonitor(DemographicParity(control_features=0), 0.1)
    for _ in range(10):
        X = rng.integers(2, size=(800, 1))
        groups = rng.choice(["a", "b"], 800)
        rate = np.where(X[:, 0] == 0, 0.2, 0.6)
        decisions = (rng.random(800) < rate).astype(int)
        monitor.update(None, decisions, sensitive_features=groups, X=X)
    assert monitor.verdict_ == "shown"
    assert set(monitor.to_frame()["event"]) == {"stratum 0", "stratum 1"}


def test_bounded_losses_and_means_keep_their_units():
    rng = np.random.default_rng(6)

    def square(scores, target):
        return Pointwise((scores - target) ** 2, 2 * (scores - target), 2 * np.ones(len(scores)))

    monitor = GapMonitor(BoundedGroupLoss(3.0, loss=square), 3.0, value_range=(0.0, 9.0))
    means = GapMonitor("mean_parity", 2.0, value_range=(-5.0, 5.0))
    for _ in range(10):
        y = rng.uniform(-1, 1, 500)
        groups = rng.choice(["a", "b"], 500)
        predicted = y + rng.uniform(-1, 1, 500)
        monitor.update(y, predicted, sensitive_features=groups)
        means.update(None, predicted, sensitive_features=groups)
    assert monitor.verdict_ == means.verdict_ == "shown"
    assert monitor.interval().estimate == pytest.approx(1 / 3, abs=0.05)
    assert monitor.interval().high < 3.0 and means.interval().high < 2.5
    with pytest.raises(ValueError, match="value_range"):
        means.update(None, [7.0, 0.0], sensitive_features=["a", "b"])


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (False, True), ("no", "yes")])
def test_squared_errors_of_classes_are_those_of_the_metric(labels):
    rng = np.random.default_rng(8)
    y = rng.integers(2, size=2000)
    groups = rng.choice(["a", "b"], 2000)
    scores = np.clip(y + rng.normal(size=2000) * (1 + (groups == "a")), -3.0, 3.0)
    square = (scores - np.where(y == 1, 1.0, -1.0)) ** 2
    by_hand = abs(square[groups == "a"].mean() - square[groups == "b"].mean())
    monitor = GapMonitor(
        LossParity(loss="squared"),
        1.0,
        value_range=(0.0, 16.0),
        pos_label="yes" if "yes" in labels else None,
    )
    monitor.update(np.asarray(labels)[y], scores, sensitive_features=groups)
    assert monitor.summary()["gap"].item() == pytest.approx(by_hand)


@pytest.mark.parametrize("name", ["mean_parity", "squared", "absolute"])
def test_predicted_numbers_come_with_real_outcomes(name):
    rng = np.random.default_rng(9)
    y = rng.uniform(0, 3, 2000)
    groups = rng.choice(["a", "b"], 2000)
    predicted = y + rng.uniform(-1, 1, 2000) + (groups == "a")
    constraint = name if name == "mean_parity" else LossParity(loss=name)
    values = {
        "mean_parity": predicted,
        "squared": (predicted - y) ** 2,
        "absolute": np.abs(predicted - y),
    }[name]
    by_hand = abs(values[groups == "a"].mean() - values[groups == "b"].mean())
    monitor = GapMonitor(constraint, 0.5, value_range=(-1.0, 6.0))
    monitor.update(y, predicted, sensitive_features=groups)
    assert monitor.summary()["gap"].item() == pytest.approx(by_hand)


class CustomRange(RangeGap):
    """A range by another rule, of which monitors know nothing."""


class CustomParity(DemographicParity):
    """Compares selection rates by it."""

    gap = CustomRange


def test_gaps_of_ones_own_are_not_taken_for_their_parents():
    with pytest.raises(ValueError, match="got CustomParity.*whose gap is CustomRange"):
        GapMonitor(CustomParity(), 0.1).update(None, [1, 0], sensitive_features=["a", "b"])


def test_weights_count_samples_of_the_weighted_population():
    # Half of those selected in group a were drawn with half the probability.
    rng = np.random.default_rng(7)
    monitor = GapMonitor("demographic_parity", 0.1, max_weight=2.0)
    for _ in range(20):
        decisions, groups = draw(rng, 600, (0.4, 0.25))
        weights = np.where((groups == "a") & (decisions == 1), 0.5, 1.0)  # .2 / .8 = .25
        monitor.update(None, decisions, sensitive_features=groups, sample_weight=weights)
    assert monitor.verdict_ == "shown"
    assert monitor.interval().estimate < 0.06
    with pytest.raises(ValueError, match="max_weight"):
        monitor.update(None, [1, 0], sensitive_features=["a", "b"], sample_weight=[3.0, 0.5])


def test_samples_of_weight_zero_and_empty_batches_are_absent():
    one, other = GapMonitor("demographic_parity", 0.1), GapMonitor("demographic_parity", 0.1)
    one.update(None, [1, 0, 1], sensitive_features=["a", "b", "c"], sample_weight=[1, 1, 0])
    other.update(None, [1, 0], sensitive_features=["a", "b"])
    assert same(one, other)
    evidence = one.summary()["evidence_for"].iloc[-1], one.summary()["evidence_against"].iloc[-1]
    one.update(None, [], sensitive_features=[])
    assert (
        one.summary()["evidence_for"].iloc[-1],
        one.summary()["evidence_against"].iloc[-1],
    ) == evidence
    assert len(one.summary()) == 2 and np.isnan(one.summary()["batch_gap"].iloc[-1])


def test_the_first_batch_may_be_empty_or_without_a_group():
    monitor = GapMonitor("demographic_parity", 0.1)
    assert monitor.update(None, [], sensitive_features=[]).verdict_ == "open"
    monitor.update(None, [1], sensitive_features=["a"])
    assert monitor.verdict_ == "open" and monitor.interval().high == 1.0


def test_a_group_that_joins_is_named_and_a_missing_one_is_no_matter():
    monitor = make_monitor((0.3, 0.3), min_group_size=1)
    assert monitor.verdict_ == "shown"
    with pytest.warns(UserWarning, match="did not occur .*: 'c'. A cert"):
        monitor.update(None, [1, 0, 1], sensitive_features=["a", "b", "c"])
    assert monitor.verdict_ == "open"  # nothing is known of c
    monitor.update(None, [1, 0], sensitive_features=["a", "a"])
    with pytest.raises(TypeError, match="one type|one kind"):
        monitor.update(None, [1, 0], sensitive_features=[1, 2])


def test_a_mistyped_group_does_not_end_the_certificate_of_a_constraint_by_name():
    monitor = make_monitor((0.3, 0.3))
    gap = monitor.interval()
    with pytest.warns(UserWarning, match="did not occur .* once they have 30 samples: 's'"):
        monitor.update(None, [1, 0, 1], sensitive_features=["s", "a", "b"])
    assert monitor.verdict_ == "shown"
    assert monitor.interval().high == gap.high
    assert np.isnan(monitor.summary()["batch_gap"].iloc[-1]) and monitor.left_out_ == ["s"]
    decisions, groups = draw(np.random.default_rng(0), 120, (0.3, 0.3, 0.9), "abs")
    monitor.update(None, decisions, sensitive_features=groups)
    assert (groups == "s").sum() >= 30 and monitor.verdict_ == "contradicted"


def test_small_groups_are_compared_when_they_have_enough_samples():
    monitor = GapMonitor(DemographicParity(min_group_size=20), 0.15)
    rng = np.random.default_rng(8)
    for _ in range(6):
        decisions, groups = draw(rng, 500)
        monitor.update(None, np.append(decisions, [1]), sensitive_features=np.append(groups, ["z"]))
    assert monitor.verdict_ == "shown"


@pytest.mark.parametrize("attributes", ["intersections", "each"])
def test_names_and_order_of_columns_decide_nothing(attributes):
    rng = np.random.default_rng(1)
    months = [rng.integers([2, 3, 100], size=(500, 3)) for _ in range(4)]
    summaries = []
    for names in (("sex", "race"), ("race", "sex"), ("a", "b")):
        for order in ([0, 1], [1, 0]):
            monitor = GapMonitor(DemographicParity(attributes=attributes), 0.12, run_length=50)
            for time, month in enumerate(months):
                groups = pd.DataFrame(month[:, :2].astype(str), columns=names)
                rate = np.where((month[:, 0] == 1) & (month[:, 1] == 2), 42, 50)
                decisions = (month[:, 2] < rate).astype(int)
                monitor.update(None, decisions, sensitive_features=groups.iloc[:, order], time=time)
            summaries.append(monitor.summary())
    for summary in summaries[1:]:
        pd.testing.assert_frame_equal(summary, summaries[0], rtol=1e-9)


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("has_equal_groups", [True, False])
def test_names_of_groups_decide_nothing(n_groups, has_equal_groups):
    rng = np.random.default_rng(n_groups)
    batches = [draw(rng, 300, (0.5, 0.45, 0.5)[:n_groups]) for _ in range(3)]
    if has_equal_groups:
        # Groups of the same samples in one batch, after others.
        decisions = np.repeat(rng.integers(2, size=90), n_groups)
        batches[1] = decisions, np.tile(list("abc")[:n_groups], 90)
    summaries = []
    for names in permutations("abc"[:n_groups]):
        renamed = dict(zip("abc", names, strict=False))
        monitor = GapMonitor("demographic_parity", 0.12)
        for decisions, groups in batches:
            labels = [renamed[one] for one in groups]
            monitor.update(None, decisions, sensitive_features=labels)
        summaries.append(monitor.summary())
    for summary in summaries[1:]:
        pd.testing.assert_frame_equal(summary, summaries[0], rtol=1e-9)


def test_time_may_not_run_backwards_and_the_state_is_kept():
    monitor = GapMonitor("demographic_parity", 0.1)
    monitor.update(None, [1, 0], sensitive_features=["a", "b"], time="2026-02-01")
    stored = monitor.to_json()
    for time, match in [("2026-01-01", "backwards"), (3, "one type"), (None, "every batch")]:
        with pytest.raises(ValueError, match=match):
            monitor.update(None, [1, 0], sensitive_features=["a", "b"], time=time)
    with pytest.raises(ValueError, match="number or a date"):
        monitor.update(None, [1, 0], sensitive_features=["a", "b"], time="soon")
    assert monitor.to_json() == stored
    monitor = GapMonitor("demographic_parity", 0.1)
    monitor.update(None, [1, 0], sensitive_features=["a", "b"])
    with pytest.raises(ValueError, match="every batch"):
        monitor.update(None, [1, 0], sensitive_features=["a", "b"], time=1)


class OverlappingCells(Constraint):
    """Not to be monitored together."""

    def cells(self, samples):
        everything = np.ones(len(samples.target), dtype=bool)
        return {"one": everything, "two": everything}

    def terms(self, surrogate, loss):
        return (lambda scores, target: surrogate(scores),)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"constraint": DemographicParity(reference="overall")}, "largest difference"),
        ({"constraint": DemographicParity(aggregate="sum")}, "largest difference"),
        (
            {
                "constraint": DemographicParity(
                    ratio=0.8, reference={"group": "a"}, direction="below"
                )
            },
            "largest difference",
        ),
        (
            {"constraint": MeanParity(ratio=0.8), "tolerance": None, "value_range": (-1.0, 1.0)},
            "value_range must begin at 0",
        ),
        ({"constraint": "partial_demographic_parity"}, "largest difference"),
        ({"constraint": "no_such_parity"}, "must be one of"),
        ({"constraint": OverlappingCells()}, "disjoint"),
        ({"tolerance": 1.0}, "tolerance"),
        ({"tolerance": -0.1}, "tolerance"),
        ({"confidence_level": 95}, "confidence_level"),
        ({"run_length": 1}, "run_length"),
        ({"run_length": "9"}, "run_length"),
        ({"value_range": (1.0, 0.0)}, "value_range"),
        ({"value_range": None}, "value_range"),
        ({"max_weight": 0.0}, "max_weight"),
        ({"max_weight": np.inf}, "max_weight"),
        ({"delay": 3}, "delay"),
        ({"delay": "90 days"}, "delay"),
    ],
)
def test_parameters_are_checked_with_the_first_batch(params, match):
    monitor = GapMonitor("demographic_parity", 0.1).set_params(**params)
    with pytest.raises(ValueError, match=match):
        monitor.update(None, [1, 0], sensitive_features=["a", "b"])
    assert not hasattr(monitor, "verdict_")


def test_a_class_of_text_needs_a_positive_one():
    with pytest.raises(ValueError, match="pos_label"):
        GapMonitor("demographic_parity", 0.1).update(None, ["yes"], sensitive_features=["a"])
    monitor = GapMonitor("demographic_parity", 0.1, pos_label="yes")
    monitor.update(None, ["no", "no"], sensitive_features=["a", "b"])
    monitor.update(None, ["yes", "no"], sensitive_features=["a", "b"])
    assert monitor.to_frame()["estimate"].tolist() == [0.0, 0.0, 1.0, 0.0]


def read_change(**params):
    """A monitor of rates that are equal for ten batches and then differ by .25 for ten."""
    rng = np.random.default_rng(9)
    monitor = GapMonitor("demographic_parity", 0.1, **params)
    for time in range(20):
        decisions, groups = draw(rng, 1000, (0.4, 0.4 if time < 10 else 0.15))
        monitor.update(None, decisions, sensitive_features=groups, time=time)
    return monitor


def test_an_interval_begins_again_after_an_alarm():
    monitor = read_change(run_length=100)
    summary = monitor.summary()
    first = monitor.alarms_["batch"].iloc[0]
    assert summary["high"].iloc[9] < 0.1 and 11 <= first <= 13
    after = summary[summary["batch"] > first]
    assert after["gap"].to_numpy() == pytest.approx(0.25, abs=0.06)
    assert after["low"].max() > 0.1 and (after["low"] < 0.25).all() and (after["high"] > 0.25).all()


def test_without_run_length_nothing_restarts_and_the_lower_limit_remains_true():
    monitor = read_change(run_length=None)
    assert monitor.verdict_ == "contradicted" and len(monitor.alarms_) == 1
    assert monitor.interval().estimate == pytest.approx(0.125, abs=0.05)  # of all samples
    # The alarm contradicts the upper limit of the first half: rates have changed.
    assert monitor.summary()["high"].iloc[9] < 0.1
    assert 0.1 < monitor.interval().low < 0.25 and monitor.interval().high == 1.0


@pytest.mark.parametrize("run_length", [1000, 100, 20])
def test_the_first_alarm_and_its_date_stay(run_length):
    monitor = read_change(run_length=run_length)
    first = monitor.alarms_.iloc[0]
    assert 9 <= first["since"] <= 11 and 10 <= first["time"] <= 13
    assert monitor.since_ == first["since"]
    assert (monitor.summary()["verdict"] == "contradicted").sum() == len(monitor.alarms_)
    again = GapMonitor.from_json(monitor.to_json())
    pd.testing.assert_frame_equal(again.alarms_, monitor.alarms_)


@pytest.mark.slow
def test_since_moves_on_if_the_tolerance_was_certified_between_two_alarms():
    rng = np.random.default_rng(10)
    monitor = GapMonitor("demographic_parity", 0.1, run_length=20)
    for time in range(60):
        decisions, groups = draw(rng, 2000, (0.4, 0.4 if time % 30 < 15 else 0.1))
        monitor.update(None, decisions, sensitive_features=groups, time=time)
    since = monitor.alarms_["since"]
    assert 14 <= since.iloc[0] <= 16 and 44 <= monitor.since_ <= 46
    assert monitor.since_ == since[since > 40].iloc[0]


@pytest.mark.parametrize("run_length", [None, 20])
def test_shares_of_the_error_add_up_to_it(run_length):
    monitor = GapMonitor("demographic_parity", 0.1, run_length=run_length)
    decisions = np.repeat([0, 1], 500)
    groups = np.repeat(["a", "b"], 500)
    errors = []
    for _ in range(6):
        monitor.update(None, decisions, sensitive_features=groups)
        errors.append(1 / monitor.summary()["evidence_needed"].iloc[-1])
    if run_length is None:
        assert errors == pytest.approx([0.05] * 6)
    else:
        # The gap is 1, so that each batch is an alarm and is followed by a restart.
        assert len(monitor.alarms_) == 6
        shares = [0.9, *(0.1 / (k * (k + 1)) for k in range(1, 6))]
        assert errors == pytest.approx([0.05 * share for share in shares])


def test_the_interval_of_the_largest_gap_is_above_all_levels_that_are_rejected():
    monitor = GapMonitor("demographic_parity", 0.1)
    for _ in range(4):
        monitor.update(
            None, np.repeat([0, 1], 1000), sensitive_features=np.repeat(["a", "b"], 1000)
        )
    assert monitor.interval().low > 0.9 and monitor.interval().high == 1.0


@pytest.mark.slow
def test_monitors_of_few_streams_on_the_edge_raise_no_more_alarms_than_the_level_allows():
    n_streams, alarms, shown = 40, 0, 0
    for seed in range(n_streams):
        rng = np.random.default_rng(seed)
        monitor = GapMonitor("demographic_parity", 0.05)
        verdicts = set()
        for _ in range(30):
            decisions, groups = draw(rng, int(rng.integers(20, 300)), (0.25, 0.2))
            verdicts.add(monitor.update(None, decisions, sensitive_features=groups).verdict_)
        alarms = alarms + ("contradicted" in verdicts)
        shown = shown + ("shown" in verdicts)
    # Binomial limit: of streams that err in .2 of cases, more do with a probability of .92.
    limit = stats.binom.isf(0.05, n_streams, 0.05)
    assert alarms <= limit and shown <= limit
