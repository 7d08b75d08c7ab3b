"""Fits of modules of many shapes: the module keeps the tolerance, or a message says why not."""

import copy
import subprocess
import sys

import numpy as np
import pytest

from skfair.metrics import demographic_parity_difference, equalized_odds_difference
from skfair.solvers import AdamPrimalDual
from skfair.torch import ConstrainedTorchClassifier, TorchModel
from tests.torch_device import make_tensor

torch = pytest.importorskip("torch")
nn, functional = torch.nn, torch.nn.functional

N_COLUMNS = 6
TOLERANCE = 0.05
GAPS = {
    "demographic_parity": demographic_parity_difference,
    "equalized_odds": equalized_odds_difference,
}


@pytest.fixture(scope="module")
def data():
    """Four real columns, one of small integers, and one that marks rare samples."""
    rng = np.random.default_rng(0)
    groups = np.where(rng.random(400) < 0.4, "a", "b")
    X = rng.normal(size=(400, N_COLUMNS))
    X[:, 0] += groups == "a"
    X[:, 4] = rng.integers(6, size=400)
    X[:, 5] = rng.random(400) < 0.1 + 0.2 * (groups == "a")
    X[:2, 5] = 0.0  # the first samples do not show what happens to the rare ones
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * (X[:, 4] - 2.5) + 0.5 * rng.normal(size=400) > 0.3
    return X.astype(np.float32), y, groups


def make_body(n_units=8):
    return nn.Sequential(nn.Linear(N_COLUMNS, n_units), nn.Tanh())


class Shape(nn.Module):
    """A body and an output layer, put together by a function of the module and its inputs."""

    def __init__(self, forward, output=None, body=None, **children):
        super().__init__()
        self.body = make_body() if body is None else body
        self.out = nn.Linear(8, 1) if output is None else output
        for name, child in children.items():
            setattr(self, name, child)
        self._compute = forward

    def forward(self, x):
        return self._compute(self, x)


class Unchanged(nn.Linear):
    """A subclass that computes what its base does."""


class Normalized(nn.Linear):
    """A subclass whose weight has length 1."""

    def forward(self, x):
        return functional.linear(x, functional.normalize(self.weight, dim=1), self.bias)


def is_rare(x):
    return x[:, 5:6] > 0


def end_in(layer):
    return lambda: nn.Sequential(make_body(), layer(8, 1))


def shape(forward, **children):
    """A maker of modules; children are made by functions, as all parameters are."""
    return lambda: Shape(forward, **{name: make() for name, make in children.items()})


def scalar(value=0.0):
    return nn.Parameter(torch.tensor(value))


def last_state(self, x, *start):
    states, _ = self.cells(x[:, :, None], *start)
    return self.out(states[:, -1])


def make_start(x):
    return torch.zeros(1, len(x), 8, dtype=torch.float32, device=x.device)


def attend(self, x):
    tokens = self.embed(x[:, :, None])
    return self.out((tokens + self.attention(tokens, tokens, tokens)[0]).mean(dim=1))


def embed(self, x):
    return self.out(torch.cat([self.table(x[:, 4].long()), x[:, :4]], dim=1))


def weigh_experts(self, x):
    return (self.gate(x).softmax(dim=1) * self.experts(x)).sum(dim=1)


def shift_in_place(self, x):
    x[:, :4] -= 0.5
    return self.out(self.body(x))


def change_output_in_place(self, x):
    scores = self.out(self.body(x))
    scores += 3.0 * is_rare(x)
    return scores


def old_weight_norm(n_in, n_out):
    return nn.utils.weight_norm(nn.Linear(n_in, n_out))


def attention():
    return nn.MultiheadAttention(8, 2, batch_first=True)


def encoder():
    return nn.TransformerEncoderLayer(8, 2, dim_feedforward=8, dropout=0.1, batch_first=True)


def convolution():
    return nn.Sequential(
        nn.Unflatten(1, (1, N_COLUMNS)),
        nn.Conv1d(1, 4, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16, 1),
    )


