"""Hints of public callables can be read at run time, as tools for documents and forms do."""

import inspect
from functools import cached_property
from importlib import import_module
from typing import get_type_hints

import pytest

from skfair._names import SUBMODULES


def plain_function(member):
    """The function of a method, class method, property or decorated function; None of others."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, cached_property):
        member = member.func
    member = inspect.unwrap(getattr(member, "__func__", member))
    return member if inspect.isfunction(member) else None


def list_callables(module):
    """Public functions, classes, constructors and public methods of a module, by name."""
    for name in module.__all__:
        thing = getattr(module, name)
        if not isinstance(thing, type):
            if callable(thing):
                yield name, inspect.unwrap(thing)
            continue
        yield name, thing
        for attribute in dir(thing):
            if not attribute.startswith("_") or attribute in ("__init__", "__call__"):
                function = plain_function(inspect.getattr_static(thing, attribute))
                if function is not None:
                    yield f"{name}.{attribute}", function


@pytest.mark.parametrize("name", SUBMODULES)
def test_hints_can_be_read(name):
    callables = dict(list_callables(import_module(f"skfair.{name}")))
    assert callables
    unread = {}
    for path, thing in callables.items():
        if not thing.__module__.startswith("skfair"):
            continue  # of scikit-learn or Python
        try:
            get_type_hints(thing)
        except NameError as error:
            unread[path] = f"{thing.__module__} has no {error.name!r} at run time"
    assert unread == {}, "import these names outside of `if TYPE_CHECKING`"


def test_a_name_for_type_checkers_alone_is_found():
    def function(X: "NoSuchName") -> None: ...  # noqa: F821

    with pytest.raises(NameError):
        get_type_hints(plain_function(staticmethod(function)))
