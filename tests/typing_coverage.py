"""Type hints of the public interface: ``python -m tests.typing_coverage`` prints what lacks one."""

import functools
import importlib.util
import inspect

import skfair


def main():
    """Print every public callable that lacks hints, what of it lacks them, and the counts."""
    functions = public_functions()
    missing = {name: unannotated(function) for name, function in functions.items()}
    lacking = {name: names for name, names in missing.items() if names}
    for name, names in sorted(lacking.items()):
        print(f"{name}: {', '.join(names)}")
    print(f"{len(lacking)} of {len(functions)} public callables lack type hints")


def public_functions():
    """Functions in ``__all__`` of the modules and methods of their classes, by place of definition.

    Inherited methods count once; what other packages or the standard library define does not.
    """
    modules = [skfair, *map(_import, skfair.__all__)]
    exported = {id(one): one for module in filter(None, modules) for one in _exports(module)}
    functions = {}
    for one in exported.values():
        for function in _methods(one) if isinstance(one, type) else [one]:
            if inspect.isfunction(function) and function.__module__.startswith("skfair"):
                functions[f"{function.__module__}.{function.__qualname__}"] = function
    return functions


def _import(name):
    full_name = f"skfair.{name}"
    return importlib.import_module(full_name) if importlib.util.find_spec(full_name) else None


def _exports(module):
    return [getattr(module, name) for name in getattr(module, "__all__", ())]


def _methods(cls):
    """Constructor, calls, public methods and properties of a class and its bases."""
    for base in cls.__mro__:
        for name, attribute in vars(base).items():
            if name in ("__init__", "__call__") or not name.startswith("_"):
                yield inspect.unwrap(_function(attribute))


def _function(attribute):
    if isinstance(attribute, property):
        return attribute.fget
    if isinstance(attribute, functools.cached_property):
        return attribute.func
    return getattr(attribute, "__func__", attribute)


def unannotated(function):
    """Names of the parameters without a hint, and "return" where that lacks one."""
    parameters = inspect.signature(function).parameters.values()
    missing = [
        one.name
        for one in parameters
        if one.annotation is one.empty and one.name not in ("self", "cls")
    ]
    lacks_return = "return" not in function.__annotations__ and function.__name__ != "__init__"
    return missing + ["return"] * lacks_return


if __name__ == "__main__":
    main()
