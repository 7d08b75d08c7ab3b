"""Without PyTorch the error names what to install."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from skfair._groups.arguments import FitArguments
from skfair.torch import ConstrainedTorchClassifier, TorchModel, _classifier


@pytest.fixture(autouse=True)
def no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


def test_the_error_names_pytorch():
    X = np.eye(4)
    y = np.array([0, 1, 0, 1])
    with pytest.raises(ImportError, match="pip install torch"):
        ConstrainedTorchClassifier().fit(X, y, sensitive_features=y)
    with pytest.raises(ImportError, match="ConstrainedMLPClassifier is a perceptron that does"):
        TorchModel(None, X)


@pytest.mark.parametrize(
    ("column", "warns"), [([0, 1] * 20, True), ([0, 1, 1, 0] * 10, False)], ids=["group", "other"]
)
def test_a_column_that_is_the_group_is_warned_of(monkeypatch, column, warns):
    # Input is checked before PyTorch is needed for anything but the types of X.
    monkeypatch.setattr(_classifier, "reads_lazily", lambda X: False)
    groups = np.array(["a", "b"] * 20)
    model = ConstrainedTorchClassifier()
    X = np.column_stack([np.arange(40.0), column])
    arguments = FitArguments(X=X, y=np.arange(40) % 3 == 0, sensitive_features=groups)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _classifier._check_samples(model, arguments, True)
    messages = [str(one.message) for one in caught]
    assert any("X reveals the group of nearly all samples" in one for one in messages) is warns
    # Without a constraint there is nothing to warn of.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _classifier._check_samples(model, arguments, False)


def test_features_may_be_in_the_memory_of_an_accelerator(monkeypatch):
    class OnDevice:
        def __dlpack_device__(self):
            return 2, 0

    monkeypatch.setattr(_classifier, "reads_lazily", lambda X: False)
    monkeypatch.setattr(_classifier, "to_array", lambda X: np.eye(4))
    y = np.array([0, 1, 0, 1])
    # Input passes; the module needs PyTorch.
    with pytest.raises(ImportError, match="pip install torch"):
        ConstrainedTorchClassifier().fit(OnDevice(), y, sensitive_features=y)
    # Other columns are read by numpy.
    with pytest.raises(TypeError, match="y must be in the memory of the processor"):
        ConstrainedTorchClassifier().fit(np.eye(4), OnDevice(), sensitive_features=y)


def test_a_table_of_features_is_aligned_with_the_target(monkeypatch):
    monkeypatch.setattr(_classifier, "to_array", lambda X: X)
    X = pd.DataFrame(np.eye(4))
    y = pd.Series([0, 1, 0, 1], index=[3, 2, 1, 0])
    with pytest.raises(ValueError, match="X and y must have the same pandas index"):
        ConstrainedTorchClassifier().fit(X, y, sensitive_features=[0, 0, 1, 1])
