"""Names that are looked for in the wrong module, and old names, lead to the right ones."""

import importlib

import pytest

import skfair
from skfair import constraints
from skfair._names import SUBMODULES
from skfair.constraints import EqualizedOddsLossParity


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


def test_constraints_are_found_by_the_names_in_files():
    find = constraints.find_constraint_class
    assert find("EqualizedOddsLossParity") is EqualizedOddsLossParity
    assert find("EqualizedOddsLoss") is find("UnscorableSearchError") is None
