"""A module of PyTorch as a model: its derivatives, its last layer, its modes, its input."""

import copy
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from skfair._problems.linear import LinearModel
from skfair._problems.mlp import MLPModel
from skfair._problems.model import ChunkedPoint, Model
from skfair.torch import TorchModel
from skfair.torch import _model as code
from tests.torch_device import DEVICE, make_tensor

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)


def perceptron(X, *sizes):
    """The network of an `MLPModel`, both at the same parameters."""
    known = MLPModel(X.astype(np.float64), sizes)
    parameters = known.initial(0)
    layers = []
    for weights, bias in known.layers(parameters):
        layer = nn.Linear(*weights.shape)
        layer.weight.data, layer.bias.data = torch.tensor(weights.T), torch.tensor(bias)
        layers += [layer, nn.ReLU()]
    return TorchModel(nn.Sequential(*layers[:-1]), X), known.evaluate(parameters)


def make_dropout():
    torch.manual_seed(0)
    hidden = nn.Linear(4, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.5)
    return nn.Sequential(*hidden, nn.Linear(5, 1))


def test_the_model_implements_the_protocol(X):
    assert isinstance(TorchModel(nn.Linear(4, 1), X), Model)


def test_scores_and_last_layer_are_those_of_the_perceptron_in_numpy(X):
    model, known = perceptron(X, 5, 3)
    at = model.evaluate(model.initial())
    np.testing.assert_allclose(at.scores, known.scores, atol=1e-12)
    np.testing.assert_allclose(at.hidden, known.hidden, atol=1e-12)
    last = model.last_layer(at.parameters)
    assert isinstance(last, LinearModel)
    last_layer = at.parameters[-last.n_parameters :]
    assert model.network.n_last == last.n_parameters
    np.testing.assert_allclose(last.scores(last_layer), known.scores, atol=1e-12)


def convolutional():
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 3, 2), nn.Tanh(), nn.Flatten(), nn.Linear(3, 1)
    )


MODULES = [
    lambda: nn.Linear(4, 1),
    lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1), nn.Flatten(0)),
    convolutional,
    lambda: nn.Sequential(nn.Linear(4, 3), nn.Tanh()),
    lambda: nn.Sequential(nn.Linear(4, 1, bias=False), nn.Tanh(), nn.Flatten(0)),
]


@pytest.mark.parametrize("make", MODULES)
def test_the_gradient_is_that_of_the_scores(make, X):
    torch.manual_seed(1)
    model = TorchModel(make().double(), X)
    rng = np.random.default_rng(1)
    parameters = model.initial()
    slopes = rng.normal(size=len(X))
    gradient = model.evaluate(parameters).pull_back(slopes)
    for _ in range(5):
        direction = 1e-6 * rng.normal(size=model.n_parameters)
        ahead, behind = (model.evaluate(parameters + sign * direction).scores for sign in (1, -1))
        assert 2 * gradient @ direction == pytest.approx(slopes @ (ahead - behind), rel=1e-6)


def test_evaluations_keep_their_parameters(X):
    model, _ = perceptron(X, 5)
    first = model.evaluate(model.initial())
    scores = first.scores
    slopes = np.linspace(-1, 1, len(X))
    gradient = first.pull_back(slopes)
    other = model.evaluate(1.0 + model.initial())
    assert (other.scores != scores).all()
    np.testing.assert_array_equal(first.pull_back(slopes), gradient)


def test_chunks_of_rows_give_the_same_scores(X, monkeypatch):
    model, _ = perceptron(np.tile(X, (2, 1)), 5, 3)
    parameters = model.initial()
    slopes = np.linspace(-1, 1, 60)
    at_once = model.evaluate(parameters)
    monkeypatch.setattr(code, "_NUMBERS_PER_CHUNK", 1)  # sixteen samples pass at a time
    model, _ = perceptron(np.tile(X, (2, 1)), 5, 3)
    chunked = model.evaluate(parameters)
    assert isinstance(chunked, ChunkedPoint)
    np.testing.assert_allclose(chunked.scores, at_once.scores, atol=1e-14)
    np.testing.assert_allclose(chunked.pull_back(slopes), at_once.pull_back(slopes), atol=1e-13)
    np.testing.assert_allclose(chunked.hidden, at_once.hidden, atol=1e-14)


