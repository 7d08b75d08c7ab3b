"""Names looked for in the wrong module lead to the right one, and each stands for one class."""

import ast
import importlib

import pytest

import skfair
from skfair import constraints
from skfair._names import SUBMODULES
from skfair.constraints import Constraint, EqualizedOddsLossParity
from tests import density, maintainability


@pytest.mark.parametrize("home", SUBMODULES)
def test_other_modules_name_the_import_of_a_public_name(home):
    name = importlib.import_module(f"skfair.{home}").__all__[0]
    for module in (skfair, skfair.callbacks):
        if not hasattr(module, name):
            with pytest.raises(AttributeError, match=f"{name} is in skfair.{home}: ") as error:
                getattr(module, name)
            imported = {}
            exec(str(error.value).partition(f"{home}: ")[2], imported)
            assert imported[name] is getattr(importlib.import_module(f"skfair.{home}"), name)


def test_names_of_no_module_have_no_import():
    with pytest.raises(AttributeError, match="^module 'skfair' has no attribute 'FairTree'$"):
        skfair.FairTree  # noqa: B018 - the expression raises
    assert not hasattr(skfair.cluster, "FairTree")


def test_an_import_from_the_wrong_module_has_the_message_of_python():
    with pytest.raises(ImportError, match="cannot import name 'FairKMeans' from 'skfair'"):
        exec("from skfair import FairKMeans")


def test_constraints_are_found_by_the_names_in_files():
    find = constraints.find_constraint_class
    assert find("EqualizedOddsLossParity") is EqualizedOddsLossParity
    assert find("EqualizedOddsLoss") is find("UnscorableSearchError") is None


# What a name of parameters stands for.


ROLES = {
    # By its name, several in a list, and by its base in modules that constraints import.
    "constraint": {"Constraint", "ConstraintName", "str", "list", "tuple", "BaseEstimator"},
    "samples": {"Samples"},
    "start": {"ndarray", "float"},  # a schedule of steps, a setting of solvers, starts at a number
    "events": {"Events"},
    "data": {"TableLike"},
}
"""Names that stood for several classes -> what users and functions pass by this name today."""


def list_arguments(trees):
    """Arguments of all functions, also of those in others."""
    functions = (one for tree in trees for one in density.find_functions(tree))
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
    trees = [tree for _, tree in maintainability.trees()]
    assert {*ROLES} <= {node.arg for node in list_arguments(trees)}
    assert find_other_classes(trees) == {}
