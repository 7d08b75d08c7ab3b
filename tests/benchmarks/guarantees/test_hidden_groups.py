"""Redraws of the benchmark of groups that are recorded in part."""

import numpy as np
import pytest

from benchmarks.guarantees import hidden_groups


@pytest.mark.parametrize("mechanism", hidden_groups.MECHANISMS)
def test_records_have_the_share_and_depend_on_what_is_stated(mechanism):
    samples = hidden_groups.population("generated").take(np.arange(40_000))
    is_recorded = hidden_groups.draw_records(samples, 0.2, mechanism, np.random.default_rng(0))
    assert is_recorded.mean() == pytest.approx(0.2, abs=0.01)
    by_decision = [is_recorded[samples.decisions == d].mean() for d in (0, 1)]
    assert (np.ptp(by_decision) > 0.02) == (mechanism != hidden_groups.MECHANISMS[0])


def test_limits_of_a_block_of_redraws():
    record = hidden_groups.redraw("generated", 0.5, hidden_groups.MECHANISMS[1], 0)
    assert set(record) == {
        f"{rate}, {g}" for rate in ("all", "positives") for g in (1.0, 2.7, "inf")
    }
    hits, widths = np.array(record["all, 1.0"]).T
    assert hits.mean() >= 0.8 and widths.max() < np.array(record["all, inf"])[:, 1].min()


def test_a_model_of_missing_groups_narrows_the_gap():
    record = hidden_groups.fit_parts("generated", 0.2, hidden_groups.MECHANISMS[1], 0)
    gaps = {fit: gap for fit, (gap, _) in record.items()}
    assert gaps["at random"] < gaps["no constraint"] / 2


@pytest.mark.parametrize("statement", hidden_groups.STATEMENTS)
def test_limits_of_probabilities(statement):
    record = hidden_groups.redraw_probabilities("generated", statement, 0.2, 0)
    assert np.mean([hit for hit, _ in record["all"]]) >= 0.8


def test_fits_to_probabilities_narrow_the_gap_where_their_assumption_holds():
    record = hidden_groups.fit_probable("generated", 0)
    gaps = {fit: gap for fit, (gap, _) in record.items()}
    assert gaps["independent"] < 0.7 * gaps["no constraint"]
    assert gaps["independent"] < gaps["sufficient"] <= gaps["no constraint"]
