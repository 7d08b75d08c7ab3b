"""A module of PyTorch at fixed parameters."""

from functools import cached_property

from skfair.models import pull_back_sparse_rows
from skfair.torch._flat_module import as_float64
from skfair.torch._module import require_torch


class TorchPoint:
    """A `TorchModel` at some parameters, with the graph that its gradient needs.

    The module is shared with points at other parameters: after their evaluation the scores are
    computed again before they are differentiated.
    """

    def __init__(self, model, parameters):
        self.model = model
        self.parameters = parameters
        self._outputs, self._version = None, None

    def _graph(self):
        """Scores as a tensor with its graph."""
        network = self.model.network
        network.load(self.parameters)
        # Another point has loaded its parameters since: the graph is gone.
        if self._version != network.version:
            self._outputs = network.outputs(self._inputs, self.model.is_training)
            self._version = network.version
        return self._outputs

    @property
    def _inputs(self):
        return self.model.samples.read(slice(None), self.model.network.dtype)

    @cached_property
    def scores(self):
        """Score of each sample, (n_samples,)."""
        if self.model.is_training:  # the gradient of these scores is needed next
            return as_float64(self._graph())
        self.model.network.load(self.parameters)
        # No gradient is needed next: skip the graph.
        with require_torch().inference_mode():
            return as_float64(self.model.network.outputs(self._inputs, is_training=False))

    @property
    def hidden(self):
        """Inputs of the last layer, (n_samples, n_units)."""
        self.model.network.load(self.parameters)
        with require_torch().no_grad():
            return as_float64(self.model.network.output_layer_inputs(self._inputs))

    def pull_back(self, slopes):
        """Gradient with respect to the parameters from one slope per sample, (n_samples,)."""
        torch, scores, network = require_torch(), self._graph(), self.model.network
        gradients = torch.autograd.grad(
            scores,
            list(network.tensors.values()),
            torch.as_tensor(slopes, dtype=scores.dtype, device=scores.device),
            retain_graph=True,
            materialize_grads=True,  # 0 for parameters on which no score depends
        )
        return as_float64(torch.cat([gradient.reshape(-1) for gradient in gradients]))

    def pull_back_rows(self, cells):
        """Gradients of several functions at once, from a csr_array (n_rows, n_samples)."""
        return pull_back_sparse_rows(self, cells)