def test_rows_of_a_jacobian_are_gradients(X):
    model, _ = perceptron(X, 3)
    at = model.evaluate(model.initial())
    cells = np.zeros((2, len(X)))
    cells[0, :10], cells[1, 5:] = 0.1, np.linspace(0, 1, len(X) - 5)
    rows = at.pull_back_rows(sparse.csr_array(cells))
    np.testing.assert_allclose(rows, [at.pull_back(cell) for cell in cells], atol=1e-14)


def test_a_subset_has_the_scores_of_its_samples(X):
    model, _ = perceptron(X, 5)
    parameters = model.initial()
    rows = np.array([3, 3, 17])
    scores = model.evaluate(parameters).scores[rows]
    np.testing.assert_allclose(model.take(rows).evaluate(parameters).scores, scores, atol=1e-14)
    np.testing.assert_allclose(model.batch(rows).evaluate(parameters).scores, scores, atol=1e-14)


class Rows(torch.utils.data.Dataset):
    """Pairs of a row and something else."""

    def __init__(self, X):
        self.X = X

    def __len__(self):
        return len(self.X)

    def __getitem__(self, number):
        return torch.as_tensor(self.X[number]), "not looked at"


def test_a_dataset_is_read_as_an_array_is(X):
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))
    rows = np.array([4, 0, 4])
    array = TorchModel(module, X)
    dataset = TorchModel(module, Rows(X))
    start = array.initial()
    np.testing.assert_array_equal(dataset.evaluate(start).scores, array.evaluate(start).scores)
    np.testing.assert_array_equal(
        dataset.take(rows).evaluate(start).scores, array.take(rows).evaluate(start).scores
    )


def test_integers_keep_their_dtype_for_embeddings():
    tokens = torch.arange(6).reshape(3, 2)
    model = TorchModel(nn.Sequential(nn.Embedding(6, 2), nn.Flatten(), nn.Linear(4, 1)), tokens)
    assert model.evaluate(model.initial()).scores.shape == (3,)


def test_frozen_parameters_are_excluded(X):
    body = nn.Linear(4, 3).requires_grad_(False)
    model = TorchModel(nn.Sequential(body, nn.Tanh(), nn.Linear(3, 1)), X)
    assert model.n_parameters == 4
    trained = model.module_at(np.ones(4))
    torch.testing.assert_close(trained[0].weight.cpu(), body.weight)
    np.testing.assert_array_equal(model.parameters(trained), np.ones(4))


def test_only_weights_are_penalised(X):
    model = TorchModel(make_dropout(), X)
    weights = [tensor.numel() for tensor in make_dropout().parameters() if tensor.ndim > 1]
    assert model.ridge(0.5).sum() == 0.5 * sum(weights)


def test_one_score_per_sample_is_unchanged_at_the_start(X):
    module = nn.Sequential(nn.Linear(4, 1), nn.Tanh(), nn.Flatten(0)).to(DEVICE)
    model = TorchModel(module, X)
    scores = module(make_tensor(X)).numpy(force=True)
    np.testing.assert_allclose(model.evaluate(model.initial()).scores, scores, atol=1e-7)
    assert model.network.n_last == 2


def test_the_module_is_not_changed(X):
    module = make_dropout()
    before = copy.deepcopy(module.state_dict())
    model = TorchModel(module, X)
    model.batch(np.arange(30)).evaluate(1.0 + model.initial()).pull_back(np.ones(30))
    for name, tensor in module.state_dict().items():
        torch.testing.assert_close(tensor, before[name])
    assert all(part.training for part in module.modules())


def test_dropout_and_batch_norm_work_in_batches_alone(X):
    model = TorchModel(make_dropout(), X)
    rows = np.arange(30)
    start = model.initial()
    calm = model.evaluate(start).scores
    batch = model.batch(rows)
    assert (
        batch.evaluate(start).scores != batch.evaluate(start).scores
    ).any()  # other units are dropped
    learned = model.network.module[1].running_mean.clone()
    assert (learned != 0).any()
    assert (model.evaluate(start).scores != calm).any()  # by what the batches have shown
    model.evaluate(start).pull_back(np.ones(30))
    torch.testing.assert_close(model.network.module[1].running_mean, learned)


def test_layers_in_evaluation_mode_stay_in_it(X):
    model = TorchModel(make_dropout().eval(), X)
    batch = model.batch(np.arange(30))
    start = model.initial()
    np.testing.assert_array_equal(batch.evaluate(start).scores, batch.evaluate(start).scores)
    assert model.estimate_batch_norm(start) is model


