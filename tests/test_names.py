"""Names that are looked for in the wrong module, and old names, lead to the right ones."""

import importlib
import pickle
import warnings

import pytest

import skfair
from skfair import constraints, exceptions
from skfair._names import DEPRECATED, SUBMODULES
from skfair.constraints import EqualizedOddsLossParity, EqualOpportunityLossParity
from skfair.exceptions import UnscorableSearchError


@pytest.mark.parametrize("home", SUBMODULES)
def test_other_modules_name_the_import_of_a_public_name(home):
    name = importlib.import_module(f"skfair.{home}").__all__[0]
    for module in (skfair, skfair.callbacks):
        if not hasattr(module, name):
            with pytest.raises(AttributeError, match=f"{name} is in skfair.{home}: ") as error:
                getattr(module, name)
            imported = {}
            exec(str(error.value).partition(f"{home}: ")[2], imported)
            assert imported[name] is getattr(importlib.import_module(f"skfair.{home}"), name)


def test_names_of_no_module_have_no_import():
    with pytest.raises(AttributeError, match="^module 'skfair' has no attribute 'FairTree'$"):
        skfair.FairTree  # noqa: B018 - the expression raises
    assert not hasattr(skfair.cluster, "FairTree")


def test_an_import_from_the_wrong_module_has_the_message_of_python():
    with pytest.raises(ImportError, match="cannot import name 'FairKMeans' from 'skfair'"):
        exec("from skfair import FairKMeans")


HOMES = {
    "EqualOpportunityLoss": constraints,
    "EqualizedOddsLoss": constraints,
    "SearchError": exceptions,
}
"""Deprecated names -> the public modules that they were imported from."""


def test_a_deprecated_name_is_the_class_of_the_new_name():
    assert {*HOMES} == {*DEPRECATED}
    for old, module in HOMES.items():
        new = DEPRECATED[old]
        message = f"^{old} is deprecated; removed in skfair 0.2; use `{new}`.$"
        with pytest.warns(FutureWarning, match=message) as caught:
            assert getattr(module, old) is getattr(module, new)
        assert caught[0].filename == __file__
        assert old not in module.__all__ and new in module.__all__
        assert old not in vars(module)


def test_a_deprecated_name_can_be_imported_and_caught():
    imported = {}
    with pytest.warns(FutureWarning, match="use `UnscorableSearchError`"):
        exec("from skfair.exceptions import SearchError", imported)
    with pytest.raises(imported["SearchError"], match="no groups"):
        raise UnscorableSearchError("no groups")


def test_new_names_do_not_warn_and_other_modules_lack_the_old_ones():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert constraints.check_constraint and exceptions.UnscorableSearchError
        for module in (skfair, skfair.cluster, exceptions):
            assert not hasattr(module, "EqualizedOddsLoss")


def rename_in_pickle(instance, old):
    """The instance as a pickle of protocol 0 in which its class has an old name."""
    text = pickle.dumps(instance, protocol=0)
    new = type(instance).__name__.encode()
    assert text.count(new) == 1
    return text.replace(new, old.encode())


@pytest.mark.parametrize(
    "instance, old",
    [
        (EqualOpportunityLossParity(loss="hinge", tolerance=0.1), "EqualOpportunityLoss"),
        (EqualizedOddsLossParity(aggregate="sum"), "EqualizedOddsLoss"),
        (UnscorableSearchError("no groups"), "SearchError"),
    ],
    ids=["equal opportunity", "equalized odds", "search"],
)
def test_pickles_of_old_names_load(instance, old):
    with pytest.warns(FutureWarning, match=f"^{old} is deprecated"):
        loaded = pickle.loads(rename_in_pickle(instance, old))
    assert type(loaded) is type(instance)
    assert repr(loaded) == repr(instance)


def test_files_that_name_a_deprecated_constraint_load():
    find = constraints.find_constraint_class
    assert find("EqualizedOddsLoss") is find("EqualizedOddsLossParity") is EqualizedOddsLossParity
    assert find("SearchError") is None
