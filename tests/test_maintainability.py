"""The package stays readable. Counts are a report: ``python -m tests.maintainability``."""

from tests import maintainability, words


def test_a_class_name_means_one_thing():
    assert set(maintainability.names_used_twice()) == set()


def test_no_subpackage_imports_a_private_module_of_another():
    """A subpackage exports in its `__init__` what others need."""
    assert maintainability.private_imports() == []


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
