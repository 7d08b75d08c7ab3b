"""Public submodules, and errors that say which of them has a name."""

from __future__ import annotations

import ast
import builtins
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


SUBMODULES = (
    "audit",
    "callbacks",
    "classification",
    "cluster",
    "conformal",
    "constraints",
    "datasets",
    "exceptions",
    "losses",
    "metrics",
    "model_selection",
    "monitoring",
    "groups",
    "plotting",
    "preprocessing",
    "ranking",
    "regression",
    "solvers",
    "statistics",
    "surrogates",
    "torch",
)
"""Submodules of the package that users import from."""


def refuse_unknown_names(module: str) -> Callable:
    """Make the ``__getattr__`` of a public module, which Python calls for names that it lacks."""

    def __getattr__(name: str) -> None:
        raise AttributeError(describe_missing(module, name))

    return __getattr__


def describe_missing(module: str, name: str) -> str:
    """The message of a module that lacks a name, and where the name is if it is public."""
    message = f"module {module!r} has no attribute {name!r}"
    # Python itself asks modules for names of builtins, as dataclasses do for annotations.
    is_searched = not name.startswith("_") and not hasattr(builtins, name)
    homes = [f"skfair.{home}" for home in _find_homes(name)] if is_searched else []
    if homes:
        message += f": {name} is in {homes[0]}: from {homes[0]} import {name}"
    return message


def _find_homes(name: str) -> Any:
    """Submodules that list a public name."""
    return [submodule for submodule in SUBMODULES if name in _read_names(submodule)]


@cache
def _read_names(submodule):
    """Public names of a submodule; its source is read, since imports take seconds."""
    name = f"skfair.{submodule}"
    try:  # an archive has sources too, and compiled files alone have none
        source = find_spec(name).loader.get_source(name) or ""
    except (AttributeError, ImportError, OSError):
        source = ""
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__":
            return ast.literal_eval(statement.value)
    return ()
