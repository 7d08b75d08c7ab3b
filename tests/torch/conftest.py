"""The device of the tests of PyTorch: that of the environment variable SKFAIR_TEST_DEVICE."""

import pytest

from skfair.torch import ConstrainedTorchClassifier, TorchModel
from tests.torch_device import DEVICE


@pytest.fixture(autouse=True)
def compute_on_device(monkeypatch):
    """Make estimators and models compute on the device, where a test names none."""
    constructor = ConstrainedTorchClassifier.__init__
    monkeypatch.setitem(constructor.__kwdefaults__, "device", DEVICE)
    monkeypatch.setattr(TorchModel.__init__, "__defaults__", (DEVICE, None))
