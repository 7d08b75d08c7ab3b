"""Docstrings of classes and metrics lead to a section of the guide."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import skfair

HOME = Path(__file__).parents[1]
LINK = re.compile(r"Read more in the :ref:`guide <(\w+)>`\.")


def list_documented():
    """Yield names and docstrings of the public classes, metrics and functions of audits."""
    for module in pkgutil.iter_modules(skfair.__path__):
        if module.name.startswith("_") or module.name == "torch":
            continue
        public = importlib.import_module(f"skfair.{module.name}")
        for name in getattr(public, "__all__", ()):
            entry = getattr(public, name)
            measures = inspect.isfunction(entry) and module.name in ("audit", "metrics")
            if inspect.isclass(entry) or measures:
                yield f"{module.name}.{name}", entry.__doc__


DOCSTRINGS = dict(list_documented())
LABELS = {
    label
    for page in HOME.glob("doc/*.rst")
    for label in re.findall(r"^\.\. _(\w+):$", page.read_text(encoding="utf-8"), flags=re.M)
}


@pytest.mark.parametrize("name", DOCSTRINGS)
def test_a_docstring_leads_to_one_section_of_the_guide(name):
    labels = LINK.findall(DOCSTRINGS[name])
    assert len(labels) == 1
    assert labels[0] in LABELS


def test_classes_that_need_pytorch_lead_to_the_guide():
    sources = "".join(path.read_text(encoding="utf-8") for path in HOME.glob("skfair/torch/*.py"))
    public = re.search(r"__all__ = \[(.*?)\]", sources, flags=re.S)[1]
    classes = re.findall(r'"([A-Z]\w+)"', public)
    assert classes
    for name in classes:
        docstring = re.search(rf'^class {name}\b.*?"""(.*?)"""', sources, flags=re.M | re.S)[1]
        assert LINK.findall(docstring) == ["networks"], name
