"""Scores of a module of PyTorch, behind the protocol of models."""

import copy

import numpy as np

from skfair.models import ChunkedPoint, LinearModel
from skfair.torch._flat_module import FlatModule
from skfair.torch._module import check_device, require_torch, with_head
from skfair.torch._point import TorchPoint
from skfair.torch._samples import samples_on

_CHUNK = 1 << 20
"""Numbers in the samples that pass through a module at a time, where nothing is learned."""


class TorchModel:
    r"""Scores of any module of PyTorch.

    Parameters are the entries of the module's tensors that require gradients, in one vector, those
    of its last linear layer last. n scores go out to losses and constraints, n slopes come back,
    and ``torch.autograd.grad(scores, parameters, slopes)`` is the gradient.

    A module that does not end in a linear layer with one output and a bias is given one: one number
    per sample then is a score that may be scaled and shifted, several are features that the layer
    weighs.

    Mini-batches pass through the module in the modes in which its parts came: dropout drops and
    batch norm learns, unless the part was set to ``eval()`` before. Else all of it is in
    evaluation mode.

    Parameters
    ----------
    module : torch.nn.Module
        The network. It is not changed, save that lazy layers learn their sizes.
    X : array-like of shape (n_samples, ...), torch.Tensor or torch.utils.data.Dataset
        Samples, the first axis counting them; arrays of numbers are stored on the device as
        float32. A dataset has ``len`` and gives a sample by its number, alone or as the first of a
        tuple; it is read as samples are needed.
    device : str or torch.device, default="cpu"
        Where to compute.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    ValueError
        If the device cannot be used, or the module gives something else than numbers per sample.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from skfair.torch import TorchModel
    >>> module = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> model = TorchModel(module, np.array([[1.0, 10.0], [3.0, 30.0]]))
    >>> model.n_parameters
    13
    >>> model.at(model.initial()).scores.shape
    (2,)
    """

    def __init__(self, module, X, device="cpu"):
        device = check_device(device)
        self.samples = samples_on(X, device)
        module = copy.deepcopy(module).to(device)
        like = next(module.parameters(), None)
        dtype = require_torch().float32 if like is None else like.dtype
        module, head = with_head(module, self.samples.read(slice(0, 2), dtype))
        head_name = next(name for name, part in module.named_modules() if part is head)
        learns = [part.training for part in module.modules()]
        self.network = FlatModule(module, head_name, learns)
        self.is_training = False

    @property
    def n_parameters(self):
        """Length of a parameter vector."""
        return sum(self.network.sizes)

    @property
    def n_last(self):
        """Number of parameters of the last layer."""
        return sum(self.network.sizes[-2:])

    def _of(self, **changes):
        # One of every mini-batch is made: nothing is to be found out again.
        model = object.__new__(type(self))
        vars(model).update(vars(self), **changes)
        return model

    def astype(self, dtype):
        """The same model, computed in another type, with a module of its own.

        Parameters
        ----------
        dtype : {float64, float32}
            The type.

        Returns
        -------
        model : TorchModel
        """
        dtype = getattr(require_torch(), np.dtype(dtype).name)
        return self._of(network=self.network.copied(dtype))

    def initial(self, random_state=None):
        """Parameters to start from: those of the module.

        Parameters
        ----------
        random_state : int, RandomState instance or None, default=None
            Not used: modules come with parameters, be they drawn or trained.

        Returns
        -------
        parameters : ndarray of shape (n_parameters,)
        """
        return self.parameters(self.network.module)

    def parameters(self, module):
        """Parameters of another module of the same build, such as one that `module_at` gave.

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
            If it is of another build.
        """
        return self.network.parameters(module)

    def module_at(self, parameters):
        """A copy of the module that has given parameters, in evaluation mode.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        module : torch.nn.Module
        """
        network = self.network.copied()
        network.load(parameters)
        return network.module.eval()

    def take(self, rows):
        """The same model of some of the samples.

        Parameters
        ----------
        rows : ndarray of int, or slice
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : TorchModel
            It shares the module.
        """
        return self._of(samples=self.samples.take(rows))

    def batch(self, rows):
        """The model of a mini-batch to train on.

        Parameters
        ----------
        rows : ndarray of int, or slice
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : TorchModel
            The parts of its module are in the modes in which they came.
        """
        return self._of(samples=self.samples.take(rows), is_training=True)

    def at(self, parameters):
        """The model at given parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        point : TorchPoint or ChunkedPoint
            Scores, and derivatives by the parameters; see `skfair.models.Model.at`.
        """
        if len(self.samples) > self._n_chunk and not self.is_training:
            return ChunkedPoint(self, parameters, len(self.samples), self._n_chunk)
        return TorchPoint(self, parameters)

    def ridge(self, alpha):
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

    def last_layer(self, parameters):
        """The linear model on what enters the last layer, all before it held fixed.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        model : LinearModel
            Its parameters are the last ones of this model's.
        """
        hidden = self.at(parameters).hidden
        n_units = hidden.shape[1]
        return LinearModel(hidden, np.zeros(n_units), np.ones(n_units), fit_intercept=True)

    def measured(self, parameters):
        """The same model with the means and variances of its batch norms measured anew.

        In training they follow mini-batches, in which groups may have other shares, and lag behind
        the parameters.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Parameters at which to measure, over all samples.

        Returns
        -------
        model : TorchModel
            With a module of its own; the model itself where nothing is to be measured.
        """
        is_norm = [learns and _is_batch_norm(part) for part, learns in self.network.modes]
        if not any(is_norm):
            return self
        network = self.network.copied()
        learner = self._of(network=FlatModule(network.module, network.head_name, is_norm))
        norms = [part for part, learns in learner.network.modes if learns]
        momenta = [norm.momentum for norm in norms]
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the mean of all batches
        for start in range(0, len(self.samples) - 1, self._n_chunk):  # of one there is no variance
            _ = learner.batch(slice(start, start + self._n_chunk)).at(parameters).scores
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        return self._of(network=network)

    @property
    def _n_chunk(self):
        return max(16, _CHUNK // self.samples.n_numbers)


def _is_batch_norm(part):
    return isinstance(part, require_torch().nn.modules.batchnorm._BatchNorm) and (
        part.track_running_stats
    )
