"""Scores of a module of PyTorch, behind the protocol of models."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from skfair.models import ChunkedPoint, LinearModel
from skfair.torch._flat_module import FlatModule
from skfair.torch._module import check_device, ensure_output_layer, require_torch
from skfair.torch._point import TorchPoint
from skfair.torch._samples import make_samples
from skfair.utils._types import MatrixLike, RandomState

_CHUNK = 1 << 20
"""Numbers in the samples that are evaluated at a time."""


class TorchModel:
    r"""Scores of any module of PyTorch.

    Parameters are the entries of the module's tensors that require gradients, in one vector, those
    of its last linear layer last. n scores go out to losses and constraints, n slopes come back,
    and ``torch.autograd.grad(scores, parameters, slopes)`` is the gradient.

    A module that does not end in a linear layer with one output and a bias gets one: a single
    number per sample is then a score that may be scaled and shifted, several are features that the
    layer weighs.

    On mini-batches the submodules are in the modes in which they were passed: dropout drops and
    batch norm learns, unless the submodule was set to ``eval()`` before. Otherwise all of them are
    in evaluation mode.

    Parameters
    ----------
    module : torch.nn.Module
        The network. It is not changed, except that lazy layers get their sizes.
    X : array-like of shape (n_samples, ...), torch.Tensor or torch.utils.data.Dataset
        Samples along the first axis; arrays of numbers are stored on the device as float32. A
        dataset has ``len`` and gives a sample by its index, alone or as the first of a tuple; it is
        read when samples are needed.
    device : str or torch.device, default="cpu"
        Device of the computations.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    ValueError
        If the device cannot be used, or the module returns anything else than numbers per sample.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from skfair.torch import TorchModel
    >>> module = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> model = TorchModel(module, np.array([[1.0, 10.0], [3.0, 30.0]]))
    >>> model.n_parameters
    13
    >>> model.evaluate(model.initial()).scores.shape
    (2,)
    """

    def __init__(self, module: Any, X: MatrixLike, device: Any = "cpu"):
        device = check_device(device)
        self.samples = make_samples(X, device)
        module = copy.deepcopy(module).to(device)
        like = next(module.parameters(), None)
        dtype = require_torch().float32 if like is None else like.dtype
        # Two samples show the shape of what the module returns.
        module, output = ensure_output_layer(module, self.samples.read(slice(0, 2), dtype))
        output_name = next(name for name, layer in module.named_modules() if layer is output)
        modes = [submodule.training for submodule in module.modules()]
        self.network = FlatModule(module, output_name, modes)
        self.is_training = False

    @property
    def n_parameters(self) -> int:
        """Length of a parameter vector."""
        return sum(self.network.sizes)

    @property
    def n_last(self) -> int:
        """Number of parameters of the last layer."""
        return sum(self.network.sizes[-2:])

    def _replace(self, **changes):
        """A shallow copy; the constructor, which probes the module, is slow for mini-batches."""
        model = object.__new__(type(self))
        vars(model).update(vars(self), **changes)
        return model

    def astype(self, dtype: Any) -> TorchModel:
        """The same model in another dtype, with a copy of the module.

        Parameters
        ----------
        dtype : {float64, float32}
            The dtype.

        Returns
        -------
        model : TorchModel
        """
        dtype = getattr(require_torch(), np.dtype(dtype).name)
        return self._replace(network=self.network.copy(dtype))

    def initial(self, random_state: RandomState = None) -> np.ndarray:
        """Initial parameters: those of the module.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Not used: modules have parameters.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        return self.parameters(self.network.module)

    def parameters(self, module: Any) -> np.ndarray:
        """Parameters of another module of the same architecture, such as that of `module_at`.

        Parameters
        ----------
        module : torch.nn.Module
            With tensors of the same names and shapes.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)

        Raises
        ------
        ValueError
            If it has another architecture.
        """
        return self.network.parameters(module)

    def module_at(self, parameters: np.ndarray) -> Any:
        """A copy of the module with other parameters, in evaluation mode.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        module : torch.nn.Module
        """
        network = self.network.copy()
        network.load(parameters)
        return network.module.eval()

    def take(self, rows: np.ndarray | slice) -> TorchModel:
        """The same model on some of the samples.

        Parameters
        ----------
        rows : ndarray of int, or slice
            Positions in any order, with or without repetitions.

        Returns
        -------
        model : TorchModel
            It shares the module.
        """
        return self._replace(samples=self.samples.take(rows))

    def batch(self, rows: np.ndarray | slice) -> TorchModel:
        """The model on a mini-batch, in training mode.

        Parameters
        ----------
        rows : ndarray of int, or slice
            Positions in any order, with or without repetitions.

        Returns
        -------
        model : TorchModel
            Its submodules are in the modes in which they were passed.
        """
        return self._replace(samples=self.samples.take(rows), is_training=True)

    def evaluate(self, parameters: np.ndarray) -> TorchPoint | ChunkedPoint:
        """The model at given parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        point : TorchPoint or ChunkedPoint
            Scores, and derivatives by the parameters; see `skfair.models.Model.evaluate`.
        """
        if len(self.samples) > self._n_chunk and not self.is_training:
            return ChunkedPoint(self, parameters, len(self.samples), self._n_chunk)
        return TorchPoint(self, parameters)

    def ridge(self, alpha: float) -> np.ndarray:
        """Second derivative of ``alpha / 2 * sum(weights ** 2)`` by each parameter.

        Parameters
        ----------
        alpha : float
            Strength of the penalty on tensors with two axes or more, the weights of layers; biases
            and the scales of normalisations have none.

        Returns
        -------
        ridge : ndarray of shape (n_parameters,)
        """
        each = [alpha if tensor.ndim > 1 else 0.0 for tensor in self.network.tensors.values()]
        return np.repeat(each, self.network.sizes)

    def last_layer(self, parameters: np.ndarray) -> LinearModel:
        """The linear model on the inputs of the last layer, the layers before it held fixed.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        model : LinearModel
            Its parameters are the last ones of this model.
        """
        # Hidden units are used as they are, so that parameters are those of the module's layer.
        hidden = self.evaluate(parameters).hidden
        n_units = hidden.shape[1]
        return LinearModel(hidden, np.zeros(n_units), np.ones(n_units), fit_intercept=True)

    def estimate_batch_norm(self, parameters: np.ndarray) -> TorchModel:
        """The same model, with means and variances of its batch norms over all samples.

        In training they follow mini-batches, in which groups may have other shares, and lag behind
        the parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters at which they are estimated.

        Returns
        -------
        model : TorchModel
            With a copy of the module; the model itself where it has no batch norm to update.
        """
        is_norm = [training and _is_batch_norm(layer) for layer, training in self.network.modes]
        if not any(is_norm):
            return self
        network = self.network.copy()
        # Only the batch norms are in training mode.
        learner = self._replace(network=FlatModule(network.module, network.output_name, is_norm))
        norms = [layer for layer, training in learner.network.modes if training]
        momenta = [norm.momentum for norm in norms]
        # Running means start again, and weigh all batches equally.
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the mean of all batches
        for start in range(0, len(self.samples) - 1, self._n_chunk):  # one sample has no variance
            _ = learner.batch(slice(start, start + self._n_chunk)).evaluate(parameters).scores
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        return self._replace(network=network)

    @property
    def _n_chunk(self):
        return max(16, _CHUNK // self.samples.n_numbers)


def _is_batch_norm(layer):
    is_norm = isinstance(layer, require_torch().nn.modules.batchnorm._BatchNorm)
    return is_norm and layer.track_running_stats
