"""What users see: one set of public names, few parameters, and a guide that uses each name."""

import ast
import importlib
import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import skfair
from skfair._names import SUBMODULES
from tests import words

HOME = Path(skfair.__file__).parents[1]
MODULES = {name: importlib.import_module(f"skfair.{name}") for name in SUBMODULES}
PUBLIC = {name: getattr(module, name) for module in MODULES.values() for name in module.__all__}
CALLABLES = {name: thing for name, thing in PUBLIC.items() if callable(thing)}


def methods(cls):
    """Public methods of a class that the package defines, by name."""
    for name, method in inspect.getmembers(cls, inspect.isroutine):
        if name[0] != "_" and getattr(method, "__module__", "").startswith("skfair"):
            yield f"{cls.__name__}.{name}", method


FUNCTIONS = {name: thing for name, thing in CALLABLES.items() if not inspect.isclass(thing)}
for _cls in filter(inspect.isclass, CALLABLES.values()):
    FUNCTIONS |= dict(methods(_cls))


def is_record(thing):
    """Whether functions of the package make a class, such as a report, and not its users."""
    return is_dataclass(thing) and all(field.kw_only for field in fields(thing))


def parameters(function):
    """Names that a caller can pass."""
    if is_record(function):
        return set()
    skipped = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        signature = inspect.signature(function)
    except ValueError:  # of a class of Python's own
        return set()
    names = {p.name for p in signature.parameters.values() if p.kind not in skipped}
    return {name for name in names if name != "self" and name[0] != "_"}


def test_each_list_of_public_names_has_the_same():
    """`__all__` of public submodules, `__all__` of any file, and the API reference."""
    stated = {*PUBLIC, "show_versions", "warm_up"}
    everywhere = {
        node.value
        for path in words.PACKAGE
        for statement in words.parse(path).body
        if path.name != "sklearn.py"  # what the package takes from scikit-learn
        and isinstance(statement, ast.Assign)
        and ast.unparse(statement.targets[0]) == "__all__"
        for node in ast.walk(statement.value)
        if isinstance(node, ast.Constant)
    }
    page = (HOME / "doc" / "api" / "index.rst").read_text(encoding="utf-8")
    listed = set(re.findall(r"^(?:   |\.\. data:: )(\w+)$", page, flags=re.MULTILINE))
    assert everywhere - {"__version__"} == listed == stated


@pytest.mark.parametrize(
    "limit, names",
    [
        (172, CALLABLES),  # of which eleven have fairlearn's names of other metrics
        (276, set().union(*map(parameters, [*CALLABLES.values(), *FUNCTIONS.values()]))),
    ],
    ids=["callables", "parameters"],
)
def test_there_are_few_public(limit, names):
    """A commit that adds one shows which other it makes superfluous."""
    assert len(names) <= limit


def test_no_function_takes_more_than_twelve_parameters():
    assert not {name for name, function in FUNCTIONS.items() if len(parameters(function)) > 12}


def test_no_estimator_takes_more_parameters_than_those_of_scikit_learn():
    """MLPClassifier takes 23, SpectralClustering 15; 18 are those, fairness and sizes."""
    estimators = {n: c for n, c in CALLABLES.items() if inspect.isclass(c)}
    wide = {
        name: len(parameters(cls))
        for name, cls in estimators.items()
        if issubclass(cls, BaseEstimator) and len(parameters(cls)) > 18
    }
    assert wide == {}


def test_a_guide_page_uses_each_public_name():
    """In code font, a role or an example; the list of the API does not count."""
    pages = [HOME / "README.md", *(HOME / "doc").glob("*.rst")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    code = re.findall(r"`+[^`]+`+|^(?: {3,}|>>> ).*$", text, flags=re.MULTILINE)
    assert {*PUBLIC} - set(re.findall(r"\w+", "\n".join(code))) == set()


def test_signatures_that_a_question_mark_prints_are_short():
    for name, thing in CALLABLES.items():
        if thing.__module__ == "skfair.exceptions" or is_record(thing):  # no user constructs them
            continue
        is_estimator = inspect.isclass(thing) and issubclass(thing, BaseEstimator)
        assert len(str(inspect.signature(thing))) <= (850 if is_estimator else 600), name
