"""A module of PyTorch at some parameters."""

from functools import cached_property

import numpy as np

from skfair.models import rows_pulled_back
from skfair.torch._module import require_torch


class TorchPoint:
    """A module at some parameters, on few samples: what its gradient needs is kept.

    Parameters
    ----------
    model : TorchModel
        The model.
    parameters : ndarray of shape (n_parameters,)
        Its parameters.
    """

    def __init__(self, model, parameters):
        self.model = model
        self.parameters = parameters
        self._flat = model.flat(parameters).requires_grad_()

    @cached_property
    def _outputs(self):
        return self.model.outputs(self._flat)

    @cached_property
    def scores(self):
        """Score of each sample, (n_samples,)."""
        return as_float64(self._outputs)

    @property
    def hidden(self):
        """What enters the last layer, (n_samples, n_units)."""
        with require_torch().no_grad():
            return as_float64(self.model.entering_head(self._flat))

    def pull_back(self, slopes):
        """Gradient by the parameters from one slope per sample, (n_samples,)."""
        torch, like = require_torch(), self._outputs
        slopes = torch.as_tensor(slopes, dtype=like.dtype, device=like.device)
        (gradient,) = torch.autograd.grad(like, self._flat, slopes, retain_graph=True)
        return as_float64(gradient)

    def pull_back_rows(self, cells):
        """Gradients of several functions at once, from a csr_array (n_rows, n_samples)."""
        return rows_pulled_back(self, cells)


def as_float64(tensor):
    """A tensor as an array of numpy, wherever it is."""
    return tensor.detach().cpu().numpy().astype(np.float64, copy=False)
