"""Samples of modules of PyTorch: tensors, datasets and loaders, and arguments of a module."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from skfair._utils.checks import join_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import Any, TypeAlias, TypeGuard

    import torch
    from torch import Tensor
    from torch.nn import Module

    from skfair._utils.tables import Table, TableLike

    Inputs: TypeAlias = Tensor | tuple[Any, ...] | dict[str, Any]
    """Arguments of a module: one tensor, or several by position or by name."""


# PyTorch, imported when it is first needed.


def require_torch() -> ModuleType:
    """PyTorch, imported when it is first needed; an ImportError that tells how to install it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "skfair.torch needs PyTorch, which is not installed: pip install torch. "
            "skfair.classification.ConstrainedMLPClassifier is a perceptron that does without it."
        ) from error
    return torch


def check_device(device: str) -> torch.device:
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


# Samples of a network: tensors on its device, or a dataset that is read as it is needed.


def reads_lazily(X: TableLike) -> bool:
    """Whether samples are a Dataset or DataLoader of PyTorch, which is read when it is needed."""
    torch_data = require_torch().utils.data
    source = X.dataset if isinstance(X, torch_data.DataLoader) else X
    if isinstance(source, torch_data.IterableDataset):
        raise TypeError(
            "Samples must be readable by their index, since classes, groups and the decisions of a "
            f"fit belong to samples, but {type(source).__name__} is an IterableDataset; pass a "
            "Dataset with __getitem__ and __len__, a DataLoader of one, or an array."
        )
    return isinstance(source, torch_data.Dataset) or isinstance(X, torch_data.DataLoader)


def count_lazy(X: Table) -> int:
    """Number of samples of a Dataset or DataLoader."""
    return len(X.dataset if isinstance(X, require_torch().utils.data.DataLoader) else X)


def is_tensor(values: object) -> TypeGuard[Tensor]:
    """Whether values are a tensor of PyTorch."""
    return isinstance(values, require_torch().Tensor)


def to_array(values: Table | Tensor) -> np.ndarray:
    """A tensor as an array; anything else as it is."""
    return values.numpy(force=True) if is_tensor(values) else values


def take_lazy(X: TableLike, rows: list[int]) -> Any:
    """Some of the samples of a Dataset or DataLoader, read in the same way."""
    torch_data = require_torch().utils.data
    if isinstance(X, torch_data.DataLoader):
        return _copy_loader(X, torch_data.Subset(X.dataset, rows), batch_size=X.batch_size or 1)
    return torch_data.Subset(X, rows)


def _copy_loader(loader, dataset, **order):
    """A DataLoader with the settings of another one, except for dataset and order."""
    names = "num_workers collate_fn pin_memory timeout worker_init_fn multiprocessing_context"
    settings = {name: getattr(loader, name) for name in names.split()}
    if loader.num_workers:
        settings |= {
            name: getattr(loader, name) for name in ("prefetch_factor", "persistent_workers")
        }
    return require_torch().utils.data.DataLoader(dataset, **settings, **order)


def make_samples(X: Table, device: str, n_inputs: int = 1) -> TensorSamples | DatasetSamples:
    """`TensorSamples` or `DatasetSamples` of an array-like, tensor or dataset, for a device.

    A dataset returns tuples of the arguments of a module that has several, `n_inputs`.
    """
    torch = require_torch()
    if isinstance(X, torch.utils.data.DataLoader):
        return LoaderSamples(X, device, np.arange(len(X.dataset)), n_inputs)
    if reads_lazily(X):
        return DatasetSamples(X, device, np.arange(len(X)), n_inputs)
    if not isinstance(X, torch.Tensor):
        X = torch.as_tensor(np.require(X, requirements="W"))  # PyTorch has no read-only tensors
    return TensorSamples(X.to(device))


class BatchReader:
    """Base of samples whose batches are read by this process."""

    def read_batches(self, batches: list[np.ndarray | slice]) -> Iterator[Tensor]:
        """Yield the samples of each of several batches, slices or arrays of positions."""
        for rows in batches:
            yield self.take(rows).read(slice(None))  # type: ignore[attr-defined]


class TensorSamples(BatchReader):
    """Samples of one tensor on the device, (n_samples, ...), all of them or those at positions."""

    def __init__(self, tensor: Tensor, rows: Tensor | None = None) -> None:
        self.tensor = tensor
        self.rows = rows

    def __len__(self) -> int:
        return len(self.tensor if self.rows is None else self.rows)

    def take(self, rows: np.ndarray | slice) -> TensorSamples:
        """Some of the samples, by positions or a slice; they are copied when they are read."""
        if self.rows is not None:
            return TensorSamples(self.tensor, self.rows[rows])
        if isinstance(rows, slice):
            return TensorSamples(self.tensor[rows])
        return TensorSamples(
            self.tensor, require_torch().as_tensor(rows, device=self.tensor.device)
        )

    def read(self, rows: slice) -> Tensor:
        """A copy of the samples of a slice, which the module may change."""
        if self.rows is None:
            return self.tensor[rows].clone()
        return self.tensor.index_select(0, self.rows[rows])


