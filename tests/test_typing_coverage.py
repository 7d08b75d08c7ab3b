from importlib.resources import files

from skfair.cluster import FairKMeans
from tests.typing_coverage import public_functions, unannotated


def test_what_lacks_a_hint_is_named():
    def annotated(a: int, *, b: str = "") -> None: ...

    def half(a: int, b) -> None: ...

    def plain(self, a, *rest, **more): ...

    assert unannotated(annotated) == []
    assert unannotated(half) == ["b"]
    assert unannotated(plain) == ["a", "rest", "more", "return"]


def test_functions_constructors_and_inherited_methods_are_public():
    names = set(public_functions())
    assert {"skfair.warm_up", f"{FairKMeans.__module__}.FairKMeans.__init__"} <= names
    assert any(name.endswith(".fit") for name in names)
    last = {name.rsplit(".", 1)[-1] for name in names}
    assert not {name for name in last if name.startswith("_") and not name.startswith("__")}


def test_the_installed_package_says_that_it_has_hints():
    assert files("skfair").joinpath("py.typed").is_file()
