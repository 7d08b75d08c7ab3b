"""Numbers of reports, certificates, changes and subgroups are those that were stored."""

import json

import pytest

from tests.audit import stored_results


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_numbers_are_the_stored_ones(seed):
    """Texts and masks are compared exactly, and sums of numbers up to rounding."""
    stored = json.loads(stored_results.FILE.read_text())[str(seed)]
    computed = stored_results.compute([seed])[str(seed)]
    assert sorted(computed) == sorted(stored)
    for name, (total, digest, is_number) in stored.items():
        if is_number:
            assert computed[name][0] == pytest.approx(total, rel=1e-7, abs=1e-9), name
        else:
            assert computed[name][1] == digest, name
