"""Modules of PyTorch that give one score per sample, linear in its last parameters."""

from contextlib import contextmanager


def require_torch():
    """PyTorch, imported when it is first needed.

    Returns
    -------
    torch : module

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "skfair.torch needs PyTorch, which is not installed: pip install 'skfair[torch]'. "
            "skfair.classification.ConstrainedMLPClassifier is a perceptron that does without it."
        ) from error
    return torch


def check_device(device):
    """The device of a name, if it can be used.

    Parameters
    ----------
    device : str or torch.device
        Such as "cpu", "cuda" or "cuda:1".

    Returns
    -------
    device : torch.device

    Raises
    ------
    ValueError
        If it is not there.
    """
    torch = require_torch()
    try:
        found = torch.device(device)
        torch.zeros(1, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device={str(device)!r} cannot be used here ({reason}). Pass device='cpu', or install "
            "a PyTorch built for that device, and its driver."
        ) from error
    return found


@contextmanager
def seeded(seed, device):
    """A block whose draws by PyTorch depend on a seed, and that leaves its generators as they were.

    Parameters
    ----------
    seed : int
        The seed.
    device : torch.device
        Where the block draws, beside the CPU.
    """
    torch = require_torch()
    others = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(devices=others, device_type=others[0].type if others else "cuda"):
        torch.manual_seed(seed)
        yield


def perceptron(n_numbers):
    """The network where none is given: 64 and 32 hidden units, for samples of any shape.

    Parameters
    ----------
    n_numbers : int
        Numbers in a sample.

    Returns
    -------
    module : torch.nn.Module
    """
    nn = require_torch().nn
    hidden = nn.Linear(n_numbers, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU()
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(32, 1))


def with_head(module, inputs):
    """A module that ends in a linear layer of one score, and that layer.

    Parameters
    ----------
    module : torch.nn.Module
        As users give it: one number per sample, or several, which a new layer then weighs.
    inputs : torch.Tensor of shape (n_samples, ...)
        Some samples to try it on.

    Returns
    -------
    module : torch.nn.Module
        The same one, where it ends in such a layer; else it and a layer behind it. A layer behind
        one number per sample leaves that as it is to begin with.
    head : torch.nn.Linear
        With one output and a bias.

    Raises
    ------
    ValueError
        If it gives something else, or probabilities instead of scores.
    """
    torch = require_torch()
    outputs, heads = _tried(module, inputs)
    _check_outputs(module, outputs, len(inputs))
    if len(heads) == 1:
        return module, heads[0]
    nn = torch.nn
    place = next(module.parameters(), outputs)
    n_columns = outputs[0].numel()
    head = nn.Linear(n_columns, 1, device=place.device, dtype=place.dtype)
    if n_columns == 1:
        nn.init.ones_(head.weight)
        nn.init.zeros_(head.bias)
    shape = nn.Unflatten(0, (-1, 1)) if outputs.ndim == 1 else nn.Identity()
    return nn.Sequential(module, shape, head), head


def _tried(module, inputs):
    """Outputs of a module for some samples, and the linear layers that give just these."""
    torch, given = require_torch(), {}

    def note(layer, entering, leaving):
        given.setdefault(layer, []).append(leaving)

    may_be_head = [layer for layer in module.modules() if _may_be_head(layer)]
    handles = [layer.register_forward_hook(note) for layer in may_be_head]
    modes = [(part, part.training) for part in module.modules()]
    module.eval()  # batch norm could not be tried on one sample, and would learn from it
    try:
        with torch.no_grad():
            outputs = module(inputs)
    finally:
        for handle in handles:
            handle.remove()
        for part, was_training in modes:
            part.training = was_training
    return outputs, [layer for layer, left in given.items() if _is_all(left, outputs)]


def _may_be_head(layer):
    is_linear = isinstance(layer, require_torch().nn.Linear)
    return (
        is_linear
        and layer.out_features == 1
        and layer.bias is not None
        and layer.weight.requires_grad
        and layer.bias.requires_grad
    )


def _is_all(left, outputs):
    """Whether a layer was asked once, and what left it is what left the module."""
    torch = require_torch()
    if len(left) > 1 or not isinstance(outputs, torch.Tensor):
        return False
    return torch.equal(left[0].reshape(-1), outputs.reshape(-1))


def _check_outputs(module, outputs, n_samples):
    torch = require_torch()
    name, wanted = type(module).__name__, "(n_samples,), (n_samples, 1) or (n_samples, n_units)"
    if not isinstance(outputs, torch.Tensor):
        raise ValueError(
            f"The module must give a tensor of shape {wanted}, but {name} gives a "
            f"{type(outputs).__name__}; wrap it in a module that gives the scores."
        )
    if outputs.ndim not in (1, 2) or len(outputs) != n_samples or not outputs.numel():
        raise ValueError(
            f"The module must give a tensor of shape {wanted}, but for {n_samples} samples {name} "
            f"gives the shape {tuple(outputs.shape)}; end it in Flatten and Linear, say."
        )
    last = [*module.modules()][-1]
    if isinstance(last, torch.nn.Sigmoid | torch.nn.Softmax | torch.nn.LogSoftmax):
        raise ValueError(
            f"The module must give scores, positive for one class and negative for the other, but "
            f"{name} ends in {type(last).__name__}; leave that out: the loss takes care of it."
        )
