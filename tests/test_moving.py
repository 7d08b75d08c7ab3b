"""The page that translates names of other packages: each line of its tables."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import sklearn.metrics

import skfair
from skfair.classification import ConstrainedERMClassifier

PAGE = (Path(__file__).parents[1] / "doc" / "moving.rst").read_text(encoding="utf-8")
ROLE = re.compile(r":(?:class|func):`~(skfair\.[\w.]+)`")
LITERAL = re.compile(r"``(.+?)``")


def read_tables():
    """The package of each line, its names there, and what they are here."""
    lines = []
    for table in PAGE.split(".. list-table::")[1:]:
        title, *rows = re.findall(
            r"^   \* - (.*?)^     - (.*?)(?=^   \*|^\S|\Z)", table, re.M | re.S
        )
        for names, here in rows:
            here = " ".join(here.split())
            lines.append((title[0].strip(), LITERAL.findall(" ".join(names.split())), here))
    return lines


LINES = read_tables()
NAMES = {
    title: {name for t, names, _ in LINES if t == title for name in names} for title, *_ in LINES
}


def make_namespace():
    """Public names of skfair and of scikit-learn's metrics, and the arrays of the page."""
    rng = np.random.default_rng(0)
    namespace = dict(vars(sklearn.metrics))
    for module in ("classification", "constraints", "metrics"):
        namespace |= vars(importlib.import_module(f"skfair.{module}"))
    y_proba = rng.uniform(0.1, 0.9, 200)
    return namespace | {
        "y_true": rng.integers(2, size=200),
        "y_pred": (y_proba > 0.5).astype(int),
        "y_proba": y_proba,
        "group": rng.choice(["a", "b"], 200),
        "b": 0.05,
    }


NAMESPACE = make_namespace()


def resolve(name):
    """The object of a role."""
    thing = skfair
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


def calls_in(here):
    """Literals that are calls with all arguments written out."""
    return [code for code in LITERAL.findall(here) if "(" in code and "..." not in code]


def test_all_tables_are_read():
    assert len({title for title, *_ in LINES}) == 5
    assert len(LINES) > 80
    assert all(names and here for _, names, here in LINES)


@pytest.mark.parametrize("here", [here for *_, here in LINES if "not offered" not in here])
def test_a_line_names_something_that_exists(here):
    things = [resolve(name) for name in ROLE.findall(here) if not name.startswith("skfair.torch.")]
    keywords = [code for code in LITERAL.findall(here) if re.match(r"\w+=", code)]
    assert things or LITERAL.findall(here) or here == "the same"
    for code in keywords:
        name = code.partition("=")[0]
        takers = [*things, ConstrainedERMClassifier]
        assert any(name in inspect.signature(one).parameters for one in takers), code


@pytest.mark.parametrize("code", sorted({code for *_, here in LINES for code in calls_in(here)}))
def test_a_call_works(code):
    if ast.unparse(ast.parse(code)).endswith("()"):
        return
    shortened = code.replace("DemographicParity(difference_bound=b)", "b")  # of the other package
    eval(shortened, NAMESPACE)


def test_every_public_name_of_fairlearn_is_listed():
    names = set()
    for module in (
        *("metrics", "reductions", "postprocessing", "preprocessing", "adversarial", "datasets"),
    ):
        try:
            names |= {*importlib.import_module(f"fairlearn.{module}").__all__}
        except ImportError:
            pytest.skip("fairlearn is not installed")
    others = {"AIF360", "OxonFair", "Aequitas"}
    listed = set().union(*(names for title, names in NAMES.items() if title not in others))
    assert names <= listed, sorted(names - listed)


@pytest.mark.parametrize(
    "theirs, ours",
    [
        (name, ROLE.findall(here)[0])
        for title, names, here in LINES
        if title == "fairlearn.metrics" and "metrics." in here.partition("`~")[2][:15]
        for name in names
        if name.endswith(("_difference", "_ratio")) and here.startswith(":func:`~skfair.metrics.")
    ],
)
def test_metrics_of_a_line_are_equal(theirs, ours):
    metrics = pytest.importorskip("fairlearn.metrics")
    y_true, y_pred, group = (NAMESPACE[name] for name in ("y_true", "y_pred", "group"))
    expected = getattr(metrics, theirs)(y_true, y_pred, sensitive_features=group)
    assert resolve(ours)(y_true, y_pred, sensitive_features=group) == pytest.approx(expected)
