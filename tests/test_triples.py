"""A sample of the rows that contain all triples of settings of a fit; see `tests.triples`."""

from itertools import combinations, product

import pytest

from tests import front_triples, regression_triples, triples
from tests.changes import name_row

ARRAYS = [triples, regression_triples, front_triples]


def find_row(array, **values):
    """The first row of an array with these values."""
    return next(row for row in array.ROWS if row.items() >= values.items())


SAMPLE = [
    *(
        (triples, find_row(triples, change=change, estimator=estimator, call=call))
        for change, estimator, call in zip(
            triples.FACTORS["change"],
            ["known", "linear", "fitted", "column", "known", "linear"],
            ["fit", "fit", "ladder", "fit", "ladder", "ladder"],
            strict=True,
        )
    ),
    *(
        (regression_triples, find_row(regression_triples, change=change, estimator=estimator))
        for change, estimator in zip(
            regression_triples.FACTORS["change"],
            ["known", "linear", "folds", "fitted", "linear", "known"],
            strict=True,
        )
    ),
    *(
        (front_triples, find_row(front_triples, change=change, estimator="linear"))
        for change in front_triples.FACTORS["change"]
    ),
]
"""A row for each change."""


@pytest.mark.parametrize("array", ARRAYS, ids=lambda one: one.__name__)
def test_rows_contain_all_triples_that_are_allowed(array):
    present = {
        frozenset(one)
        for row in array.ROWS
        for one in combinations(sorted(row.items(), key=str), 3)
    }
    refused = [frozenset(pair) for pair in array.FORBIDDEN]
    for row in array.ROWS:
        assert not any(pair <= set(row.items()) for pair in refused)
    for names in combinations(array.FACTORS, 3):
        for values in product(*(array.FACTORS[name] for name in names)):
            triple = frozenset(zip(names, values, strict=True))
            assert triple in present or any(pair <= triple for pair in refused)


@pytest.mark.parametrize(
    "array, row", [pytest.param(*one, id=f"{one[0].__name__}-{name_row(one[1])}") for one in SAMPLE]
)
def test_changes_that_may_not_matter_do_not(array, row):
    array.check_row(row)
