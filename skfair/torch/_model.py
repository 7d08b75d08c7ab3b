"""Modules of PyTorch behind the protocol of models: parameters, samples, scores."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from functools import cached_property, partial
from itertools import groupby
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._problems.linear import LinearModel
from skfair._problems.model import ChunkedPoint, iter_points, pull_back_sparse_rows
from skfair._utils.api import MatrixLike
from skfair._utils.checks import warn
from skfair.torch._samples import (
    BatchSamples,
    LoaderSamples,
    call_module,
    cast_all,
    cast_floating,
    check_device,
    copy_inputs,
    count_in_batch,
    count_inputs,
    disable_autocast,
    find_first_tensor,
    make_samples,
    map_tensors,
    require_torch,
    split_into_slices,
    take_inputs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from types import ModuleType

    from torch import Tensor
    from torch.nn import Module

    from skfair._utils.api import RandomState
    from skfair.torch._outputs import ScoreLayer
    from skfair.torch._samples import Inputs


# Modules of PyTorch that give one score per sample, linear in its last parameters.


def _outputs() -> ModuleType:
    """The code of output layers, imported when it is first needed: it imports PyTorch."""
    require_torch()
    from skfair.torch import _outputs

    return _outputs


_GENERATOR_LOCK = RLock()
"""Held while PyTorch's generators, which all threads share, are in the state of one fit."""


class RandomStream:
    """Random numbers of PyTorch from a seed, whatever the caller and other threads draw.

    Initial weights and dropout draw from PyTorch's own generators. These are in the state of the
    stream within ``with stream:`` alone, and in that of the caller afterwards.
    """

    def __init__(self, seed: int, device: Any) -> None:
        torch = require_torch()
        self._generators = [torch.default_generator]
        if device.type == "cuda":
            torch.cuda.init()
            index = torch.cuda.current_device() if device.index is None else device.index
            self._generators.append(torch.cuda.default_generators[index])
        self._outside: list[Tensor] = []
        self._states = [
            torch.Generator(device=generator.device).manual_seed(seed).get_state()
            for generator in self._generators
        ]

    def __enter__(self) -> None:
        _GENERATOR_LOCK.acquire()
        self._outside.append([generator.get_state() for generator in self._generators])
        for generator, state in zip(self._generators, self._states, strict=True):
            generator.set_state(state)

    def __exit__(self, *error: None) -> None:
        self._states = [generator.get_state() for generator in self._generators]
        for generator, state in zip(self._generators, self._outside.pop(), strict=True):
            generator.set_state(state)
        _GENERATOR_LOCK.release()


def make_perceptron(inputs: Tensor) -> Module:
    """The default network, in single precision: 64 and 32 hidden units, for samples like these."""
    nn = require_torch().nn
    n_numbers = max(1, inputs[0].numel())
    hidden = nn.Linear(n_numbers, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU()
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(32, 1))


def copy_module(module: Module, shared: Iterable[Tensor] = ()) -> Module:
    """A deep copy of a module, also where layers keep tensors that they have computed.

    The shared tensors are those of the module itself.
    """
    torch = require_torch()
    computed = {id(tensor): tensor for tensor in shared}
    for submodule in module.modules():
        for value in vars(submodule).values():
            if isinstance(value, torch.Tensor) and not value.is_leaf:
                computed[id(value)] = value.detach().clone()
    return copy.deepcopy(module, computed)


# A module of PyTorch with its parameters in one vector.


