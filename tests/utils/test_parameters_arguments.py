"""Arguments of constructors: of the library's, and of subclasses that users write."""

import functools
import inspect
import pickle

import pytest
from sklearn.base import clone

from skfair.classification import ConstrainedERMClassifier
from skfair.constraints import DemographicParity
from skfair.monitoring import GapMonitor


def test_python_names_an_unknown_and_a_missing_argument():
    with pytest.raises(TypeError, match="ConstrainedERMClassifier.* argument 'toleranse'"):
        ConstrainedERMClassifier(toleranse=0.1)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'constraint'$"):
        GapMonitor()


def test_parameters_signatures_clones_and_pickles_are_those_of_the_constructor():
    model = ConstrainedERMClassifier(DemographicParity(ratio=0.8), tolerance=0.1)
    assert "tolerance" in inspect.signature(ConstrainedERMClassifier).parameters
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copy.tolerance == 0.1 and copy.constraint.ratio == 0.8


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


def test_arguments_of_subclasses_reach_their_own_constructors():
    assert Strict(ratio=0.8, attributes="each").ratio == 0.8
    assert Wrapped(eps=0.3).tolerance == 0.3
    assert Renamed("demographic_parity").tolerance == 0.1
    with pytest.raises(TypeError, match="unexpected keyword argument 'eps'"):
        Strict(eps=0.1)


def test_constructors_of_subclasses_are_as_their_authors_wrote_them():
    class Plain(DemographicParity):
        def __init__(self, strictness=1):
            self.strictness = strictness

    assert Plain.__init__.__code__.co_filename == __file__
    assert not hasattr(Plain.__init__, "__wrapped__")
