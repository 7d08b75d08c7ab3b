"""A module of PyTorch with its parameters in one vector."""

import copy

import numpy as np

from skfair.torch._module import require_torch


class FlatModule:
    """A module whose trained tensors are one vector, those of its output layer last.

    The output layer is linear, and ``output_name`` its name. ``is_training`` has the mode of every
    submodule on mini-batches. ``tensors`` are by name, in the order of the vector, and ``sizes``
    their numbers of entries. ``version`` counts the loads of other parameters, each of which makes
    earlier graphs unusable.
    """

    def __init__(self, module, output_name, is_training):
        self.module = module
        self.output_name = output_name
        self.modes = list(zip(module.modules(), is_training, strict=True))
        self.output_layer = module.get_submodule(output_name)
        # Sort the trained tensors, stably: those of the output layer come last.
        output_ids = {id(self.output_layer.weight), id(self.output_layer.bias)}
        trained = [pair for pair in module.named_parameters() if pair[1].requires_grad]
        self.tensors = dict(sorted(trained, key=lambda pair: id(pair[1]) in output_ids))
        self.sizes = [tensor.numel() for tensor in self.tensors.values()]
        weight = self.output_layer.weight
        self.dtype, self.device = weight.dtype, weight.device
        self.version, self._is_training = 0, None
        self._flat, self._loaded = None, None

    def copy(self, dtype=None):
        """A deep copy, in another dtype if one is passed."""
        module = copy.deepcopy(self.module).to(self.dtype if dtype is None else dtype)
        return FlatModule(module, self.output_name, [training for _, training in self.modes])

    def parameters(self, module):
        """Parameters of a module of the same architecture, (n_parameters,)."""
        other = dict(module.named_parameters())
        for name, tensor in self.tensors.items():
            shape = tuple(other[name].shape) if name in other else None
            if shape != tuple(tensor.shape):
                raise ValueError(
                    f"The modules must have the same architecture, but {name} is of shape "
                    f"{tuple(tensor.shape)} in one and {shape} in the other; start from the "
                    "module's own parameters (warm_start=False)."
                )
        flat = [other[name].detach().reshape(-1) for name in self.tensors]
        return as_float64(require_torch().cat(flat))

    def load(self, parameters):
        """Set the parameters of the module, (n_parameters,)."""
        # Evaluations at the same parameters follow one another: do not copy them again.
        if self._loaded is not None and np.array_equal(self._loaded, parameters):
            return
        torch = require_torch()
        if self._loaded is None:
            self._flat = torch.empty(len(parameters), dtype=self.dtype, device=self.device)
            torch.nn.utils.vector_to_parameters(self._flat, self.tensors.values())
        # The tensors of the module are views of the flat one.
        self._flat.copy_(torch.as_tensor(parameters))
        self.version, self._loaded = self.version + 1, parameters.copy()

    def outputs(self, inputs, is_training):
        """Scores of samples, (n_samples,), as a tensor with its graph."""
        if is_training is not self._is_training:  # setting the modes is slow
            for submodule, training in self.modes:
                submodule.training = training and is_training
            self._is_training = is_training
        return self.module(inputs).reshape(-1)

    def output_layer_inputs(self, inputs):
        """Inputs of the output layer in evaluation mode, (n_samples, n_units), as a tensor."""
        # A hook sees what the output layer gets, wherever in the module it is.
        caught = []
        handle = self.output_layer.register_forward_pre_hook(lambda _, args: caught.append(*args))
        try:
            self.outputs(inputs, is_training=False)
        finally:
            handle.remove()
        return caught[0].reshape(len(inputs), -1)


def as_float64(tensor):
    """A tensor of any device as an array of numpy."""
    return tensor.detach().cpu().numpy().astype(np.float64, copy=False)
