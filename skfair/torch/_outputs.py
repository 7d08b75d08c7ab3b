"""Output layers of modules of PyTorch: scores that are linear in them, of one sample alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import Module

from skfair.torch._samples import (
    call_module,
    cast_all,
    cast_floating,
    copy_inputs,
    count_in_batch,
    disable_autocast,
    find_first_tensor,
    map_tensors,
    take_inputs,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from torch import Tensor


# Layers, and hooks, which pickle finds by their names here.


class ScoreLayer(nn.Linear):
    """Linear layer with one output, the score, whatever a module computes from its outputs.

    A module that returns ``factors @ outputs + shift`` returns ``weight @ inputs + bias``. The
    layer that it replaces, of any number of outputs, gives its first weight and bias. Inputs may
    have another dtype than the weight, which is more precise than other layers once it is fitted.
    """

    def __init__(
        self,
        layer: ScoreLayer | Module,
        factors: Sequence[float] = (1.0,),
        shift: float = 0.0,
    ) -> None:
        weight, bias = _weight_and_bias(layer)
        super().__init__(weight.shape[1], 1, device="meta")  # nothing is drawn
        self.shift = float(shift)
        # The shortest outputs of which the module makes a score of 1.
        self.spread = tuple(factor / sum(one**2 for one in factors) for factor in factors)
        # Sums of products, which autocast leaves in the dtype of the weight.
        scales = weight.new_tensor(factors)[:, None]
        self.weight = nn.Parameter((scales * weight).sum(dim=0, keepdim=True))
        self.bias = nn.Parameter((scales[:, 0] * bias).sum(dim=0, keepdim=True) + shift)

    def forward(self, input: Tensor) -> Tensor:
        """Outputs (..., n_outputs) from which the module makes the score."""
        scores = super().forward(input.to(self.weight.dtype))
        if self.spread == (1.0,) and not self.shift:
            return scores
        return (scores - self.shift) * scores.new_tensor(self.spread)


def _weight_and_bias(layer: ScoreLayer | Module) -> tuple[Tensor, Tensor]:
    """Weight (n_outputs, n_inputs) and bias (n_outputs,) of the outputs of a linear layer."""
    weight = layer.weight.detach()
    bias = weight.new_zeros(len(weight)) if layer.bias is None else layer.bias.detach()
    if not isinstance(layer, ScoreLayer):
        return weight, bias
    spread = weight.new_tensor(layer.spread)
    return spread[:, None] * weight, spread * (bias - layer.shift)


class WithOutputLayer(nn.Sequential):
    """A module of any arguments, and a layer behind it."""

    @property
    def module_in_front(self) -> Module:
        """The module in front of the layer."""
        return self[0]

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        """The output of the last layer."""
        module, *others = self
        outputs = module(*inputs, **named)
        for layer in others:
            outputs = layer(outputs)
        return outputs


def return_logits(module: Module, args: tuple[Any, ...], outputs: Tensor) -> Tensor:
    """Hook of a module: the logits of the object that it returns."""
    return getattr(outputs, "logits", outputs)


def subtract_logits(module: Module, args: tuple[Any, ...], outputs: Tensor) -> Tensor:
    """Hook of a module: the score of two logits."""
    return outputs[:, 1:] - outputs[:, :1]


def has_two_columns(module: Module) -> bool:
    """Whether the score of a module is the difference of the two columns that it returns."""
    return subtract_logits in module._forward_hooks.values()


# Find or append the output layer.


def ensure_output_layer(module: Module, inputs: Tensor) -> tuple[Module, ScoreLayer]:
    """A module with one score per sample, linear in an output layer, and that layer.

    The module is probed on ``inputs``, some samples, and changed in place. It is wrapped if no
    layer of its own can be its output layer.
    """
    _check_batch_norms(module)
    outputs = evaluate_module(module, inputs)
    # Models of Hugging Face, for example, return an object.
    if isinstance(getattr(outputs, "logits", None), torch.Tensor):
        module.register_forward_hook(return_logits)
        outputs = outputs.logits
    _check_outputs(module, outputs, count_in_batch(inputs))
    _check_independence(module, inputs, outputs)
    return _replace_output_layer(module, inputs, outputs) or append_output_layer(module, outputs)


def append_output_layer(module: Module, outputs: Tensor) -> tuple[Module, Module]:
    """The module with a new linear layer behind it, and that layer.

    ``outputs`` are those of the module for some samples. Behind a single number per sample the
    layer is initialised to the identity.
    """
    # Append a layer of the module's dtype, on its device.
    like = next((one for one in module.parameters() if one.is_floating_point()), outputs)
    n_columns = outputs[0].numel()
    layer = nn.Linear(n_columns, 1, device=like.device, dtype=like.dtype)
    # The identity: training starts from the scores of the module as it was passed.
    if n_columns == 1:
        nn.init.ones_(layer.weight)
        nn.init.zeros_(layer.bias)
    layer = ScoreLayer(layer)
    shape = nn.Unflatten(0, (-1, 1)) if outputs.ndim == 1 else nn.Identity()
    return WithOutputLayer(module, shape, layer), layer


def _replace_output_layer(
    module: Module, inputs: Tensor, outputs: Tensor
) -> tuple[Module, ScoreLayer] | None:
    """The module with a `ScoreLayer` in place of its last linear layer, and that layer.

    None if scores are no linear function of the outputs of any layer. The score is the module's
    output, or the difference of two logits.
    """
    n_columns = outputs[0].numel()
    if n_columns > 2:
        return None
    expected = _read_scores(outputs)
    for layer, values in reversed(_record_linear_layers(module, inputs)):
        if values.numel() != len(outputs) * values.shape[-1]:
            continue  # it is called for parts of a sample
        score_map = _find_score_map(module, layer, values, inputs)
        if score_map is None:
            continue
        # Other code of the module may use the layer: compare the scores.
        score_layer = ScoreLayer(layer, *score_map)
        module = _replace_layer(module, layer, score_layer)
        if _are_outputs_close(module, _evaluate_scores(module, inputs), expected):
            if n_columns == 2:
                module.register_forward_hook(subtract_logits)
            return module, score_layer
        module = _replace_layer(module, score_layer, layer)
    return None


def _record_linear_layers(
    module: Module, inputs: Tensor
) -> list[tuple[ScoreLayer | Module, Tensor]]:
    """Linear layers of few outputs with these, in the order of their calls; those called once."""
    calls = []
    layers = [
        layer
        for layer in module.modules()
        if isinstance(layer, nn.Linear)
        and layer.out_features <= 64
        and all(parameter.requires_grad for parameter in layer.parameters())
    ]
    handles = [
        # A copy: the module may change its output in place.
        layer.register_forward_hook(lambda layer, _, values: calls.append((layer, values.clone())))
        for layer in layers
    ]
    try:
        evaluate_module(module, inputs)
    finally:
        for handle in handles:
            handle.remove()
    called = [layer for layer, _ in calls]
    return [call for call in calls if called.count(call[0]) == 1]


def _find_score_map(
    module: Module, layer: ScoreLayer | Module, values: Tensor, inputs: Tensor
) -> tuple[list[float], float] | None:
    """Factors (n_outputs,) and shift of the score as a function of a layer's outputs, or None.

    The module is evaluated with other outputs in place of the layer's `values`.
    """

    def scores_at(outputs: Tensor) -> Tensor:
        with layer.register_forward_hook(lambda *_: outputs.clone()):
            return _evaluate_scores(module, inputs)

    # In double precision, in which the layer is fitted.
    zeros = torch.zeros_like(values, dtype=torch.float64)
    units = torch.eye(values.shape[-1], dtype=torch.float64, device=values.device)
    shift = scores_at(zeros)
    factors = torch.stack([scores_at(zeros + unit) - shift for unit in units], dim=1)
    # The same function for each sample, and linear also far from 0.
    draws = torch.randn(values.shape, generator=torch.Generator().manual_seed(0))
    draws = 100.0 * draws.to(zeros)
    linear = draws.reshape(factors.shape) @ factors[0] + shift[0]
    pairs = (factors, factors[:1].expand_as(factors)), (scores_at(draws), linear)
    if not factors.any() or not all(torch.allclose(*pair, rtol=1e-9, atol=1e-9) for pair in pairs):
        return None
    return factors[0].tolist(), shift[0].item()


def _evaluate_scores(module: Module, inputs: Tensor) -> Tensor:
    """Scores of some samples, (n_samples,); nan where layers do not take those before them."""
    try:
        return _read_scores(evaluate_module(module, inputs))
    except RuntimeError:
        return torch.full((count_in_batch(inputs),), torch.nan, dtype=torch.float64)


def _read_scores(outputs: Tensor) -> Tensor:
    """Scores of samples, (n_samples,), from outputs of one or two columns."""
    is_pair = outputs.ndim == 2 and outputs.shape[1] == 2
    return (outputs[:, 1] - outputs[:, 0] if is_pair else outputs.reshape(-1)).double()


def _replace_layer(module: Module, layer: ScoreLayer | Module, other: ScoreLayer) -> Module:
    """The module with another layer in each place of a layer."""
    if layer is module:
        return other
    for parent in list(module.modules()):
        for name, child in parent.named_children():
            if child is layer:
                setattr(parent, name, other)
    return module


def unwrap_compiled(module: Module) -> tuple[Module, bool]:
    """A module without the wrappers of `torch.compile`, whose layers have no hooks; and if it had.

    The wrappers inside the module are replaced in place.
    """
    if isinstance(module, torch.jit.ScriptModule):
        raise TypeError(
            "module must have layers that can be read and replaced, but that is a "
            f"{type(module).__name__} of torch.jit; pass the module that was scripted or traced, "
            "which torch.compile may have compiled."
        )
    wrappers = [layer for layer in module.modules() if hasattr(layer, "_orig_mod")]
    for wrapper in wrappers:
        module = _replace_layer(module, wrapper, wrapper._orig_mod)
    return module, bool(wrappers)


# Evaluate and check modules.


def evaluate_module(module: Module, inputs: Tensor) -> Tensor:
    """Outputs of a module in evaluation mode, which it leaves afterwards, without a graph."""
    modes = [(submodule, submodule.training) for submodule in module.modules()]
    device_type = find_first_tensor(inputs).device.type
    # In training mode batch norm would fail on one sample, and learn from the others.
    module.eval()
    try:
        with torch.no_grad(), disable_autocast(device_type):
            return call_module(module, copy_inputs(inputs))
    finally:
        for submodule, was_training in modes:
            submodule.training = was_training


def _check_independence(module: Module, inputs: Tensor, outputs: Tensor) -> None:
    """Raise if a sample's output is another one in another batch, or the next time."""
    again = evaluate_module(module, inputs)
    if not _are_outputs_close(module, again, outputs):
        raise ValueError(
            "In evaluation mode the output for a sample must be the same each time, but "
            f"{type(module).__name__} returns another one the second time; draw random numbers "
            "only if self.training."
        )
    for rows in ([1, 0], [0] * 9 + [1] * 7, [0], [1]):
        rows = torch.tensor(rows, device=outputs.device) % len(outputs)
        batch = evaluate_module(module, take_inputs(inputs, rows))
        check_batch(module, batch.reshape(-1), outputs[rows].reshape(-1))


