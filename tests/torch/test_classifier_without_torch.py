"""Without PyTorch the error names what to install."""

import sys
import warnings

import numpy as np
import pytest

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
    monkeypatch.setattr(_classifier, "to_array", lambda X: X)
    groups = np.array(["a", "b"] * 20)
    model = ConstrainedTorchClassifier()
    X = np.column_stack([np.arange(40.0), column])
    columns = {"sensitive_features": groups, "sample_weight": None}
    y = np.arange(40) % 3 == 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _classifier._check_samples(model, X, y, columns, True)
    messages = [str(one.message) for one in caught]
    assert any("X reveals the group of nearly all samples" in one for one in messages) is warns
    # Without a constraint there is nothing to warn of.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _classifier._check_samples(model, X, y, columns, False)
