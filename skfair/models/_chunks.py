"""Networks at a point on many samples, which pass through them in chunks."""

from itertools import pairwise

import numpy as np
from scipy import sparse


class ChunkedPoint:
    """A network at some parameters, on many samples: they pass through it in chunks.

    Activations are not kept but computed again where they are needed.

    Parameters
    ----------
    model : Model
        The model; those of few of its samples have ``hidden`` activations at a point.
    parameters : ndarray of shape (n_parameters,)
        Its parameters.
    n_samples : int
        Samples of the model.
    n_chunk : int
        Samples that pass at a time.
    """

    def __init__(self, model, parameters, n_samples, n_chunk):
        self.model = model
        self.parameters = parameters
        self._rows = [slice(i, i + n_chunk) for i in range(0, n_samples, n_chunk)]
        self.scores = np.concatenate([chunk.scores for _, chunk in self._chunks()])

    def _chunks(self):
        """Rows, and the model on them."""
        for rows in self._rows:
            yield rows, self.model.take(rows).at(self.parameters)

    @property
    def hidden(self):
        """Activations of the last hidden layer, (n_samples, n_units)."""
        return np.concatenate([chunk.hidden for _, chunk in self._chunks()])

    def pull_back(self, slopes):
        """Gradient by the parameters from one slope per sample, (n_samples,)."""
        return sum(chunk.pull_back(slopes[rows]) for rows, chunk in self._chunks())

    def pull_back_rows(self, cells):
        """Gradients of several functions at once, from a csr_array (n_rows, n_samples)."""
        return rows_pulled_back(self, cells)


def rows_pulled_back(point, cells):
    """Gradients of functions, each from the samples that it looks at.

    Parameters
    ----------
    point : object
        A network at a point, with ``model`` and ``parameters``.
    cells : csr_array of shape (n_rows, n_samples)
        Derivative of each function by each score.

    Returns
    -------
    jacobian : ndarray of shape (n_rows, n_parameters)
    """
    cells = sparse.csr_array(cells)
    jacobian = np.zeros((cells.shape[0], len(point.parameters)))
    for row, (start, end) in enumerate(pairwise(cells.indptr)):
        samples = cells.indices[start:end]
        if len(samples):
            own = point.model.take(samples).at(point.parameters)
            jacobian[row] = own.pull_back(cells.data[start:end])
    return jacobian
