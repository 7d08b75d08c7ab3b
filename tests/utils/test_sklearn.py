import warnings
from typing import Annotated

import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score

from skfair.exceptions import UnscorableSearchError
from skfair.utils._parameters import validate_params
from skfair.utils._sklearn import StrOptions, error_that_stops_search


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


def fails(estimator, X, y=None):
    raise error_that_stops_search(KeyError("no such column"))


def fit_fails(*args, **kwargs):
    raise error_that_stops_search(KeyError("no such column"))


class Fitted(BaseEstimator):
    """An estimator whose fit does nothing."""

    def fit(self, X, y=None):
        return self


class Failing(Fitted):
    """An estimator whose fit raises."""

    fit = fit_fails


def test_an_error_is_replaced_only_where_it_would_become_a_score():
    X = [[0.0], [1.0], [2.0], [3.0]]
    with pytest.raises(KeyError, match="no such column"):
        fails(None, X)
    with pytest.raises(KeyError, match="no such column"):
        cross_val_score(Fitted(), X, scoring=fails, cv=2, error_score="raise")
    for error_score in (float("nan"), 0.0):
        with pytest.raises(UnscorableSearchError, match="no such column"):
            cross_val_score(Fitted(), X, scoring=fails, cv=2, error_score=error_score)
    # Errors in fit are those that error_score is meant for.
    with (
        warnings.catch_warnings(),
        pytest.raises(ValueError, match="All the 2 fits failed"),
    ):
        warnings.simplefilter("ignore")
        cross_val_score(Failing(), X, scoring=fails, cv=2)