def _check_batch_norms(module: Module) -> None:
    """Raise for batch norms that normalise by the batch in evaluation mode, too."""
    for name, layer in module.named_modules():
        is_norm = isinstance(layer, nn.modules.batchnorm._BatchNorm)
        if is_norm and layer.running_mean is None:
            raise ValueError(
                "In evaluation mode the output for a sample must depend on that sample alone, but "
                f"{name or 'the module'} is a {type(layer).__name__} without running statistics, "
                "which normalises by the other samples of the batch; make it with "
                "track_running_stats=True, or use LayerNorm or GroupNorm."
            )


def check_batch(module: Module, values: Tensor, expected: Tensor) -> None:
    """Raise if the outputs for samples are others in another batch."""
    if not _are_outputs_close(module, values, expected):
        raise ValueError(
            "In evaluation mode the output for a sample must depend on that sample alone, but that "
            f"of {type(module).__name__} depends on the other samples of its batch; compute over "
            "other axes than the first, which counts samples (attention and recurrent layers: "
            "batch_first=True)."
        )


def _are_outputs_close(module: Module, values: Tensor, expected: Tensor) -> bool:
    """Whether outputs are equal up to rounding in the least precise dtype of a module."""
    if values.shape != expected.shape or not expected.isfinite().all():
        return True  # other checks know more about these
    dtypes = {one.dtype for one in module.parameters() if one.is_floating_point()}
    eps = max(torch.finfo(dtype).eps for dtype in dtypes | {torch.float32})
    scale = 1.0 + expected.double().abs().max()
    return bool(((values - expected).double().abs() <= eps**0.5 * scale).all())


