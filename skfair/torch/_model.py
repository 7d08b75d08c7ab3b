"""Modules of PyTorch behind the protocol of models: parameters, samples, scores."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from skfair.models import ChunkedPoint, LinearModel, pull_back_sparse_rows
from skfair.utils._api import MatrixLike, RandomState

# Modules of PyTorch that give one score per sample, linear in its last parameters.


def require_torch():
    """PyTorch, imported when it is first needed; an ImportError that tells how to install it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "skfair.torch needs PyTorch, which is not installed: pip install torch. "
            "skfair.classification.ConstrainedMLPClassifier is a perceptron that does without it."
        ) from error
    return torch


def check_device(device):
    """The torch.device of a name such as "cuda:1", refused if it cannot be used."""
    torch = require_torch()
    try:
        checked = torch.device(device)
        torch.zeros(1, device=checked)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={str(device)!r} cannot be used here ({reason}). Pass device='cpu', or install "
            "a PyTorch built for that device, and its driver."
        ) from error
    return checked


@contextmanager
def torch_seed(seed, device):
    """Context with seeded generators of the CPU and a device, which restores their states."""
    torch = require_torch()
    # The CPU's generator is always forked; others are named.
    others = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(devices=others, device_type=others[0].type if others else "cuda"):
        torch.manual_seed(seed)
        yield


def make_perceptron(n_numbers):
    """The default network: 64 and 32 hidden units, for samples of any shape."""
    nn = require_torch().nn
    hidden = nn.Linear(n_numbers, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU()
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(32, 1))


def ensure_output_layer(module, inputs):
    """A module that ends in a linear layer with one output and a bias, and that layer.

    A layer is appended where the module does not end in one; behind a single number per sample it
    is initialised to the identity. The module is probed on ``inputs``, some samples.
    """
    torch = require_torch()
    # Find a last linear layer by what the module returns: its name or place says nothing.
    outputs, layers = _probe(module, inputs)
    _check_outputs(module, outputs, len(inputs))
    if len(layers) == 1:
        return module, layers[0]
    nn = torch.nn
    # Append a layer of the module's dtype, on its device.
    like = next(module.parameters(), outputs)
    n_columns = outputs[0].numel()
    layer = nn.Linear(n_columns, 1, device=like.device, dtype=like.dtype)
    # The identity: training starts from the scores of the module as it was passed.
    if n_columns == 1:
        nn.init.ones_(layer.weight)
        nn.init.zeros_(layer.bias)
    shape = nn.Unflatten(0, (-1, 1)) if outputs.ndim == 1 else nn.Identity()
    return nn.Sequential(module, shape, layer), layer


def _probe(module, inputs):
    """Outputs of a module for some samples, and the linear layers whose outputs these are."""
    torch, by_layer = require_torch(), {}

    def record(layer, args, output):
        by_layer.setdefault(layer, []).append(output)

    candidates = [layer for layer in module.modules() if _is_scalar_linear(layer)]
    handles = [layer.register_forward_hook(record) for layer in candidates]
    modes = [(submodule, submodule.training) for submodule in module.modules()]
    # In training mode batch norm would fail on one sample, and learn from the others.
    module.eval()
    try:
        with torch.no_grad():
            outputs = module(inputs)
    finally:
        for handle in handles:
            handle.remove()
        for submodule, was_training in modes:
            submodule.training = was_training
    return outputs, [layer for layer, results in by_layer.items() if _are_equal(results, outputs)]


def _is_scalar_linear(layer):
    """Whether a layer is linear with one output and a bias, both of them trained."""
    is_linear = isinstance(layer, require_torch().nn.Linear)
    return (
        is_linear
        and layer.out_features == 1
        and layer.bias is not None
        and layer.weight.requires_grad
        and layer.bias.requires_grad
    )


def _are_equal(layer_outputs, outputs):
    """Whether a layer was called once, and its output is that of the module."""
    torch = require_torch()
    if len(layer_outputs) > 1 or not isinstance(outputs, torch.Tensor):
        return False
    return torch.equal(layer_outputs[0].reshape(-1), outputs.reshape(-1))


