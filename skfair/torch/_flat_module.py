"""A module of PyTorch whose parameters are one vector."""

import copy

import numpy as np

from skfair.torch._module import require_torch


class FlatModule:
    """A module whose parameters are one vector, those of its last layer last.

    Parameters
    ----------
    module : torch.nn.Module
        It ends in a linear layer, and will be given parameters.
    head_name : str
        Name of that layer within it.
    learns : list of bool
        Of every part of the module, whether it is in training mode when mini-batches pass.

    Attributes
    ----------
    tensors : dict
        What is trained, by name, in the order of the vector.
    sizes : list of int
        Numbers of entries.
    modes : list of (torch.nn.Module, bool)
        The parts, and whether they learn.
    version : int
        How often other parameters were loaded: graphs made before are of no use after.
    """

    def __init__(self, module, head_name, learns):
        self.module = module
        self.head_name = head_name
        self.modes = list(zip(module.modules(), learns, strict=True))
        self.head = module.get_submodule(head_name)
        own = {id(self.head.weight), id(self.head.bias)}
        trained = [pair for pair in module.named_parameters() if pair[1].requires_grad]
        self.tensors = dict(sorted(trained, key=lambda pair: id(pair[1]) in own))
        self.sizes = [tensor.numel() for tensor in self.tensors.values()]
        self.dtype, self.device = self.head.weight.dtype, self.head.weight.device
        self.version, self._is_training = 0, None
        self._flat, self._loaded = None, None

    def copied(self, dtype=None):
        """The same with a module of its own, in another type if one is given."""
        module = copy.deepcopy(self.module).to(self.dtype if dtype is None else dtype)
        return FlatModule(module, self.head_name, [learns for _, learns in self.modes])

    def parameters(self, module):
        """Parameters of a module of the same build, (n_parameters,)."""
        other = dict(module.named_parameters())
        for name, tensor in self.tensors.items():
            shape = tuple(other[name].shape) if name in other else None
            if shape != tuple(tensor.shape):
                raise ValueError(
                    f"The modules must be of one build, but {name} is of shape "
                    f"{tuple(tensor.shape)} in one and {shape} in the other; start from the "
                    "module's own parameters (warm_start=False)."
                )
        flat = [other[name].detach().reshape(-1) for name in self.tensors]
        return as_float64(require_torch().cat(flat))

    def load(self, parameters):
        """Give the module these parameters, (n_parameters,)."""
        if self._loaded is not None and np.array_equal(self._loaded, parameters):
            return
        torch = require_torch()
        if self._loaded is None:
            self._flat = torch.empty(len(parameters), dtype=self.dtype, device=self.device)
            torch.nn.utils.vector_to_parameters(self._flat, self.tensors.values())
        self._flat.copy_(torch.as_tensor(parameters))  # the module's tensors are views of it
        self.version, self._loaded = self.version + 1, parameters.copy()

    def outputs(self, inputs, is_training):
        """Scores of samples, (n_samples,), as a tensor with a graph behind it."""
        if is_training is not self._is_training:  # modules take their time to take a mode
            for part, learns in self.modes:
                part.training = learns and is_training
            self._is_training = is_training
        return self.module(inputs).reshape(-1)

    def entering_head(self, inputs):
        """What enters the last layer in evaluation mode, (n_samples, n_units), as a tensor."""
        caught = []
        handle = self.head.register_forward_pre_hook(lambda _, entering: caught.append(*entering))
        try:
            self.outputs(inputs, is_training=False)
        finally:
            handle.remove()
        return caught[0].reshape(len(inputs), -1)


def as_float64(tensor):
    """A tensor as an array of numpy, wherever it is."""
    return tensor.detach().cpu().numpy().astype(np.float64, copy=False)