def image():
    layers = nn.Unflatten(1, (1, 2, 3)), nn.Conv2d(1, 4, 2), nn.BatchNorm2d(4), nn.ReLU()
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 1))


def zero_output():
    module = nn.Sequential(make_body(), nn.Linear(8, 1))
    nn.init.zeros_(module[1].weight)
    return module


def frozen_body():
    module = nn.Sequential(make_body(), nn.Linear(8, 1))
    module[0].requires_grad_(False)
    return module


def frozen_output():
    module = nn.Sequential(make_body(), nn.Linear(8, 1))
    module[1].requires_grad_(False)
    return module


def shared_parameter():
    module = Shape(lambda self, x: self.out(self.body(x) * self.gate(self.body(x)).sigmoid()))
    module.gate = nn.Linear(8, 1)
    module.gate.weight = module.out.weight
    return module


SHAPES = {
    "linear": lambda: nn.Linear(N_COLUMNS, 1),
    "default": None,
    "perceptron": end_in(nn.Linear),
    "deep": lambda: nn.Sequential(make_body(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 1)),
    "norms": lambda: nn.Sequential(make_body(), nn.LayerNorm(8), nn.PReLU(), nn.Linear(8, 1)),
    "batch_norm": lambda: nn.Sequential(
        make_body(), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.Linear(8, 1)
    ),
    "group_norm": lambda: nn.Sequential(make_body(), nn.GroupNorm(2, 8), nn.Linear(8, 1)),
    "without_bias": lambda: nn.Sequential(make_body(), nn.Linear(8, 1, bias=False)),
    "features": make_body,
    "two_logits": lambda: nn.Sequential(make_body(), nn.Linear(8, 2)),
    "one_of_two_logits": shape(
        lambda self, x: self.two(self.body(x))[:, 0], two=lambda: nn.Linear(8, 2)
    ),
    "bounded": lambda: nn.Sequential(make_body(), nn.Linear(8, 1), nn.Tanh()),
    "clamped": shape(lambda self, x: self.out(self.body(x)).clamp(-1.0, 1.0)),
    "temperature": shape(lambda self, x: self.out(self.body(x)) * self.log_t.exp(), log_t=scalar),
    "flat": lambda: nn.Sequential(make_body(), nn.Linear(8, 1), nn.Flatten(0)),
    "squeezed": shape(lambda self, x: self.out(self.body(x)).squeeze()),
    "dropout_behind": lambda: nn.Sequential(make_body(), nn.Linear(8, 1), nn.Dropout(0.1)),
    "frozen_body": frozen_body,
    "frozen_output": frozen_output,
    "zero_output": zero_output,
    "offset_for_rare": shape(lambda self, x: self.out(self.body(x)) + 2.0 * is_rare(x)),
    "offset_in_place": shape(change_output_in_place),
    "where": shape(
        lambda self, x: torch.where(is_rare(x), self.other(self.body(x)), self.out(self.body(x))),
        other=lambda: nn.Linear(8, 1),
    ),
    "tied_in_code": shape(lambda self, x: self.out((self.body(x) * self.out.weight).tanh())),
    "tied_parameter": shared_parameter,
    "weight_norm": end_in(lambda *sizes: nn.utils.parametrizations.weight_norm(nn.Linear(*sizes))),
    "old_weight_norm": end_in(old_weight_norm),
    "spectral_norm": end_in(
        lambda *sizes: nn.utils.parametrizations.spectral_norm(nn.Linear(*sizes))
    ),
    "subclass": end_in(Unchanged),
    "normalized_subclass": end_in(Normalized),
    "zero_skip": shape(
        lambda self, x: self.out(self.body(x)) + self.scale * self.skip(x),
        scale=scalar,
        skip=lambda: nn.Linear(N_COLUMNS, 1),
    ),
    "zero_residual": shape(
        lambda self, x: self.out(self.body(x) + self.scale * self.block(self.body(x))),
        scale=scalar,
        block=lambda: nn.Linear(8, 8),
    ),
    "lstm": shape(last_state, cells=lambda: nn.LSTM(1, 8, batch_first=True)),
    "lstm_float_start": shape(
        lambda self, x: last_state(self, x, (make_start(x),) * 2),
        cells=lambda: nn.LSTM(1, 8, batch_first=True),
    ),
    "gru": shape(last_state, cells=lambda: nn.GRU(1, 4, batch_first=True, bidirectional=True)),
    "convolution": convolution,
    "image": image,
    "attention": shape(attend, embed=lambda: nn.Linear(1, 8), attention=attention),
    "transformer": lambda: nn.Sequential(
        nn.Unflatten(1, (N_COLUMNS, 1)), nn.Linear(1, 8), encoder(), nn.Flatten(), nn.Linear(48, 1)
    ),
    "embedding": shape(embed, table=lambda: nn.Embedding(6, 4), output=lambda: nn.Linear(8, 1)),
    "two_inputs": shape(
        lambda self, x: self.out(self.body(x[:, :3]) * self.other(x[:, 3:])),
        body=lambda: nn.Linear(3, 8),
        other=lambda: nn.Linear(3, 8),
    ),
    "bilinear": shape(
        lambda self, x: self.pair(x[:, :3], x[:, 3:]), pair=lambda: nn.Bilinear(3, 3, 1)
    ),
    "experts": shape(
        weigh_experts,
        gate=lambda: nn.Linear(N_COLUMNS, 3),
        experts=lambda: nn.Linear(N_COLUMNS, 3),
    ),
    "ensemble": shape(
        lambda self, x: sum(layer(self.body(x)) for layer in self.layers) / 3,
        layers=lambda: nn.ModuleList(nn.Linear(8, 1) for _ in range(3)),
    ),
    "called_twice": shape(lambda self, x: self.out(self.body(x)) + self.out(self.body(-x))),
    "lazy": lambda: nn.Sequential(nn.LazyLinear(8), nn.Tanh(), nn.LazyLinear(1)),
    "in_place": shape(shift_in_place),
    "double": lambda: nn.Sequential(make_body(), nn.Linear(8, 1)).double(),
    "bfloat16": lambda: nn.Sequential(make_body(), nn.Linear(8, 1)).bfloat16(),
    "parameters_only": shape(
        lambda self, x: self.body(x) @ self.vector + self.shift,
        vector=lambda: nn.Parameter(0.1 * torch.ones(8)),
        shift=scalar,
    ),
    "batch_mean": shape(lambda self, x: self.out(self.body(x - x.mean(dim=0)))),
    "noise": shape(lambda self, x: self.out(self.body(x) + 0.1 * torch.randn_like(self.body(x)))),
    "probability": lambda: nn.Sequential(make_body(), nn.Linear(8, 1), nn.Sigmoid()),
    "tuple": lambda: nn.LSTM(N_COLUMNS, 1),
}
REMEDIES = {
    "batch_mean": "compute over other axes than the first",
    "noise": r"draw random numbers only if self\.training",
    "probability": "leave that out",
    "tuple": "wrap it in a module that returns the scores",
}


