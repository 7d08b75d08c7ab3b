"""Constraints are found by name, and each name of a parameter stands for one class."""

import ast

from skfair import constraints
from skfair.constraints import Constraint, EqualizedOddsLossParity
from tests import words


def test_constraints_are_found_by_the_names_in_files():
    find = constraints.find_constraint_class
    assert find("EqualizedOddsLossParity") is EqualizedOddsLossParity
    for exported in vars(constraints).values():
        if isinstance(exported, type) and issubclass(exported, Constraint):
            assert find(exported.__name__) is exported
    assert find("EqualizedOddsLoss") is find("MissingSensitiveFeaturesError") is None


# What a name of parameters stands for.


ROLES = {
    # By its name, several in a list, and by its base in modules that constraints import.
    "constraint": {
        "Constraint",
        "ConstraintLike",
        "ConstraintName",
        "str",
        "list",
        "tuple",
        "BaseEstimator",
    },
    "samples": {"Samples"},
    "start": {"ndarray", "float"},  # a schedule of steps, a setting of solvers, starts at a number
    "events": {"Events"},
    "data": {"TableLike"},
}
"""Names that stood for several classes -> what users and functions pass by this name today."""


def list_arguments(trees):
    """Arguments of all functions, also of those in others."""
    statements = (one for tree in trees for one in words.walk_statements(tree))
    functions = (one for one in statements if isinstance(one, ast.FunctionDef))
    nodes = (node for one in functions for node in ast.walk(one.args))
    return [node for node in nodes if isinstance(node, ast.arg)]


def find_other_classes(trees):
    """Parameters with a name of `ROLES` that are annotated by other classes: name -> those."""
    others = {}
    for node in list_arguments(trees):
        if node.arg in ROLES and node.annotation is not None:
            others.setdefault(node.arg, set()).update(_classes(node.annotation) - ROLES[node.arg])
    return {name: classes for name, classes in others.items() if classes}


def _classes(annotation):
    """Names of the classes of a union, without None and Any; subclasses count as their base."""
    if isinstance(annotation, ast.BinOp):
        return _classes(annotation.left) | _classes(annotation.right)
    if isinstance(annotation, ast.Subscript):
        return _classes(annotation.value)
    name = ast.unparse(annotation).split(".")[-1]
    cls = getattr(constraints, name, None)
    is_constraint = isinstance(cls, type) and issubclass(cls, Constraint)
    return {"Constraint" if is_constraint else name} - {"None", "Any"}


def test_a_parameter_of_another_class_is_found():
    text = """
def fit(constraint: str | ExposureParity | None, start: np.ndarray, data: Any): ...
def check(constraint: BoundConstraint, start: int | None, *, data: dict[str, TableLike], x): ...
"""
    others = {"constraint": {"BoundConstraint"}, "start": {"int"}, "data": {"dict"}}
    assert find_other_classes([ast.parse(text)]) == others


def test_each_name_of_parameters_stands_for_one_class():
    trees = [*map(words.parse, words.PACKAGE)]
    assert {*ROLES} <= {node.arg for node in list_arguments(trees)}
    assert find_other_classes(trees) == {}
