"""Without PyTorch the error names the extra to install."""

import sys

import numpy as np
import pytest

from skfair.torch import ConstrainedTorchClassifier, TorchModel


@pytest.fixture(autouse=True)
def no_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


def test_the_error_names_the_extra():
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    with pytest.raises(ImportError, match=r"pip install 'skfair\[torch\]'"):
        ConstrainedTorchClassifier().fit(X, y, sensitive_features=y)
    with pytest.raises(ImportError, match="ConstrainedMLPClassifier is a perceptron that does"):
        TorchModel(None, X)
