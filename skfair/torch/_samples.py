"""Samples of a network: tensors on its device, or a dataset that is read as it is needed."""

import numpy as np

from skfair.torch._module import require_torch


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