def fit(module, constraint, data):
    X, y, groups = data
    model = ConstrainedTorchClassifier(
        module,
        constraint,
        tolerance=TOLERANCE,
        alpha=1e-4,  # 400 samples and four epochs learn little under the penalty of so few
        solver=AdamPrimalDual(max_iter=4, learning_rate=0.01, epoch_steps=1),
        random_state=0,
    )
    return model.fit(X, y, sensitive_features=groups)


@pytest.mark.filterwarnings("ignore:The constraint costs")
def test_an_output_layer_that_shares_its_weight_is_named_in_training(data):
    with pytest.warns(UserWarning, match="shares its weight with another layer.*only scaled"):
        fit(SHAPES["tied_in_code"], "demographic_parity", data)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["perceptron", "batch_norm", "two_logits", "features"])
def test_a_compiled_module_is_fitted_as_it_is_and_compiled_again(name, data):
    torch.manual_seed(0)
    module = SHAPES[name]()
    plain = fit(module, "demographic_parity", data)
    inside = nn.Sequential(torch.compile(module), nn.Identity())
    for compiled in (torch.compile(module), inside):
        model = fit(compiled, "demographic_parity", data)
        X = data[0]
        np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
        assert model.module_._compiled_call_impl is not None
        assert not any("_orig_mod" in key for key in model.module_.state_dict())
    assert isinstance(inside[0]._orig_mod, nn.Module)  # the module that is passed is not changed
    assert plain.module_._compiled_call_impl is None


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_module_in_half_precision_is_not_compiled_again():
    module = torch.compile(nn.Linear(2, 1).bfloat16(), backend="eager")
    with pytest.warns(UserWarning, match="module_ is not compiled, since .* in half precision"):
        module = TorchModel(module, np.ones((3, 2)))
    assert module.module_at(module.initial())._compiled_call_impl is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.torch.jit.script:FutureWarning")
