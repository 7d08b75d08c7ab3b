"""Networks at a point on many samples, evaluated in chunks."""

from itertools import pairwise

import numpy as np
from scipy import sparse


def pull_back_sparse_rows(point, cells):
    """Gradients (n_rows, n_parameters) of functions of few samples each, from a csr_array."""
    cells = sparse.csr_array(cells)
    jacobian = np.zeros((cells.shape[0], len(point.parameters)))
    for row, (start, end) in enumerate(pairwise(cells.indptr)):
        samples = cells.indices[start:end]
        # Backpropagate through the samples of the row alone.
        if len(samples):
            point_at_samples = point.model.take(samples).evaluate(point.parameters)
            jacobian[row] = point_at_samples.pull_back(cells.data[start:end])
    return jacobian


class ChunkedPoint:
    """A network at a parameter vector, evaluated ``n_chunk`` samples at a time.

    Activations are recomputed where they are needed instead of stored.
    """

    def __init__(self, model, parameters, n_samples, n_chunk):
        self.model = model
        self.parameters = parameters
        self._rows = [slice(i, i + n_chunk) for i in range(0, n_samples, n_chunk)]
        # Only scores are kept; activations of a chunk are recomputed when they are needed.
        self.scores = np.concatenate([chunk.scores for _, chunk in self._iter_chunks()])

    def _iter_chunks(self):
        """Yield slices of rows and the model at them."""
        for rows in self._rows:
            yield rows, self.model.take(rows).evaluate(self.parameters)

    @property
    def hidden(self):
        """Activations of the last hidden layer, (n_samples, n_units)."""
        return np.concatenate([chunk.hidden for _, chunk in self._iter_chunks()])

    def pull_back(self, slopes):
        """Gradient by the parameters from one derivative per sample, (n_samples,)."""
        return sum(chunk.pull_back(slopes[rows]) for rows, chunk in self._iter_chunks())

    pull_back_rows = pull_back_sparse_rows
