"""Numbers of reports, certificates, changes and subgroups are those that were stored."""

import json

import pytest

from tests.audit import stored_results


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", (3, 9))
def test_numbers_are_the_stored_ones(seed):
    _check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", (0, 1, 2, 4, 5, 6, 7, 8))
def test_numbers_of_further_data_are_the_stored_ones(seed):
    _check(seed)


def _check(seed):
    """Compare texts and masks exactly, and sums of numbers up to rounding."""
    stored = json.loads(stored_results.FILE.read_text())[str(seed)]
    computed = stored_results.compute([seed])[str(seed)]
    assert sorted(computed) == sorted(stored)
    for name, (total, digest, is_number) in stored.items():
        if is_number:
            assert computed[name][0] == pytest.approx(total, rel=1e-7, abs=1e-9), name
        else:
            assert computed[name][1] == digest, name