class DatasetSamples(BatchReader):
    """Samples of a dataset at some positions, read to the device when they are needed.

    The dataset returns a sample by its index, alone or as the first of a tuple: a tensor, or a
    tuple or dict of several inputs. A tuple of tensors is itself a sample of `n_inputs` inputs.
    """

    def __init__(self, source: Any, device: str, rows: np.ndarray, n_inputs: int) -> None:
        self.source = source
        self.device = device
        self.rows = rows
        self.n_inputs = n_inputs

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: np.ndarray | slice) -> DatasetSamples:
        """Some of the samples, by positions or a slice."""
        return type(self)(self.source, self.device, self.rows[rows], self.n_inputs)

    def read(self, rows: slice) -> Tensor:
        """Samples of a slice, on the device."""
        samples = [self.source[int(row)] for row in self.rows[rows]]
        inputs = [self._leave_labels_out(one) for one in samples]
        inputs = require_torch().utils.data.default_collate(inputs)
        return map_tensors(inputs, lambda tensor: tensor.to(self.device))

    def _leave_labels_out(self, sample: TableLike) -> Tensor:
        """The inputs of a sample or batch: all of it, its first item, or as many as are needed."""
        if not isinstance(sample, tuple | list):
            return sample
        is_flat = self.n_inputs > 1 and not isinstance(sample[0], tuple | list | dict)
        return tuple(sample[: self.n_inputs]) if is_flat else sample[0]


class LoaderSamples(DatasetSamples):
    """Samples of the dataset of a DataLoader, collated by it and read by its workers.

    A batch is the inputs, or a tuple or list that begins with them.
    """

    def read(self, rows: slice) -> Inputs:
        """Samples of a slice, on the device, read by this process."""
        samples = [self.source.dataset[int(row)] for row in self.rows[rows]]
        return self._to_inputs(self.source.collate_fn(samples))

    def read_batches(self, batches):
        """Yield the samples of each of several batches, slices or arrays of positions."""
        batches = [self.rows[rows].tolist() for rows in batches]
        for batch in _copy_loader(self.source, self.source.dataset, batch_sampler=batches):
            yield self._to_inputs(batch)

    def _to_inputs(self, batch: Inputs) -> Inputs:
        """Arguments of the module, on the device."""
        inputs = self._leave_labels_out(batch)
        return map_tensors(inputs, lambda tensor: tensor.to(self.device, non_blocking=True))


class BatchSamples:
    """Samples of a batch that was read, as arguments of the module."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs = inputs

    def __len__(self) -> int:
        return count_in_batch(self.inputs)

    def read(self, rows):
        """A copy of the samples of a slice, which the module may change."""
        return copy_inputs(take_inputs(self.inputs, rows))


# Inputs of a module: a tensor, or a tuple or dict of several.


def map_tensors(inputs: Inputs, function: Callable[[Tensor], Tensor]) -> Inputs:
    """Inputs with a function applied to each tensor."""
    if isinstance(inputs, dict):
        return {name: map_tensors(one, function) for name, one in inputs.items()}
    if isinstance(inputs, tuple | list):
        return tuple(map_tensors(one, function) for one in inputs)
    return function(inputs)


def copy_inputs(inputs: Inputs) -> Inputs:
    """A copy of inputs, for a module that may change them."""
    return map_tensors(inputs, lambda tensor: tensor.clone())


def take_inputs(inputs: Inputs, rows: Tensor | slice) -> Inputs:
    """Inputs of some samples, by a slice or a tensor of positions."""
    return map_tensors(inputs, lambda tensor: tensor[rows])


def call_module(module: Module, inputs: Inputs) -> Tensor:
    """Outputs of a module: several inputs are its arguments, by position or by name."""
    if isinstance(inputs, dict):
        try:
            return module(**inputs)
        except TypeError as error:
            if others := [name for name in inputs if not _takes_argument(module, name)]:
                error.add_note(
                    "A sample that is a dict has the arguments of the module by name. Leave "
                    f"others, here {join_names(map(repr, others))}, out of it in the dataset or in "
                    "collate_fn."
                )
            raise
    return module(*inputs) if isinstance(inputs, tuple) else module(inputs)


def _takes_argument(module: Module, name: str) -> bool:
    """Whether a module can be called with an argument of this name."""
    parameters = inspect.signature(_find_forward(module)).parameters
    return name in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def _find_forward(module: Module) -> Callable[..., Any]:
    """The method of a module that takes its inputs."""
    # What is put behind a module takes any inputs.
    return getattr(module, "module_in_front", module).forward


def disable_autocast(device_type: str) -> AbstractContextManager[Any]:
    """Context in which PyTorch computes in the dtypes of its tensors."""
    torch = require_torch()
    if not torch.is_autocast_enabled(device_type):
        return nullcontext()
    return torch.autocast(device_type, enabled=False)


def count_inputs(module: Module) -> int:
    """Number of inputs that a module needs by position."""
    needed = inspect.signature(_find_forward(module)).parameters.values()
    return sum(one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD for one in needed)


def split_into_slices(n_samples: int, size: int) -> list[slice]:
    """Slices of `size` rows; a last one of one row, which has no variance, joins the one before."""
    stops = [*range(size, n_samples - 1, size), n_samples]
    return [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def find_first_tensor(inputs: Inputs) -> Tensor:
    """The first tensor of the inputs."""
    while not isinstance(inputs, require_torch().Tensor):
        inputs = next(iter(inputs.values() if isinstance(inputs, dict) else inputs))
    return inputs


def count_in_batch(inputs: Inputs) -> int:
    """Number of samples in the inputs."""
    return len(find_first_tensor(inputs))


def cast_all(inputs: Inputs, dtype: Any) -> Inputs:
    """Inputs with all numbers in a dtype of real numbers; None is the default one."""
    dtype = dtype or require_torch().get_default_dtype()
    return map_tensors(inputs, lambda one: one.to(dtype))


def cast_floating(inputs: Inputs, dtype: Any) -> Inputs:
    """Inputs with real numbers in a dtype; None leaves them as they are."""
    return map_tensors(
        inputs,
        lambda one: one.to(dtype) if dtype and one.is_floating_point() else one,
    )