def _check_outputs(module, outputs, n_samples):
    """Raise for outputs that are no scores or features, one row per sample."""
    torch = require_torch()
    name, wanted = type(module).__name__, "(n_samples,), (n_samples, 1) or (n_samples, n_units)"
    if not isinstance(outputs, torch.Tensor):
        raise ValueError(
            f"The module must return a tensor of shape {wanted}, but {name} returns a "
            f"{type(outputs).__name__}; wrap it in a module that returns the scores."
        )
    if outputs.ndim not in (1, 2) or len(outputs) != n_samples or not outputs.numel():
        raise ValueError(
            f"The module must return a tensor of shape {wanted}, but for {n_samples} samples "
            f"{name} returns shape {tuple(outputs.shape)}; end it in Flatten and Linear, say."
        )
    last = [*module.modules()][-1]
    if isinstance(last, torch.nn.Sigmoid | torch.nn.Softmax | torch.nn.LogSoftmax):
        raise ValueError(
            f"The module must return scores, positive for one class and negative for the other, "
            f"but {name} ends in {type(last).__name__}; leave that out: the loss includes it."
        )


# A module of PyTorch with its parameters in one vector.


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


# A module of PyTorch at fixed parameters.


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

    def pull_back_rows(self, slopes):
        """Gradients of several functions at once, from a csr_array (n_rows, n_samples)."""
        return pull_back_sparse_rows(self, slopes)


# Samples of a network: tensors on its device, or a dataset that is read as it is needed.


def is_dataset(X):
    """Whether samples are a ``torch.utils.data.Dataset``."""
    return isinstance(X, require_torch().utils.data.Dataset)


def make_samples(X, device):
    """`TensorSamples` or `DatasetSamples` of an array-like, tensor or dataset, for a device."""
    torch = require_torch()
    if is_dataset(X):
        return DatasetSamples(X, device, np.arange(len(X)))
    # Real numbers become float32; integers, such as those of tokens, stay.
    X = X if isinstance(X, torch.Tensor) else torch.as_tensor(np.asarray(X, dtype=np.float32))
    return TensorSamples(X.to(device, torch.float32 if X.is_floating_point() else None))


class TensorSamples:
    """Samples as one tensor on the device, (n_samples, ...)."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __len__(self):
        return len(self.tensor)

    @property
    def n_numbers(self):
        """Numbers in a sample."""
        return max(1, self.tensor[:1].numel())

    def take(self, rows):
        """Some of the samples, by positions or a slice."""
        if isinstance(rows, slice):
            return TensorSamples(self.tensor[rows])
        rows = require_torch().as_tensor(rows, device=self.tensor.device)
        return TensorSamples(self.tensor.index_select(0, rows))

    def read(self, rows, dtype):
        """Samples of a slice, real numbers in a dtype."""
        return _cast(self.tensor[rows], dtype)


class DatasetSamples:
    """Samples of a dataset at some positions, read to the device when they are needed.

    The dataset returns a sample by its index, alone or as the first of a tuple.
    """

    def __init__(self, dataset, device, rows):
        self.dataset = dataset
        self.device = device
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    @property
    def n_numbers(self):
        """Numbers in a sample."""
        return max(1, self._read_one(self.rows[0]).numel())

    def take(self, rows):
        """Some of the samples, by positions or a slice."""
        return DatasetSamples(self.dataset, self.device, self.rows[rows])

    def read(self, rows, dtype):
        """Samples of a slice, real numbers in a dtype."""
        stack = require_torch().stack([self._read_one(row) for row in self.rows[rows]])
        return _cast(stack.to(self.device), dtype)

    def _read_one(self, row):
        sample = self.dataset[int(row)]
        return require_torch().as_tensor(sample[0] if isinstance(sample, tuple | list) else sample)


def _cast(tensor, dtype):
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


# Scores of a module of PyTorch, behind the protocol of models.


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
