"""Write ``doc/sklearn.inv``: names of scikit-learn with the addresses of their pages, for links.

``python doc/sklearn_objects.py`` reads the installed version, so that a build needs no network. The
file has the format of Sphinx' ``objects.inv``, version 2.
"""

import zlib
from importlib import import_module
from pathlib import Path

import sklearn
from sklearn.utils import Bunch
from sklearn.utils.discovery import all_displays, all_estimators, all_functions

INVENTORY = Path(__file__).parent / "sklearn.inv"
HEAD = """# Sphinx inventory version 2
# Project: scikit-learn
# Version: {version}
# The remainder of this file is compressed using zlib.
"""


def find_module(name, thing):
    """The shortest module from which a class or function is imported."""
    path = thing.__module__.split(".")
    modules = (".".join(path[:n]) for n in range(1, len(path) + 1))
    return next(one for one in modules if getattr(import_module(one), name, None) is thing)


def list_objects():
    """Lines of the inventory: name, role, priority, address relative to the site, title."""
    for role, pairs in (
        ("class", [*all_estimators(), *all_displays(), ("Bunch", Bunch)]),
        ("function", all_functions()),
    ):
        for name, thing in sorted(pairs):
            path = f"{find_module(name, thing)}.{name}"
            yield f"{path} py:{role} 1 modules/generated/{path}.html#$ -\n"


if __name__ == "__main__":
    lines = "".join(list_objects())
    head = HEAD.format(version=sklearn.__version__)
    INVENTORY.write_bytes(head.encode() + zlib.compress(lines.encode(), 9))
