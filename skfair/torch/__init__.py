"""Networks of PyTorch, trained under constraints; they need the package ``torch``."""

from skfair.torch._classifier import ConstrainedTorchClassifier
from skfair.torch._model import TorchModel

__all__ = ["ConstrainedTorchClassifier", "TorchModel"]
