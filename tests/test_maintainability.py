"""The package stays readable. Counts are a report: ``python -m tests.maintainability``."""

from tests import density, maintainability, words

MAX_LARGE_CLASSES = 6
"""Classes with more own members than `maintainability.MANY_MEMBERS`; no commit raises it."""


MAX_UNTYPED_SHARE = 0.04
"""Share of functions with parameters that state neither types nor a table; no commit raises it."""

MAX_ANY_SHARE = 0.03
"""Share of parameters that are `Any` or `object`; no commit raises it."""


def test_a_budget_that_is_exceeded_is_named(monkeypatch):
    monkeypatch.setattr(maintainability, "MAX_TOKENS", 1000)
    monkeypatch.setattr(maintainability, "file_lengths", lambda: {"skfair/long.py": 1001})
    assert maintainability.exceeded_budgets(2003) == [
        "The package has 1,003 tokens more than its budget of 1,000.",
        "skfair/long.py has 1001 lines, but a module has at most 1,000.",
    ]


def test_few_classes_have_many_members():
    names = maintainability.large_classes()
    assert len(names) <= MAX_LARGE_CLASSES, (
        f"{names}: let another noun own a fact, and move what needs no state into functions"
    )


def test_a_name_is_defined_in_one_module():
    assert set(maintainability.names_used_twice()) == set()


def test_no_code_depends_on_the_class_of_groups():
    assert maintainability.group_switches() == []


def test_no_client_depends_on_the_class_of_a_constraint():
    assert maintainability.constraint_switches() == []


def test_questions_for_the_class_of_a_constraint_are_found(tmp_path, monkeypatch):
    path = tmp_path / "client.py"
    path.write_text("isinstance(one, MinimumRate | constraints.MaximumRate)\nisinstance(one, int)")
    monkeypatch.setattr(maintainability, "FILES", [path])
    monkeypatch.setattr(maintainability, "describe", lambda path: path.name)
    assert maintainability.constraint_switches() == ["client.py:1"]


def test_private_functions_have_docstrings_without_tables():
    assert list(words.parameter_tables(words.PACKAGE)) == []


def test_functions_state_the_types_of_their_parameters():
    trees = density.leave_kernels_out(dict(maintainability.trees()))
    untyped, bare = density.typing_shares(trees)
    assert untyped <= MAX_UNTYPED_SHARE
    assert bare <= MAX_ANY_SHARE
