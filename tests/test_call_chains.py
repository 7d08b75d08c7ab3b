"""What ``python -m tests.call_chains`` counts."""

from pathlib import Path

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from tests import call_chains

SOURCE = """
class Outer:
    @property
    def squares(self):
        return [number**2 for number in range(3)]

    def made_inside(self):
        class Inner:
            def run(self):
                return sum(number for number in range(3))

        return Inner()


def plain():
    return Outer().squares
"""


@pytest.fixture
def module():
    """A module that seems to be in the package."""
    scope = {"__name__": "example"}
    exec(compile(SOURCE, str(call_chains.PACKAGE / "example.py"), "exec"), scope)
    return scope


def test_classes_of_which_a_method_runs_are_counted(module):
    calls = call_chains.trace(lambda: (module["plain"](), module["Outer"]().made_inside().run()))
    assert calls.classes == [("example.py", "Inner"), ("example.py", "Outer")]
    assert calls.files == ["example.py"]
    assert {code.co_name for code in calls.functions} == {"plain", "squares", "made_inside", "run"}
    assert calls.depth == 2


def test_a_class_that_is_only_made_is_not_counted(module):
    calls = call_chains.trace(module["Outer"])
    assert (calls.classes, calls.files, calls.depth) == ([], [], 0)


def test_other_files_and_kernels_are_not_counted():
    def call():
        LogisticRegression().get_params()
        call_chains._is_counted(call.__code__)

    codes = compile("def kernel(): pass", str(call_chains.KERNELS / "flips.py"), "exec").co_consts
    assert not call_chains._is_counted(codes[0])
    assert call_chains.trace(call).functions == set()


@pytest.mark.parametrize(("gap", "message"), [(0.15, "does not bind"), (0.5, "is not enforced")])
def test_a_fit_whose_constraint_does_not_bind_or_hold_is_an_error(gap, message):
    model = DummyClassifier()
    fit = call_chains.Fit("fit", model, model, ([[0]], [0]), [0], lambda model: gap, 0.1)
    with pytest.raises(AssertionError, match=message):
        fit._replace(estimator=Ignoring()).check_binding()


class Ignoring(DummyClassifier):
    """An estimator that ignores groups."""

    def fit(self, X, y, sensitive_features):
        return super().fit(X, y)


@pytest.mark.slow
def test_calls_to_files_that_import_the_caller_go_up():
    rows = call_chains.PACKAGE / "constraints" / "_rows.py"
    bound = call_chains.PACKAGE / "constraints" / "_bound.py"
    reached = call_chains.find_reachable_files()
    assert rows in reached[bound]
    assert bound not in reached[rows]
    scope = {}
    exec(compile("def callee(): pass", str(bound), "exec"), scope)
    exec(compile("def up(): callee()", str(rows), "exec"), scope)
    exec(compile("def down(): called()", str(bound), "exec"), scope)
    exec(compile("def called(): pass", str(rows), "exec"), scope)
    calls = call_chains.trace(lambda: (scope["up"](), scope["up"](), scope["down"]()))
    edges = {(a.co_name, b.co_name): n_calls for (a, b), n_calls in calls.edges_up.items()}
    assert edges == {("up", "callee"): 2}


def test_six_fits_are_traced():
    fits = call_chains.fits()
    assert len({fit.name for fit in fits}) == 6
    assert Path(call_chains.PACKAGE, call_chains.trace(fits[3].run).files[0]).exists()
