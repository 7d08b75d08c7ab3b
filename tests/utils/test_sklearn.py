from typing import Annotated

import pytest
from sklearn.base import BaseEstimator

from skfair._utils.parameters import validate_params
from skfair._utils.sklearn import StrOptions


class Chosen(BaseEstimator):
    """An estimator of one parameter, and a registry of its values."""

    __module__ = "skfair.chosen"  # hints outside of skfair are not checked
    registry = {"beta": 1, "alpha": 2}

    def __init__(self, name: Annotated[str, StrOptions(registry)] | None = "alpha"):
        self.name = name


def test_names_are_listed_in_order_and_the_closest_is_suggested():
    with pytest.raises(ValueError, match=r"among {'alpha', 'beta'} or None.*mean 'alpha'\?$"):
        validate_params(Chosen("alfa"))
    with pytest.raises(ValueError, match=r"Got 3 instead\.$"):
        validate_params(Chosen(3))
    assert str(StrOptions({"c", "a", "b"})) == "a str among {'a', 'b', 'c'}"


def test_names_added_to_the_registry_later_are_valid(monkeypatch):
    validate_params(Chosen())
    monkeypatch.setitem(Chosen.registry, "gamma", 3)
    validate_params(Chosen("gamma"))
