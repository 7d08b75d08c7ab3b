"""Stored estimators are read by the minor version that stored them."""

import copy
import pickle

import numpy as np
import pytest

import skfair
from skfair._groups import state
from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans


def fit(model):
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=60)
    X = rng.normal(size=(60, 2)) + groups[:, np.newaxis]
    return model.fit(X, (X[:, 0] > 0).astype(int), sensitive_features=groups)


MODELS = [FairKMeans(2, random_state=0), ConstrainedERMClassifier(tolerance=0.2)]


@pytest.mark.parametrize("model", MODELS)
def test_the_same_minor_version_reads_a_model(model, monkeypatch):
    stored = pickle.dumps(fit(model))
    major, minor, *_ = skfair.__version__.split(".")
    monkeypatch.setattr(state, "__version__", f"{major}.{minor}.99")
    restored = pickle.loads(stored)
    assert vars(restored).keys() == vars(model).keys()
    assert copy.deepcopy(model).get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("model", MODELS)
def test_another_minor_version_is_named(model, monkeypatch):
    monkeypatch.setattr(state, "__version__", "0.0.7")
    stored = pickle.dumps(fit(model))
    monkeypatch.undo()
    message = f"which is 0.0.7, but this is {skfair.__version__}. Install that version"
    with pytest.raises(ValueError, match=message):
        pickle.loads(stored)


def test_a_state_without_a_version_is_an_earlier_one():
    model = FairKMeans(2)
    plain = {name: value for name, value in model.__getstate__().items() if name[0] != "_"}
    with pytest.raises(ValueError, match="which is an earlier version"):
        FairKMeans(2).__setstate__(plain)
