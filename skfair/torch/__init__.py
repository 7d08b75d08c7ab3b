"""Networks of PyTorch, trained under constraints; they need the package ``torch``."""

from skfair.torch._classifier import ConstrainedTorchClassifier
from skfair.torch._loop import ConstrainedObjective, constraint_values, gather_samples
from skfair.torch._model import TorchModel
from skfair.torch._term import ConstraintTerm

__all__ = [
    "ConstrainedObjective",
    "ConstrainedTorchClassifier",
    "ConstraintTerm",
    "constraint_values",
    "gather_samples",
]