def test_a_scripted_module_is_named():
    with pytest.raises(TypeError, match=r"but that is a .*of torch\.jit; pass the module that was"):
        TorchModel(torch.jit.script(nn.Linear(2, 1)), np.ones((3, 2)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("constraint", GAPS)
@pytest.mark.parametrize("name", [name for name in SHAPES if name not in REMEDIES])
def test_the_module_keeps_the_tolerance(name, constraint, data):
    X, y, groups = data
    before = X.copy()
    model = fit(SHAPES[name], constraint, data)
    np.testing.assert_array_equal(X, before)
    decisions = model.predict(X)
    gap = GAPS[constraint](y, decisions, sensitive_features=groups)
    assert gap <= TOLERANCE
    assert model.constraint_violation_ == 0.0
    assert model.constraint_report_["gap"].max() == pytest.approx(gap)
    assert np.unique(decisions).size == 2  # no constant classifier
    # The module itself decides so, in a loop of the user's own.
    module = copy.deepcopy(model.module_).eval()
    body = next(tensor for tensor in module.parameters() if tensor.is_floating_point())
    with torch.no_grad():
        inputs = make_tensor(X)
        scores = module(inputs if name == "linear" else inputs.to(body.dtype)).reshape(-1)
    np.testing.assert_array_equal(scores.cpu().numpy() > 0, decisions)


@pytest.mark.parametrize("constraint", GAPS)
@pytest.mark.parametrize("name", REMEDIES)
def test_a_message_names_the_remedy(name, constraint, data):
    with pytest.raises(ValueError, match=REMEDIES[name]):
        fit(SHAPES[name], constraint, data)


_MEASURE_MEMORY = """
from pathlib import Path

import numpy as np
import torch

from skfair._kernels import compile_at_first_call
from skfair.torch import ConstrainedTorchClassifier, TorchModel
from tests.torch_device import make_tensor

n_samples, n_units = 200_000, 32
rng = np.random.default_rng(0)
X = rng.normal(size=(n_samples, 20)).astype(np.float32)
groups = rng.integers(2, size=n_samples)
y = X[:, 0] + 0.5 * groups + rng.normal(size=n_samples) > 0
module = torch.nn.Sequential(
    torch.nn.Linear(20, n_units), torch.nn.ReLU(), torch.nn.Linear(n_units, 1)
)
model = ConstrainedTorchClassifier(module, tolerance=0.03, solver=None)
with compile_at_first_call():  # the memory of compiled code is not that of the fit
    model.fit(X[:30_000], y[:30_000], sensitive_features=groups[:30_000])


def read_bytes(name):
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if name in line]
    return 1024 * int(line.split()[1])


before = read_bytes("VmRSS")
model.fit(X, y, sensitive_features=groups)
print((read_bytes("VmHWM") - before) / (8 * n_samples * n_units))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_at_most_three_times_the_inputs_of_the_last_layer():
    command = [sys.executable, "-c", _MEASURE_MEMORY]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    # The inputs themselves, and twice as much for all else.
    assert 1.0 <= float(run.stdout) <= 3.0
