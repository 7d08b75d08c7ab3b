"""Scores of a module of PyTorch, behind the protocol of models."""

import copy

import numpy as np

from skfair.models import ChunkedPoint, LinearModel
from skfair.torch._module import check_device, require_torch, with_head
from skfair.torch._point import TorchPoint, as_float64
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
        # Of the copy only the modes will change, and what layers keep beside parameters.
        module = copy.deepcopy(module).to(device)
        like = next(module.parameters(), None)
        self.dtype = require_torch().float32 if like is None else like.dtype
        module, head = with_head(module, self.samples.read(slice(0, 2), self.dtype))
        self._head_name = next(name for name, part in module.named_modules() if part is head)
        self._is_training = False
        self._lay_out(module, [part.training for part in module.modules()])

    def _lay_out(self, module, learns):
        """Take a module, of which some parts learn; parameters of its last layer come last."""
        self.module = module
        self._head = module.get_submodule(self._head_name)
        self._modes = list(zip(module.modules(), learns, strict=True))
        own = {id(self._head.weight), id(self._head.bias)}
        learned = [pair for pair in module.named_parameters() if pair[1].requires_grad]
        self._tensors = dict(sorted(learned, key=lambda pair: id(pair[1]) in own))
        self._sizes = [tensor.numel() for tensor in self._tensors.values()]

    @property
    def device(self):
        """Where it computes."""
        return self._head.weight.device

    @property
    def n_parameters(self):
        """Length of a parameter vector."""
        return sum(self._sizes)

    @property
    def n_last(self):
        """Number of parameters of the last layer."""
        return sum(self._sizes[-2:])

    @property
    def _learns(self):
        """Of every part of the module, whether it learns in training."""
        return [learns for _, learns in self._modes]

    def _of(self, **changes):
        # One of every mini-batch is made: nothing is to be found out again.
        model = object.__new__(type(self))
        vars(model).update(vars(self), **changes)
        return model

    def _with(self, module, learns, **changes):
        model = self._of(**changes)
        model._lay_out(module, learns)
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
        return self._with(copy.deepcopy(self.module).to(dtype), self._learns, dtype=dtype)

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
        return self.parameters(self.module)

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
        other = dict(module.named_parameters())
        for name, tensor in self._tensors.items():
            shape = tuple(other[name].shape) if name in other else None
            if shape != tuple(tensor.shape):
                raise ValueError(
                    f"The modules must be of one build, but {name} is of shape "
                    f"{tuple(tensor.shape)} in one and {shape} in the other; start from the "
                    "module's own parameters (warm_start=False)."
                )
        flat = [other[name].detach().reshape(-1) for name in self._tensors]
        return as_float64(require_torch().cat(flat))

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
        module = copy.deepcopy(self.module).eval()
        tensors = dict(module.named_parameters())
        with require_torch().no_grad():
            for name, values in self._named(self.flat(parameters)).items():
                tensors[name].copy_(values)
        return module

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
        rows : ndarray of int
            Samples, in any order, with repetitions or without.

        Returns
        -------
        model : TorchModel
            The parts of its module are in the modes in which they came.
        """
        return self._of(samples=self.samples.take(rows), _is_training=True)

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
        if len(self.samples) > self._n_chunk and not self._is_training:
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
        each = [alpha if tensor.ndim > 1 else 0.0 for tensor in self._tensors.values()]
        return np.repeat(each, self._sizes)

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
        is_norm = [learns and _is_batch_norm(part) for part, learns in self._modes]
        if not any(is_norm):
            return self
        learner = self._with(copy.deepcopy(self.module), is_norm)
        norms = [part for part, learns in learner._modes if learns]
        momenta = [norm.momentum for norm in norms]
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # the mean of all batches
        for start in range(0, len(self.samples) - 1, self._n_chunk):  # of one there is no variance
            _ = learner.batch(slice(start, start + self._n_chunk)).at(parameters).scores
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        return self._with(learner.module, self._learns)

    @property
    def _n_chunk(self):
        return max(16, _CHUNK // self.samples.n_numbers)

    def flat(self, parameters):
        """A parameter vector as a tensor, of the type and on the device of the module."""
        return require_torch().tensor(parameters, dtype=self.dtype, device=self.device)

    def _named(self, flat):
        """The tensors of the module, as views of a parameter vector."""
        views = zip(self._tensors.items(), flat.split(self._sizes), strict=True)
        return {name: part.view(tensor.shape) for (name, tensor), part in views}

    def outputs(self, flat):
        """Scores of all samples as a tensor, (n_samples,).

        Parameters
        ----------
        flat : torch.Tensor of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        scores : torch.Tensor of shape (n_samples,)
        """
        for part, learns in self._modes:
            part.training = learns and self._is_training
        inputs = self.samples.read(slice(None), self.dtype)
        call = require_torch().func.functional_call
        return call(self.module, self._named(flat), (inputs,)).reshape(-1)

    def entering_head(self, flat):
        """What enters the last layer, (n_samples, n_units), as a tensor.

        Parameters
        ----------
        flat : torch.Tensor of shape (n_parameters,)
            Parameters of the model.

        Returns
        -------
        hidden : torch.Tensor of shape (n_samples, n_units)
        """
        caught = []
        handle = self._head.register_forward_pre_hook(lambda _, entering: caught.append(*entering))
        try:
            self.outputs(flat)
        finally:
            handle.remove()
        return caught[0].reshape(len(self.samples), -1)


def _is_batch_norm(part):
    return isinstance(part, require_torch().nn.modules.batchnorm._BatchNorm) and (
        part.track_running_stats
    )