class FlatModule:
    """A module whose trained tensors are one vector, those of its output layer last.

    The output layer is linear, and ``output_name`` its name. ``is_training`` has the mode of every
    submodule on mini-batches. ``tensors`` are by name, in the order of the vector, and ``sizes``
    their numbers of entries. ``input_dtype`` is that of the layers before the last; None if they
    have no numbers of their own. ``version`` counts the loads of other parameters, each of which
    makes earlier graphs unusable. Random numbers are those of ``stream``.
    """

    def __init__(
        self,
        module: Module,
        output_name: str,
        is_training: list[bool],
        stream: nullcontext[None] | RandomStream,
    ) -> None:
        self.module = module
        self.output_name = output_name
        self.modes = list(zip(module.modules(), is_training, strict=True))
        self.stream = stream
        self.output_layer = module.get_submodule(output_name)
        # Sort the trained tensors, stably: those of the output layer come last.
        output_ids = {id(self.output_layer.weight), id(self.output_layer.bias)}
        trained = [pair for pair in module.named_parameters() if pair[1].requires_grad]
        self.tensors = dict(sorted(trained, key=lambda pair: id(pair[1]) in output_ids))
        self.sizes = [tensor.numel() for tensor in self.tensors.values()]
        self.input_dtype = _outputs().find_dtype(module, output_ids)
        self.version = 0
        self._is_training: bool | None = None
        self._buffers: list[Tensor] | None = None

    def freeze_modes(self) -> None:
        """Leave all submodules in evaluation mode, so that none measures statistics."""
        self.modes = [(submodule, False) for submodule, _ in self.modes]

    def copy(self) -> FlatModule:
        """A copy, whose tensors are its own where they are trained."""
        modes = [training for _, training in self.modes]
        fixed = [tensor for tensor in self.module.parameters() if not tensor.requires_grad]
        return FlatModule(copy_module(self.module, fixed), self.output_name, modes, self.stream)

    def parameters(self, module: Module) -> np.ndarray:
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
        return to_float64_array(join_entries([other[name] for name in self.tensors]))

    def load(self, parameters: np.ndarray) -> None:
        """Set the parameters of the module, (n_parameters,)."""
        torch = require_torch()
        if self._buffers is None:
            self._buffers = self._flatten()
        parts = torch.as_tensor(parameters).split([len(buffer) for buffer in self._buffers])
        # Evaluations at the same parameters follow one another, whose graphs remain usable.
        pairs = list(zip(self._buffers, parts, strict=True))
        if all(torch.equal(buffer, part.to(buffer)) for buffer, part in pairs):
            return
        for buffer, part in pairs:
            buffer.copy_(part)
        self.version += 1

    def _flatten(self) -> list[Tensor]:
        """One flat tensor for neighbours of equal dtype, of which the module's are made views."""
        torch = require_torch()
        buffers = []
        for dtype, tensors in groupby(self.tensors.values(), key=lambda tensor: tensor.dtype):
            neighbours = list(tensors)
            n_entries = sum(tensor.numel() for tensor in neighbours)
            buffers.append(torch.empty(n_entries, dtype=dtype, device=neighbours[0].device))
            torch.nn.utils.vector_to_parameters(buffers[-1], neighbours)
        return buffers

    def outputs(self, inputs: Tensor, is_training: bool) -> Tensor:
        """Scores of samples, (n_samples,), as a tensor with its graph."""
        if is_training is not self._is_training:  # setting the modes is slow
            for submodule, training in self.modes:
                submodule.training = training and is_training
            self._is_training = is_training
        # Scores are judged as predictions compute them; training may be under autocast.
        context: AbstractContextManager[Any] = nullcontext()
        if not is_training:
            context = disable_autocast(find_first_tensor(inputs).device.type)
        with self.stream, context:
            return call_module(self.module, inputs).reshape(-1)

    @property
    def n_last(self) -> int:
        """Number of parameters of the output layer."""
        return sum(self.sizes[-2:])

    def predict(self, parameters: np.ndarray, inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
        """Scores (n_samples,) and inputs of the output layer (n_samples, n_units), as arrays."""
        self.load(parameters)
        # A hook sees what the output layer gets, wherever in the module it is.
        caught: list[Tensor] = []
        hook = self.output_layer.register_forward_pre_hook(
            lambda _, args, named: caught.extend((*args, *named.values())), with_kwargs=True
        )
        with hook, require_torch().no_grad():
            scores = self.outputs(inputs, is_training=False)
        return to_float64_array(scores), to_float64_array(caught[0].reshape(len(scores), -1))


def join_entries(tensors: list[Tensor | Module]) -> Tensor:
    """The entries of several tensors as one tensor without further axes."""
    return require_torch().cat([one.reshape(-1) for one in tensors])


def to_float64_array(tensor: Tensor) -> np.ndarray:
    """A tensor of any device and dtype as an array of numpy."""
    return tensor.detach().to("cpu", require_torch().float64).numpy()


# A module of PyTorch at fixed parameters.


class TorchPoint:
    """A `TorchModel` at some parameters, with the graph that its gradient needs.

    The module is shared with points at other parameters: after their evaluation the scores are
    computed again before they are differentiated.
    """

    def __init__(self, model: TorchModel, parameters: np.ndarray) -> None:
        self.model = model
        self.parameters = parameters
        self._outputs: Tensor | None = None
        self._version: int | None = None

    def _scores_with_graph(self) -> Tensor:
        """Scores as a tensor with its graph."""
        network = self.model.network
        network.load(self.parameters)
        # Another point has loaded its parameters since: the graph is gone.
        if self._version != network.version:
            self._outputs = network.outputs(self.model.inputs(), self.model.is_training)
            self._version = network.version
        return self._outputs

    @cached_property
    def scores(self) -> np.ndarray:
        """Score of each sample, (n_samples,)."""
        if self.model.is_training:  # the gradient of these scores is needed next
            return to_float64_array(self._scores_with_graph())
        self.model.network.load(self.parameters)
        # No gradient is needed next: skip the graph.
        with require_torch().no_grad():
            return to_float64_array(
                self.model.network.outputs(self.model.inputs(), is_training=False)
            )

    @property
    def hidden(self) -> np.ndarray:
        """Inputs of the last layer, (n_samples, n_units)."""
        return self.model.network.predict(self.parameters, self.model.inputs())[1]

    def pull_back(self, slopes: np.ndarray) -> np.ndarray:
        """Gradient with respect to the parameters from one slope per sample, (n_samples,)."""
        torch = require_torch()
        scores = self._scores_with_graph()
        network = self.model.network
        gradients = torch.autograd.grad(
            scores,
            list(network.tensors.values()),
            torch.as_tensor(slopes, dtype=scores.dtype, device=scores.device),
            retain_graph=True,
            materialize_grads=True,  # 0 for parameters on which no score depends
        )
        return to_float64_array(join_entries(gradients))

    def pull_back_rows(self, slopes: np.ndarray) -> np.ndarray:
        """Gradients of several functions at once, from a csr_array (n_rows, n_samples)."""
        return pull_back_sparse_rows(self, slopes)


def _iter_loaded_points(
    model: TorchModel, parameters: np.ndarray
) -> Iterator[tuple[slice, TorchPoint]]:
    """Yield slices of samples and the model at them, read batch by batch by a DataLoader."""
    for rows, inputs in model._iter_chunks():
        yield rows, TorchPoint(model._replace(samples=BatchSamples(inputs)), parameters)


# Scores of a module of PyTorch, behind the protocol of models.


def _append_output_layer(module: Module, inputs: Tensor) -> tuple[Module, Module]:
    """The module with a new layer behind it, and that layer."""
    code = _outputs()
    return code.append_output_layer(module, code.evaluate_module(module, inputs))


_NUMBERS_PER_CHUNK = 1 << 20
_SAMPLES_PER_CHUNK = 1 << 13
"""Numbers in the samples that are evaluated at a time, and so many samples at most: layers may be
wider than samples."""


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

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    ValueError
        If the device cannot be used, or the module returns anything else than numbers per sample,
        which in evaluation mode must depend on that sample alone.

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

    def __init__(
        self, module: Any, X: MatrixLike, device: str = "cpu", random_state: int | None = None
    ):
        device = check_device(device)
        module, self.is_compiled = _outputs().unwrap_compiled(copy_module(module))
        self.samples = make_samples(X, device, count_inputs(module))
        stream = nullcontext() if random_state is None else RandomStream(random_state, device)
        module = module.to(device)
        modes = {submodule: submodule.training for submodule in module.modules()}
        # Two samples show the shape of what the module returns, and the dtype that it takes.
        first = self.samples.read(slice(0, 2))
        sizes = []
        map_tensors(first, lambda tensor: sizes.append(tensor[:1].numel()))
        n_chunk = max(16, _NUMBERS_PER_CHUNK // max(1, sum(sizes)))
        self._n_chunk = min(n_chunk, _SAMPLES_PER_CHUNK)
        if isinstance(self.samples, LoaderSamples):
            # Workers of the DataLoader read such batches while others are evaluated.
            self._n_chunk = min(self._n_chunk, 1024)
        with stream:
            inputs, self._takes_integers = _outputs().cast_to_accepted_dtype(module, first)
            self._first_inputs = inputs
            module, output = _outputs().ensure_output_layer(module, inputs)
        self._set_network(module, output, modes, stream)
        is_short = [one.is_floating_point() and one.itemsize < 4 for one in module.parameters()]
        if self.is_compiled and any(is_short):
            # Compilation rounds otherwise, by more than the distance of some scores to 0.
            self.is_compiled = False
            warn(
                "module_ is not compiled, since a compiled module in half precision has other "
                "scores, and near 0 other decisions, than those that keep the tolerance; call "
                "module_.compile() if that does not matter, or pass the module in float32."
            )
        self.is_training = self.has_new_layer = False
        self._frozen: list[Any] = []
        self._latest: Any = None
        self._hidden: Any = None
        self._finished: Any = None

    def _set_network(
        self,
        module: Module,
        output: ScoreLayer,
        modes: dict[ScoreLayer | Module, bool],
        stream: nullcontext[None] | RandomStream,
    ) -> None:
        """Store a module that ends in an output layer; new layers are in training mode."""
        name = next(name for name, layer in module.named_modules() if layer is output)
        is_training = [modes.get(submodule, True) for submodule in module.modules()]
        self.network = FlatModule(module, name, is_training, stream)

    def inputs(self) -> Inputs:
        """Arguments of the module for all samples."""
        return self._cast(self.samples.read(slice(None)))

    def _cast(self, inputs: Inputs) -> Inputs:
        """Inputs in the dtype that the module takes."""
        dtype = self.network.input_dtype
        return cast_floating(inputs if self._takes_integers else cast_all(inputs, dtype), dtype)

    def iter_batches(self, batches: list[Any]) -> Iterator[tuple[Any, Inputs]]:
        """Arguments of the module for each of several batches, read ahead by a DataLoader."""
        for rows, inputs in zip(batches, self.samples.read_batches(batches), strict=True):
            yield rows, self._cast(inputs)

    def _iter_chunks(self) -> Iterator[tuple[Any, Inputs]]:
        """Yield slices of all samples, and the arguments of the module for them."""
        return self.iter_batches(split_into_slices(len(self.samples), self._n_chunk))

    @property
    def n_parameters(self) -> int:
        """Length of a parameter vector."""
        return sum(self.network.sizes)

    def _replace(self, **changes: Any) -> TorchModel:
        """A shallow copy; the constructor, which probes the module, is slow for mini-batches."""
        model = object.__new__(type(self))
        vars(model).update(vars(self), **changes)
        model._latest = model._hidden = model._finished = None
        return model

    def initial(self, random_state: RandomState = None) -> np.ndarray:
        """Initial parameters: those of the module."""
        return self.parameters(self.network.module)

    def parameters(self, module: Any) -> np.ndarray:
        """Parameters of another module of the same architecture, such as that of `module_at`.

        Raises
        ------
        ValueError
            If it has another architecture.
        """
        return self.network.parameters(module)

    def module_at(self, parameters: np.ndarray) -> Module:
        """A copy of the module with other parameters, in evaluation mode.

        It is compiled in place, at its first call, if the module was, and not in half precision.
        Frozen parameters require gradients again, which no evaluation needs from then on.
        """
        network = self.network.copy()
        network.load(parameters)
        for tensor in self._frozen:
            tensor.requires_grad_(True)
        if self.is_compiled:
            network.module.compile()
        return network.module.eval()

    def take(self, rows: np.ndarray | slice) -> TorchModel:
        """The same model on some of the samples."""
        return self._replace(samples=self.samples.take(rows))

    def batch(self, rows: np.ndarray | slice) -> TorchModel:
        """The model on a mini-batch, in training mode."""
        return self._replace(samples=self.samples.take(rows), is_training=True)

    def evaluate(self, parameters: np.ndarray) -> TorchPoint | ChunkedPoint:
        """The model at given parameters."""
        if self.is_training:
            return TorchPoint(self, parameters)
        if isinstance(self.samples, LoaderSamples):
            # Reading all samples is slow: the latest evaluation is stored.
            if self._latest is None or not np.array_equal(self._latest.parameters, parameters):
                parameters = parameters.copy()
                chunks = partial(_iter_loaded_points, self, parameters)
                self._latest = ChunkedPoint(self, parameters, chunks)
            return self._latest
        if len(self.samples) > self._n_chunk:
            chunks = partial(iter_points, self, parameters, len(self.samples), self._n_chunk)
            return ChunkedPoint(self, parameters, chunks)
        return TorchPoint(self, parameters)

    def ridge(self, alpha: float) -> np.ndarray:
        """Second derivative of ``alpha / 2 * sum(weights ** 2)`` by each parameter."""
        each = [alpha if tensor.ndim > 1 else 0.0 for tensor in self.network.tensors.values()]
        return np.repeat(each, self.network.sizes)

    def last_layer(self, parameters: np.ndarray) -> LinearModel:
        """The linear model on the inputs of the last layer, the layers before it held fixed."""
        # Hidden units are used as they are, so that parameters are those of the module's layer.
        start: Any
        hidden: Any
        start, hidden = self._hidden or (None, None)
        n_body = len(parameters) - self.network.n_last
        if start is None or not np.array_equal(start[:n_body], parameters[:n_body]):
            hidden = self.evaluate(parameters).hidden
        n_units = hidden.shape[1]
        return LinearModel(hidden, np.zeros(n_units), np.ones(n_units), fit_intercept=True)

    def estimate_batch_norm(self, parameters: np.ndarray) -> TorchModel:
        """The same model, with means and variances of its batch norms over all samples.

        In training they follow mini-batches, in which groups may have other shares, and lag behind
        the parameters.
        """
        is_norm = [
            training and _has_running_statistics(layer) for layer, training in self.network.modes
        ]
        if not any(is_norm) or len(self.samples) < 2:  # one sample has no variance
            return self
        network = self.network.copy()
        # Only the batch norms are in training mode.
        module = FlatModule(network.module, network.output_name, is_norm, network.stream)
        learner = self._replace(network=module)
        norms = [layer for layer, training in learner.network.modes if training]
        momenta = [norm.momentum for norm in norms]
        for norm in norms:
            norm.reset_running_stats()
        learner.network.load(parameters)
        n_total = 0
        for _, inputs in learner._iter_chunks():
            # Running means start again, and weigh all samples equally, also those of a short chunk.
            n_total += count_in_batch(inputs)
            for norm in norms:
                norm.momentum = count_in_batch(inputs) / n_total
            with require_torch().no_grad():
                learner.network.outputs(inputs, is_training=True)
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        return self._replace(network=network)

    def finish(self, parameters: np.ndarray) -> tuple[TorchModel, np.ndarray]:
        """The model that predicts after the training, and its parameters.

        Means and variances of its batch norms are measured as `estimate_batch_norm` does. The
        output layer computes in double precision. Where the scores of a sample are not linear
        in its parameters, all others held fixed, a new one is appended to the trained module.

        Raises
        ------
        ValueError
            If a score is not finite.
        """
        # Folds of a module that is not trained ask for the same again.
        if self._finished is None or not np.array_equal(self._finished[0], parameters):
            # Layers behind the output layer may have been trained, too.
            measured = self.estimate_batch_norm(parameters)
            model = measured._replace_output_layer(parameters, _outputs().ensure_output_layer)
            start = model.initial()
            hidden = _inputs_of_linear_layer(model, start)
            if hidden is None:
                model = measured.append_layer(parameters)
                start = model.initial()
            else:
                model._hidden = start, hidden
            self._finished = parameters, (model, start)
        return self._finished[1]

    def append_layer(self, parameters: np.ndarray) -> TorchModel:
        """The same scores, as the input of a new last layer."""
        return self._replace_output_layer(parameters, _append_output_layer)

    def _replace_output_layer(
        self, parameters: np.ndarray, find: Callable[[Module, Inputs], tuple[Module, Module]]
    ) -> TorchModel:
        """The model with a copy of the module, and the output layer that is found, as double."""
        network = self.network.copy()
        model = self._replace()
        network.output_layer.double()
        network.load(parameters)
        with network.stream:
            module, output = find(network.module, self._first_inputs)
        model._set_network(module, output.double(), dict(network.modes), network.stream)
        model.has_new_layer |= next(module.children(), None) is network.module
        return model


def scores_of_two_columns(model: TorchModel) -> np.ndarray | None:
    """Scores of a module that returns two columns, before its last layer is fitted; else None.

    The model is that of `TorchModel.finish`.
    """
    if model._hidden is None or not _outputs().has_two_columns(model.network.module):
        return None
    start, hidden = model._hidden
    return _linear_scores(hidden, start)


def freeze_body(model: TorchModel) -> TorchModel:
    """The model with the parameters of the last layer alone."""
    *body, _, _ = model.network.tensors.values()
    for tensor in body:
        tensor.requires_grad_(False)
    return model._replace(network=model.network.copy(), _frozen=body)


def _inputs_of_linear_layer(model: TorchModel, parameters: np.ndarray) -> np.ndarray | None:
    """Return the inputs of the last layer, (n_samples, n_inputs), if scores are linear in it.

    It is None if the scores of a sample are not linear, or the inputs depend on the layer.
    """
    # Its inputs must be the same with random weights, and scores those of a linear model.
    network = model.network
    n_samples = len(model.samples)
    moved = parameters.copy()
    rng = np.random.default_rng(0)
    moved[-network.n_last :] = rng.normal(size=network.n_last)
    is_linear = True
    all_scores = np.empty(n_samples)
    all_hidden = np.empty((n_samples, network.n_last - 1))
    for rows, inputs in model._iter_chunks():
        scores, hidden = network.predict(parameters, copy_inputs(inputs))
        _check_alone(network, inputs, scores, parameters, rng)
        is_equal = _are_close(scores, _linear_scores(hidden, parameters))
        if is_linear and is_equal:
            moved_scores, moved_hidden = network.predict(moved, copy_inputs(inputs))
            is_equal = _are_close(moved_hidden, hidden)
            is_equal &= _are_close(moved_scores, _linear_scores(hidden, moved))
        is_linear = is_linear and bool(is_equal)
        all_scores[rows] = scores
        if is_linear:
            all_hidden[rows] = hidden
    check_finite(all_scores)
    return all_hidden if is_linear else None


def _check_alone(
    network: FlatModule,
    inputs: Tensor,
    scores: np.ndarray,
    parameters: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Raise if the score of a sample is another one without the others: of one in 64."""
    rows = rng.choice(len(scores), -(-len(scores) // 64), replace=False)
    alone = (copy_inputs(take_inputs(inputs, slice(k, k + 1))) for k in rows)
    values = np.concatenate([network.predict(parameters, one)[0] for one in alone])
    pair = (require_torch().from_numpy(one) for one in (values, scores[rows]))
    _outputs().check_batch(network.module, *pair)


def _linear_scores(hidden: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Scores of the last layer from its inputs."""
    *coef, intercept = parameters[-hidden.shape[1] - 1 :]
    with np.errstate(over="ignore", invalid="ignore"):  # of a training that explodes
        return hidden @ np.array(coef) + intercept


def check_finite(scores: np.ndarray) -> np.ndarray:
    """The scores, unless one is infinite or nan."""
    if not np.isfinite(scores).all():
        worst = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(
            f"The module must return finite scores, but that of sample {worst} is "
            f"{scores[worst]}; impute missing values, rescale the samples, or correct the module."
        )
    return scores


def _are_close(values: np.ndarray, expected: np.ndarray) -> bool:
    """Whether numbers are equal up to rounding in double precision."""
    return values.shape == expected.shape and np.allclose(values, expected, rtol=1e-9, atol=1e-9)


def _has_running_statistics(layer: ScoreLayer | Module) -> bool:
    is_norm = isinstance(layer, require_torch().nn.modules.batchnorm._BatchNorm)
    return is_norm and layer.track_running_stats