def _check_outputs(module: Module, outputs: Tensor, n_samples: int) -> None:
    """Raise for outputs that are no scores or features, one row per sample."""
    name = type(module).__name__
    wanted = "(n_samples,), (n_samples, 1) or (n_samples, n_units)"
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


def cast_to_accepted_dtype(module: Module, inputs: Tensor) -> tuple[Tensor, bool]:
    """Inputs in a dtype that a module takes, and whether it takes integers as they are."""
    dtype = find_dtype(module, ())
    inputs, real = cast_floating(inputs, dtype), cast_all(inputs, dtype)
    try:
        # Layers of real numbers raise for integers, embeddings for anything else.
        evaluate_module(module, inputs)
    except RuntimeError as error:
        has_integers = []
        map_tensors(inputs, lambda one: has_integers.append(not one.is_floating_point()))
        if not any(has_integers):
            dtypes = []
            map_tensors(inputs, lambda one: dtypes.append(str(one.dtype)))
            error.add_note(
                f"The samples were passed to the module as {', '.join(dtypes)}. If the error is "
                "about dtypes, the module makes or keeps tensors of another one: register them "
                "with register_buffer, make them with dtype=x.dtype, or convert the module, for "
                "example by module.float()."
            )
            raise
        evaluate_module(module, real)
        return real, False
    return inputs, True


def find_dtype(module: Module, output_ids: Collection[int]) -> torch.dtype | None:
    """Dtype of the real numbers in a module outside its output layer; None without any."""
    tensors = [*module.parameters(), *module.buffers()]
    real = (one for one in tensors if one.is_floating_point() and id(one) not in output_ids)
    return next((one.dtype for one in real), None)
