"""The house stays small: files, functions and nouns that one can keep in mind."""

from tests import house


def test_a_function_has_at_most_45_lines_of_code():
    long = {name for name, n in house.function_lengths().items() if n > 45}
    assert long == set()


def test_a_class_name_means_one_thing():
    assert set(house.names_used_twice()) == set()


def test_no_room_imports_a_private_module_of_another():
    """A room exports in its `__init__` what others need."""
    assert house.private_imports() == []


def test_nobody_asks_of_which_class_groups_are():
    assert house.group_switches() == []


def test_records_are_few():
    assert len(house.records()) <= 76
