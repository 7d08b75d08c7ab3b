import inspect
from importlib.resources import files

from sklearn.base import clone

from skfair.cluster import FairKMeans


def test_parameters_and_defaults_of_estimators_are_those_of_the_signature():
    model = FairKMeans(n_clusters=3, min_balance=None)
    assert clone(model).get_params() == model.get_params()
    signature = inspect.signature(FairKMeans)
    defaults = {name: one.default for name, one in signature.parameters.items()}
    assert FairKMeans().get_params() == defaults


def test_the_installed_package_declares_its_hints():
    assert files("skfair").joinpath("py.typed").is_file()
