"""Modules of PyTorch that give one score per sample, linear in its last parameters."""

from contextlib import contextmanager


def require_torch():
    """PyTorch, imported when it is first needed; an ImportError that tells how to install it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "skfair.torch needs PyTorch, which is not installed: pip install 'skfair[torch]'. "
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
    """Refuse outputs that are no scores or features, one row per sample."""
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
