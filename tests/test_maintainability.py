"""The package stays readable: few nouns, short functions, plain words."""

from tests import maintainability, words


def test_a_function_has_at_most_45_lines_of_code():
    long = {name for name, n in maintainability.function_lengths().items() if n > 45}
    assert long == set()


def test_a_class_name_means_one_thing():
    assert set(maintainability.names_used_twice()) == set()


def test_no_subpackage_imports_a_private_module_of_another():
    """A subpackage exports in its `__init__` what others need."""
    assert maintainability.private_imports() == []


def test_no_code_depends_on_the_class_of_groups():
    assert maintainability.group_switches() == []


def test_records_are_few():
    n_records = len(maintainability.records()) + len(maintainability.storing_classes())
    assert n_records <= 70


def test_constraints_have_few_methods():
    for name in ("BoundConstraint", "BoundPartialParity", "ConstraintSystem"):
        assert len(maintainability.methods_of(name)) <= 14


def test_algorithms_have_comments():
    lines = maintainability.line_kinds()
    advice = "comment the steps of the algorithms that you add, where they happen"
    assert lines["comment"] >= 0.035 * lines["code"], advice


def test_private_functions_have_docstrings_without_tables():
    assert list(words.parameter_tables(words.PACKAGE)) == []
