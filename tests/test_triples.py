"""A sample of the rows that contain all triples of settings of a fit; see `tests.triples`."""

from itertools import combinations, product

import pytest

from tests.triples import FACTORS, FORBIDDEN, ROWS, check_row

SAMPLE = [
    next(one for one in ROWS if one["change"] == change and one["estimator"] == estimator)
    for change, estimator in zip(
        FACTORS["change"], ["known", "linear", "fitted", "column", "known", "linear"], strict=True
    )
]
"""A row for each change."""


def test_rows_contain_all_triples_that_are_allowed():
    present = {
        frozenset(one) for row in ROWS for one in combinations(sorted(row.items(), key=str), 3)
    }
    refused = [frozenset(pair) for pair in FORBIDDEN]
    for row in ROWS:
        assert not any(pair <= set(row.items()) for pair in refused)
    for names in combinations(FACTORS, 3):
        for values in product(*(FACTORS[name] for name in names)):
            triple = frozenset(zip(names, values, strict=True))
            assert triple in present or any(pair <= triple for pair in refused)


@pytest.mark.parametrize("row", SAMPLE, ids=lambda row: "-".join(map(str, row.values())))
def test_changes_that_may_not_matter_do_not(row):
    check_row(row)
