import inspect
from importlib.resources import files

from sklearn.base import clone

from skfair.cluster import FairKMeans
from tests.typing_coverage import missing_hints, public_functions


def test_what_lacks_a_hint_is_named():
    def function_with_hints(a: int, *, b: str = "") -> None: ...

    def half(a: int, b) -> None: ...

    def plain(self, a, *rest, **more): ...

    assert missing_hints(function_with_hints) == []
    assert missing_hints(half) == ["b"]
    assert missing_hints(plain) == ["a", "rest", "more", "return"]


def test_every_public_callable_has_hints():
    missing = {name: missing_hints(function) for name, function in public_functions().items()}
    assert {name: names for name, names in missing.items() if names} == {}


def test_parameters_and_defaults_of_estimators_are_those_of_the_signature():
    model = FairKMeans(n_clusters=3, min_balance=None)
    assert clone(model).get_params() == model.get_params()
    signature = inspect.signature(FairKMeans)
    defaults = {name: one.default for name, one in signature.parameters.items()}
    assert FairKMeans().get_params() == defaults


def test_functions_constructors_and_inherited_methods_are_public():
    names = set(public_functions())
    assert {"skfair.warm_up", f"{FairKMeans.__module__}.FairKMeans.__init__"} <= names
    assert any(name.endswith(".fit") for name in names)
    last = {name.rsplit(".", 1)[-1] for name in names}
    assert not {name for name in last if name.startswith("_") and not name.startswith("__")}


def test_the_installed_package_declares_its_hints():
    assert files("skfair").joinpath("py.typed").is_file()
