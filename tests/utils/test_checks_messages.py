import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn.exceptions import UndefinedMetricWarning

from skfair._utils.checks import (
    collect_warnings,
    join_names,
    mute_warnings,
    resolve_name,
    spelling_hint,
    warn,
)
from skfair.audit import Audit
from skfair.exceptions import ConstraintCostWarning


def test_a_warning_points_at_the_first_line_outside_the_package():
    with pytest.warns(UndefinedMetricWarning, match="empty group") as caught:
        warn("empty group", UndefinedMetricWarning)
    assert caught[0].filename == __file__


def test_frames_of_the_package_and_of_scikit_learn_are_passed_over():
    code = "def outer(call):\n    return call()\n"
    for package in ("skfair.somewhere", "sklearn.model_selection", "joblib.parallel"):
        space = {"__name__": package}
        exec(compile(code, f"{package}.py", "exec"), space)
        with pytest.warns(UserWarning, match="here") as caught:
            space["outer"](lambda outer=space["outer"]: outer(_warn_below))
        assert caught[0].filename == __file__, package


def _warn_below():
    warn("here")


def test_a_program_of_nothing_but_package_frames_still_warns(monkeypatch):
    monkeypatch.setattr("skfair._utils.checks._is_library_frame", lambda frame: True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("at the root")
    assert str(caught[0].message) == "at the root"


def test_muted_warnings_are_those_of_one_thread_and_of_the_package():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        with mute_warnings(UserWarning), ThreadPoolExecutor() as pool:
            assert warnings.filters == filters
            warn("muted")
            pool.submit(warn, "of another thread").result()
            warn("of another category", FutureWarning)
        warn("after it")
        with mute_warnings():
            warn("muted with all categories", FutureWarning)
    messages = [str(one.message) for one in caught]
    assert messages == ["of another thread", "of another category", "after it"]


def test_the_innermost_context_collects_a_warning_of_its_categories():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with collect_warnings() as outer, collect_warnings(FutureWarning) as inner:
            warn("of the outer context")
            warn("of the inner context", FutureWarning)
            warn("costly", ConstraintCostWarning)
    assert inner == ["of the inner context"]
    assert outer == ["of the outer context", f"costly{ConstraintCostWarning.page}"]


def test_listing_counts_what_it_leaves_out():
    assert join_names([]) == ""
    assert join_names(map(repr, ["a", 1])) == "'a', 1"
    assert join_names("abc", limit=2) == "a, b and 1 more"
    assert join_names("abc", limit=3) == "a, b, c"


class Square:
    side = 1


def test_a_name_an_instance_and_an_object_in_the_registry():
    registry = {"square": Square, "unit": 1.0}
    mine = Square()
    assert isinstance(resolve_name(registry, "square", "shape"), Square)
    assert resolve_name(registry, "unit", "shape") == 1.0
    assert resolve_name(registry, mine, "shape") is mine
    assert resolve_name(registry, mine, "shape", kind=Square) is mine


@pytest.mark.parametrize("what", ["circle", 3, None])
def test_an_unknown_name_is_refused_with_the_known_ones(what):
    with pytest.raises(ValueError, match=r"shape must be one of \['square'\] or an instance of Sq"):
        resolve_name({"square": Square}, what, "shape", kind=(Square,))
    with pytest.raises(ValueError, match=r"one of \['square'\] or an instance; got 'disc'"):
        resolve_name({"square": Square}, "disc", "shape")


def test_the_closest_name_is_suggested():
    assert (
        spelling_hint("demografic", ["equalized", "demographic"]) == " Did you mean 'demographic'?"
    )
    assert spelling_hint("xyz", ["equalized", "demographic"]) == spelling_hint(3, ["three"]) == ""
    with pytest.raises(ValueError, match=r"got 'aplha'\. Did you mean 'alpha'\?"):
        resolve_name({"alpha": 1}, "aplha", "name")


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda audit: audit.report(min_share=2), "min_share"),
        (lambda audit: audit.report(min_published=1), "min_published"),
        (lambda audit: audit.certify("equal_opportunity", 0.1), "y_true"),
        (lambda audit: audit.subgroups(max_conditions=4), "max_conditions"),
        (lambda audit: audit.certify(tolerance=-1.0), "tolerance"),
    ],
)
def test_errors_carry_the_name_of_their_argument(call, argument):
    """A process that gets the error from another one reads the name too."""
    audit = Audit.from_predictions(None, [0, 1] * 50, sensitive_features=[*"aabb"] * 25)
    with pytest.raises(ValueError, match=f"^{argument} ") as caught:
        call(audit)
    copied = pickle.loads(pickle.dumps(caught.value))
    assert type(copied) is ValueError and copied.argument == argument
    assert str(copied) == f"{argument} {copied.problem}"
