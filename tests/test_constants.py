"""What ``python -m tests.constants`` varies, reads and compares."""

import ast

import numpy as np
import pandas as pd
import pytest

from skfair.groups import _groups
from skfair.monitoring import _batches
from tests import constants
from tests.constants import Constant

LIMIT = Constant("skfair.groups._groups", "MAX_NUMERIC_GROUPS")


@pytest.mark.parametrize(
    ("value", "doubled", "halved"),
    [(30, 60, 15), (1, 2, 1), (-1, -2, 0), (0.3, 0.6, 0.15), (-708.0, -1416.0, -354.0)],
)
def test_integers_are_rounded_and_positive_ones_stay_positive(value, doubled, halved):
    assert [constants.scale(value, factor) for factor in constants.FACTORS] == [doubled, halved]


@pytest.mark.parametrize(
    ("expression", "number"),
    [("1 << 16", [65536]), ("-1e-9", [-1e-9]), ("True", []), ("X // 2", []), ("(1, 2)", [])],
)
def test_numbers_are_expressions_of_literals(expression, number):
    assert constants._number(ast.parse(expression, mode="eval").body) == number


@pytest.fixture(scope="module")
def readers():
    return constants.find_readers([LIMIT])


def test_every_module_that_imports_a_constant_has_its_value_for_a_while(readers):
    places = readers.holders[LIMIT]
    assert {module for module, _ in places} >= {_groups.__name__, _batches.__name__}
    with constants.assign(places, 7):
        assert _groups.MAX_NUMERIC_GROUPS == _batches.MAX_NUMERIC_GROUPS == 7
    assert _groups.MAX_NUMERIC_GROUPS == _batches.MAX_NUMERIC_GROUPS == 30


def test_lines_that_read_a_constant_are_traced(readers):
    groups = _groups.check_groups([1, 2] * 3, 6)
    with constants.trace(readers.lines) as read:
        len(groups.names)
    assert not read
    with constants.trace(readers.lines) as read:
        _groups.refuse_continuous_attributes(groups)
    assert read == {LIMIT}


def test_changes_are_relative_to_the_size_of_what_changes():
    before = constants.leaves({"cost": np.array([1.0, 4.0]), "table": pd.DataFrame({"a": [1, 2]})})
    after = constants.leaves({"cost": np.array([1.0, 5.0]), "table": pd.DataFrame({"a": [1, 3]})})
    assert constants.changes(before, before) == {}
    assert constants.changes(before, after) == {".cost": 0.25, ".table.a": np.inf}
    assert constants.changes(before, {}) == dict.fromkeys(before, np.inf)


def test_the_last_bit_of_a_public_attribute_counts():
    class Model:
        def __init__(self, coef):
            self.coef_ = coef
            self._state = coef

    one, other = (constants.leaves([Model(coef)]) for coef in (1.0, np.nextafter(1.0, 2.0)))
    assert list(one) == [".0.coef_"]
    assert 0.0 < constants.changes(one, other)[".0.coef_"] < 1e-15
