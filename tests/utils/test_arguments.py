"""TypeErrors of constructors that say where an argument goes."""

import functools
import inspect
import pickle

import pytest
from sklearn.base import clone

from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityPostprocessor,
)
from skfair.constraints import BoundedGroupLoss, DemographicParity
from skfair.monitoring import GapMonitor
from skfair.regression import ConstrainedERMRegressor
from skfair.utils._checks import _ARGUMENT_HINTS


@pytest.mark.parametrize(
    ("make", "argument", "place"),
    [
        (ConstrainedERMClassifier, "ratio", r"pass constraint=DemographicParity\(ratio=0\.8\)"),
        (ConstrainedERMRegressor, "attributes", r"DemographicParity\(attributes='each'\)"),
        (ConstrainedClassifierCV, "strata", r"ConditionalDemographicParity\(strata=\.\.\.\)"),
        (ConstrainedClassifierCV, "constraints", "is called constraint here"),
        (ConstrainedClassifierCV, "prefit", "is cv='prefit' here"),
        (ConstrainedERMClassifier, "estimator", "parameter of ConstrainedClassifierCV"),
        (ConstrainedERMClassifier, "eps", "is called tolerance here"),
        (PartialParityPostprocessor, "sensitive_features", "is passed to fit"),
        (DemographicParity, "difference_bound", "tolerance, with reference='overall'"),
        (BoundedGroupLoss, "tolerance", "parameter of the estimator"),
        (GapMonitor, "attributes", r"DemographicParity\(attributes='each'\)"),
    ],
)
def test_an_argument_of_another_place_is_sent_there(make, argument, place):
    with pytest.raises(TypeError, match=rf"{make.__name__}.*argument '{argument}', which.*{place}"):
        make(**{argument: 0.8})


def test_other_unknown_arguments_are_refused_as_by_python():
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument 'toleranse'(. Did you mean 'tolerance'.)?$"
    ):
        ConstrainedERMClassifier(toleranse=0.1)


def test_parameters_signatures_clones_and_pickles_are_those_of_the_constructor():
    model = ConstrainedERMClassifier(DemographicParity(ratio=0.8), tolerance=0.1)
    assert "tolerance" in inspect.signature(ConstrainedERMClassifier).parameters
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copy.tolerance == 0.1 and copy.constraint.ratio == 0.8


def test_every_place_is_a_half_sentence():
    for name, place in _ARGUMENT_HINTS.items():
        assert place.startswith(("is ", "bounds ")) and not place.endswith(".")
        makers = (ConstrainedERMClassifier, BoundedGroupLoss)
        make = next(one for one in makers if name not in inspect.signature(one).parameters)
        with pytest.raises(TypeError, match=f"'{name}', which "):
            make(**{name: 1})


# Subclasses of users ----------------------------------------------------------------------


class Strict(DemographicParity):
    """A constraint that passes its arguments on."""

    def __init__(self, **settings):
        super().__init__(**settings)


class Wrapped(ConstrainedERMClassifier):
    """A classifier whose constructor claims the signature of its base."""

    @functools.wraps(ConstrainedERMClassifier.__init__)
    def __init__(self, *args, eps=0.1, **settings):
        super().__init__(*args, tolerance=eps, **settings)


class Renamed(GapMonitor):
    """A monitor whose constructor is no function."""

    __init__ = functools.partialmethod(GapMonitor.__init__, tolerance=0.1)


class Inherited(ConstrainedERMClassifier):
    """A classifier without a constructor of its own."""


def test_arguments_of_subclasses_reach_their_own_constructors():
    assert Strict(ratio=0.8, attributes="each").ratio == 0.8
    assert Wrapped(eps=0.3).tolerance == 0.3
    assert Renamed("demographic_parity").tolerance == 0.1
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'eps'[^,]*$"):
        Strict(eps=0.1)


def test_constructors_of_subclasses_are_as_their_authors_wrote_them():
    class Plain(DemographicParity):
        def __init__(self, strictness=1):
            self.strictness = strictness

    assert Plain.__init__.__code__.co_filename == __file__
    assert not hasattr(Plain.__init__, "__wrapped__")


def test_a_subclass_without_a_constructor_says_where_an_argument_goes():
    with pytest.raises(TypeError, match=r"Inherited.*'eps', which is called tolerance here"):
        Inherited(eps=0.1)
