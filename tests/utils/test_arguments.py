"""TypeErrors of constructors that say where an argument goes."""

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
from skfair.utils._checks import _ARGUMENT_HINTS, ArgumentHintMixin


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

        class Without(ArgumentHintMixin):
            def __init__(self):
                pass

        with pytest.raises(TypeError, match=f"'{name}', which "):
            Without(**{name: 1})
