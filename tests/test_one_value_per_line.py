"""Each value has a line of its own, by the rule of ``python -m tests.one_value_per_line``."""

import pytest

from tests import words
from tests.one_value_per_line import FOLDERS, ROOT, find_files, split_pairs


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a, b = f(x), g(y)\n", "a = f(x)\nb = g(y)\n"),
        ("if x:\n    a, b = f(x), 1  # why\n", "if x:\n    # why\n    a = f(x)\n    b = 1\n"),
        ("a, (b, c) = f(x), g(y)\n", "a = f(x)\nb, c = g(y)\n"),
        ("a, b = f(x), (\n    g(y)\n    + 1\n)\n", "a = f(x)\nb = (g(y)\n    + 1)\n"),
        ("self.a, self.b = x, f\n", None),  # names alone
        ("a, b = b, f(a)\n", None),  # the second value reads the first target
        ("a, b = labels[i], labels[j]\n", None),  # the same expression of other names
        ("a, b = f(x), f(y)\n", None),
        ("self.a, b = x[0], f()\n", None),  # the call may read the attribute
        ("a[0], b = f(x), g(y)\n", None),
        ("a, *b = f(x), g(y), z\n", None),
        ("a, b = (\n    f(x),  # one\n    g(y),\n)\n", None),
        ("low, high = -1, self.end\n", None),
    ],
)
def test_pairs_are_split_where_their_values_are_independent(source, expected):
    assert split_pairs(source) == (source if expected is None else expected)


@pytest.mark.slow
def test_each_value_has_a_line_of_its_own():
    pairs = [
        f"{path.relative_to(ROOT)}:{pair.node.lineno}"
        for path in find_files([ROOT / folder for folder in FOLDERS])
        for pair in words.read_facts(path).pairs
    ]
    assert pairs == [], "run `python -m tests.one_value_per_line`, then `ruff format`"
