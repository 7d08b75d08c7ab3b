"""``python -m tests.versions_added`` records the public names of the first release.

A public name that is not among them states in its docstring since which version it exists.
"""

import importlib
import inspect
import re
from pathlib import Path

import skfair
from skfair._names import SUBMODULES

FIRST = (0, 1)
"""Version of which the docstrings say nothing: every name of the record is as old."""

RECORD = Path(__file__).with_name("names_of_0_1.txt")


def public_docstrings():
    """Docstrings by public name, in the order of names."""
    things = {name: getattr(skfair, name) for name in ("show_versions", "warm_up")}
    for submodule in SUBMODULES:
        module = importlib.import_module(f"skfair.{submodule}")
        things |= {name: getattr(module, name) for name in module.__all__}
    return {name: inspect.getdoc(things[name]) or "" for name in sorted(things)}


def parse_version(text):
    """Major and minor number."""
    return tuple(int(number) for number in text.split(".")[:2])


def problems(version, docstrings, recorded):
    """Sentences on names whose docstring lacks its version, or states an impossible one."""
    current = parse_version(version)
    for name, docstring in docstrings.items():
        stated = re.findall(r"^ *\.\. versionadded:: (\S+)", docstring, flags=re.MULTILINE)
        wrong = [one for one in stated if not FIRST < parse_version(one) <= current]
        if wrong:
            yield f"{name}: versionadded must be above 0.1 and at most {version}, not {wrong}."
        if current > FIRST and name not in recorded and not stated:
            yield f"{name} is not of version 0.1: state '.. versionadded:: {version}'."
    if current == FIRST and {*docstrings} != {*recorded}:
        yield (
            f"{RECORD.name} must have the public names of 0.1, but differs in "
            f"{sorted({*docstrings} ^ {*recorded})}: run `python -m tests.versions_added`."
        )


if __name__ == "__main__":
    RECORD.write_text("\n".join([*public_docstrings(), ""]), encoding="utf-8")
