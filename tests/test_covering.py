"""The cases that `make test` runs of tests with many parameters."""

from functools import partial
from itertools import combinations, product

import pytest

from tests.covering import cover

VALUES = {"loss": ["log", "squared"], "groups": [[2], [3], [4]], "seed": [0, 1, 2, 3]}
CASES = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]


@pytest.mark.parametrize("strength, most", [(1, 4), (2, 15), (3, 24), (9, 24)])
def test_values_of_so_many_parameters_meet(strength, most):
    chosen = [CASES[i] for i in cover(CASES, strength)]
    for names in combinations(VALUES, min(strength, 3)):
        met = [[case[name] for name in names] for case in chosen]
        assert all(
            list(combination) in met for combination in product(*(VALUES[name] for name in names))
        )
    assert len(chosen) <= most


def test_all_cases_of_one_parameter_are_chosen():
    assert sorted(cover([{"seed": seed} for seed in range(5)], 2)) == [0, 1, 2, 3, 4]


def test_a_cover_of_strength_zero_is_one_case():
    assert cover([{"seed": seed} for seed in range(5)], 0) == [0]


def test_partial_functions_of_one_function_are_one_value():
    checks = [partial(check, name) for check in (min, max) for name in "abc"]
    assert cover([{"check": check} for check in checks], 1) == [0, 3]