def test_batch_norm_is_measured_over_all_samples(X):
    model = TorchModel(make_dropout(), X)
    parameters = model.initial()
    model.batch(np.arange(3)).evaluate(parameters).pull_back(np.ones(3))
    norm = model.estimate_batch_norm(parameters).network.module[1]
    entering = make_dropout()[0].to(DEVICE)(make_tensor(X)).detach()
    torch.testing.assert_close(norm.running_mean, entering.mean(dim=0))
    torch.testing.assert_close(norm.running_var, entering.var(dim=0))
    assert norm.momentum == 0.1


@pytest.mark.parametrize("n_samples", [1025, 1026, 1100])
def test_a_short_last_chunk_does_not_outweigh_the_samples_of_batch_norm(n_samples):
    X = np.random.default_rng(0).normal(size=(n_samples, 4)).astype(np.float32)
    X[1024:] += 5.0
    model = TorchModel(make_dropout(), torch.utils.data.DataLoader(torch.as_tensor(X)))
    norm = model.estimate_batch_norm(model.initial()).network.module[1]
    entering = make_dropout()[0].to(DEVICE)(make_tensor(X)).detach()
    torch.testing.assert_close(norm.running_mean, entering.mean(dim=0))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Unflatten(1, (2, 2)), r"for 2 samples Unflatten returns shape \(2, 2, 2\)"),
        (nn.Flatten(0), r"for 2 samples Flatten returns shape \(8,\)"),
        (nn.LSTM(4, 2), "LSTM returns a tuple"),
        (nn.Sequential(nn.Linear(4, 1), nn.Sigmoid()), "Sequential ends in Sigmoid; leave that"),
    ],
)
def test_modules_without_scores_are_refused(module, message, X):
    with pytest.raises(ValueError, match=message):
        TorchModel(module, X)


@pytest.mark.parametrize("device", ["no such device", "cuda:97"])
def test_a_missing_device_is_refused(device, X):
    with pytest.raises(ValueError, match="cannot be used here .*Pass device='cpu'"):
        TorchModel(nn.Linear(4, 1), X, device=device)


def test_parameters_of_another_architecture_are_refused(X):
    model = TorchModel(nn.Linear(4, 1), X)
    with pytest.raises(ValueError, match=r"same architecture, but weight is of shape \(1, 4\)"):
        model.parameters(nn.Linear(3, 1))


def test_the_vector_of_a_frozen_body_has_the_last_layer_alone():
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    X = np.random.default_rng(0).normal(size=(5, 3))
    model = TorchModel(module, X)
    frozen = code.freeze_body(model)
    assert (model.n_parameters, frozen.n_parameters) == (21, 5)
    np.testing.assert_array_equal(frozen.initial(), model.initial()[-5:])
    # Copies share the tensors that do not change, and the returned module trains them again.
    other = frozen.module_at(2.0 * frozen.initial())
    assert other[0].weight is frozen.network.module[0].weight
    assert other[0].weight is not module[0].weight
    assert all(one.requires_grad for one in [*other.parameters(), *module.parameters()])
    start = frozen.initial()
    scores = frozen.evaluate(start).scores
    np.testing.assert_allclose(frozen.evaluate(2.0 * start).scores, 2.0 * scores)


@pytest.mark.slow
def test_the_last_layer_alone_takes_three_copies_of_the_module():
    code = """if True:
        import threading, time
        import numpy as np
        from torch import nn
        from skfair.torch import ConstrainedTorchClassifier

        def size():
            return 4096 * int(open("/proc/self/statm").read().split()[1])

        def make(n_units, n_layers):
            hidden = [nn.Linear(n_units, n_units) for _ in range(n_layers)]
            return nn.Sequential(nn.Linear(4, n_units), *hidden, nn.Linear(n_units, 1))

        rng = np.random.default_rng(0)
        X, groups = rng.normal(size=(300, 4)).astype(np.float32), rng.integers(2, size=300)
        y = X[:, 0] + groups > 0
        model = ConstrainedTorchClassifier(make(8, 1), solver=None, random_state=0)
        model.fit(X, y, sensitive_features=groups)
        model.set_params(module=make(700, 12))
        sizes, is_over = [size()], []

        def watch():
            while not is_over:
                sizes.append(size())
                time.sleep(0.002)

        watcher = threading.Thread(target=watch)
        watcher.start()
        model.fit(X, y, sensitive_features=groups)
        is_over.append(True)
        watcher.join()
        n_parameters = sum(one.numel() for one in model.module_.parameters())
        assert max(sizes) - sizes[0] <= 16 * n_parameters, (max(sizes) - sizes[0]) / n_parameters
    """
    subprocess.run([sys.executable, "-c", code], check=True)
