"""Output layers of any form, samples of any form, scores that depend on the batch."""

import copy
import dataclasses
import warnings

import numpy as np
import pytest

from skfair.metrics import demographic_parity_difference
from skfair.solvers import AdamPrimalDual
from skfair.torch import ConstrainedTorchClassifier, TorchModel
from tests.torch_device import DEVICE, make_tensor

torch = pytest.importorskip("torch")
nn, DataLoader = torch.nn, torch.utils.data.DataLoader

N_HIDDEN = 16


class Network(nn.Module):
    """A body, an output layer, and a score that is made from its outputs."""

    def __init__(self, output, score=lambda z: z):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, N_HIDDEN), nn.ReLU())
        self.out = output
        self.score = score

    def forward(self, *inputs):
        return self.score(self.out(self.body(torch.cat(inputs, dim=1))))


def linear(n_outputs=1, **settings):
    return nn.Linear(N_HIDDEN, n_outputs, **settings)


OUTPUTS = {
    "plain": lambda: Network(linear()),
    "no_bias": lambda: Network(linear(bias=False)),
    "two_logits": lambda: Network(linear(2)),
    "two_logits_no_bias": lambda: Network(linear(2, bias=False)),
    "margin": lambda: Network(linear(2), lambda z: z[:, 1] - z[:, 0]),
    "temperature": lambda: Network(linear(), lambda z: z[:, 0] / 0.7),
    "shift": lambda: Network(linear(), lambda z: 0.3 - 2.0 * z),
    "one_of_three": lambda: Network(linear(3), lambda z: z[:, 1]),
    "weight_norm": lambda: Network(nn.utils.parametrizations.weight_norm(linear())),
    "old_weight_norm": lambda: Network(nn.utils.weight_norm(linear(2))),
}


@pytest.fixture(scope="module")
def data():
    """A class that no linear function of the three columns tells, and depends on the group."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["female", "male"], size=1500, p=[0.4, 0.6])
    income = rng.normal(size=1500) + 0.8 * (sex == "male")
    debt, years = rng.normal(size=(2, 1500)) + [[0.0], [0.5]] * (sex == "male")
    X = np.column_stack((income, debt, years)).astype(np.float32)
    return X, income - 1.5 * income * debt + 0.5 * years + rng.logistic(size=1500) > 0.3, sex


def train(module, X, y, n_epochs=12):
    """A loop as users write it."""
    module = module.to(DEVICE)
    optimizer = torch.optim.Adam(module.parameters(), lr=5e-3)
    X = make_tensor(X)
    y = make_tensor(y)
    for _ in range(n_epochs):
        for rows in torch.randperm(len(X)).split(128):
            z = module(X[rows])
            score = z[:, 1] - z[:, 0] if z.ndim == 2 and z.shape[1] == 2 else z.reshape(-1)
            loss = nn.functional.binary_cross_entropy_with_logits(score, y[rows].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return module


def scores_of(module, X):
    with torch.no_grad():
        z = module(make_tensor(X)).double()
    return (z[:, 1] - z[:, 0] if z.ndim == 2 and z.shape[1] == 2 else z.reshape(-1)).cpu().numpy()


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", OUTPUTS)
def test_the_start_has_the_scores_of_the_module(name, data):
    X, _, _ = data
    torch.manual_seed(0)
    module = OUTPUTS[name]().to(DEVICE)
    model = TorchModel(module, X)
    start = model.initial()
    expected = scores_of(module, X)
    np.testing.assert_allclose(model.evaluate(start).scores, expected, atol=1e-5)
    last = model.last_layer(start)
    assert last.n_parameters == model.network.n_last == N_HIDDEN + 1
    np.testing.assert_allclose(last.scores(start[-model.network.n_last :]), expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("name", OUTPUTS)
def test_the_last_layer_of_any_form_keeps_its_accuracy(name, data):
    X, y, sex = data
    torch.manual_seed(0)
    module = train(OUTPUTS[name](), X, y)
    before = copy.deepcopy(module.state_dict())
    # The same scores with a plain output layer, found by least squares.
    plain = Network(linear())
    plain.body = module.body
    with torch.no_grad():
        units = module.body(make_tensor(X)).double().cpu().numpy()
    units = np.column_stack((units, np.ones(len(X))))
    *coef, intercept = np.linalg.lstsq(units, scores_of(module, X))[0]
    plain.out.weight.data = make_tensor(np.array([coef]), dtype=torch.float32)
    plain.out.bias.data = make_tensor([intercept], dtype=torch.float32)
    np.testing.assert_allclose(scores_of(plain, X), scores_of(module, X), atol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model, known = (
            ConstrainedTorchClassifier(one, tolerance=0.03, solver=None).fit(
                X, y, sensitive_features=sex
            )
            for one in (module, plain)
        )
    decisions = model.predict(X)
    assert demographic_parity_difference(y, decisions, sensitive_features=sex) <= 0.03
    assert np.mean(decisions == y) > np.mean(known.predict(X) == y) - 0.01
    for key, tensor in module.state_dict().items():
        torch.testing.assert_close(tensor, before[key])
    # The fitted module returns one score per sample, and continues.
    np.testing.assert_array_equal(scores_of(model.module_, X) > 0, decisions)
    again = TorchModel(model.module_, X)
    np.testing.assert_allclose(
        again.evaluate(again.initial()).scores, model.decision_function(X), rtol=1e-12
    )


def test_a_score_that_is_not_linear_is_named_before_it_is_scaled(data):
    X, y, sex = data
    torch.manual_seed(0)
    module = train(Network(linear(), torch.tanh), X, y, n_epochs=1)
    with pytest.warns(UserWarning, match="no linear function of the outputs of one.*End the mod"):
        ConstrainedTorchClassifier(module, tolerance=0.3, solver=None).fit(
            X, y, sensitive_features=sex
        )


def test_a_temperature_that_is_trained_leaves_the_last_layer_in_place(data):
    X, y, sex = data

    class Scaled(Network):
        """A score that is multiplied by a trained number."""

        def __init__(self):
            super().__init__(linear())
            self.log_scale = nn.Parameter(torch.tensor(0.5))

        def forward(self, x):
            return super().forward(x) * self.log_scale.exp()

    model = ConstrainedTorchClassifier(Scaled, tolerance=0.03, random_state=0)
    module = model.fit(X, y, sensitive_features=sex).module_
    assert module.log_scale.item() != 0.5
    assert type(module) is Scaled
    assert model.constraint_violation_ == 0.0


@dataclasses.dataclass
class Output:
    """What models of Hugging Face return."""

    logits: object
    hidden_states: object = None


class Encoder(nn.Module):
    """A small model of tokens with a mask and two logits."""

    def __init__(self):
        super().__init__()
        self.embeddings = nn.Embedding(12, N_HIDDEN)
        layer = nn.TransformerEncoderLayer(N_HIDDEN, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.dropout, self.classifier = nn.Dropout(0.1), nn.Linear(N_HIDDEN, 2)

    def forward(self, input_ids, attention_mask=None):
        states = self.encoder(self.embeddings(input_ids), src_key_padding_mask=attention_mask == 0)
        return Output(self.classifier(self.dropout(states[:, 0])), states)


class Texts(torch.utils.data.Dataset):
    """Samples with names, which counts how often each is read."""

    def __init__(self, tokens, mask):
        self.tokens, self.mask = tokens, mask
        self.n_reads = np.zeros(len(tokens), dtype=int)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, row):
        self.n_reads[row] += 1
        return {"input_ids": self.tokens[row], "attention_mask": self.mask[row]}


def test_a_model_of_tokens_and_two_logits_is_enforced_in_two_reads():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=600)
    tokens = rng.integers(1, 12, size=(600, 6))
    tokens[sex == 1, 1] = np.minimum(tokens[sex == 1, 1] + 3, 11)
    y = tokens[:, 1] + tokens[:, 2] + rng.normal(size=600) > 13
    mask = make_tensor(np.arange(6) < rng.integers(3, 7, size=(600, 1))).long()
    tokens = make_tensor(tokens)
    target = make_tensor(y).long()
    module = Encoder().to(DEVICE)
    optimizer = torch.optim.Adam(module.parameters(), lr=5e-3)
    for _ in range(4):
        for rows in torch.randperm(600).split(50):
            logits = module(tokens[rows], mask[rows]).logits
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits, target[rows]).backward()
            optimizer.step()
    texts = Texts(tokens, mask)
    with torch.no_grad():
        is_positive = module.eval()(tokens, mask).logits.diff(dim=1)[:, 0] > 0
    plain = np.mean(is_positive.cpu().numpy() == y)
    model = ConstrainedTorchClassifier(module, tolerance=0.03, solver=None)
    model.fit(texts, y, sensitive_features=sex)
    assert (texts.n_reads[2:] == 2).all()
    decisions = model.predict(texts)
    assert demographic_parity_difference(y, decisions, sensitive_features=sex) <= 0.03
    assert np.mean(decisions == y) > plain - 0.15
    with torch.no_grad():
        scores = model.module_(input_ids=tokens, attention_mask=mask)[:, 0]
    np.testing.assert_array_equal(scores.cpu().numpy() > 0, decisions)


class Samples(torch.utils.data.Dataset):
    """Samples of two tensors by name, or by position with or without a label."""

    def __init__(self, X, form):
        self.X = torch.as_tensor(X)
        self.form = form

    def __len__(self):
        return len(self.X)

    def __getitem__(self, row):
        a, b = self.X[row, :2], self.X[row, 2:]
        forms = {
            "dict": {"a": a, "b": b},
            "tuple": (a, b),
            "tuple_and_label": ((a, b), 1.0),
            "flat_with_label": (a, b, 1.0),
        }
        return forms[self.form]


class Named(nn.Module):
    """A module with two arguments."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, a, b):
        return self.module(a, b)


@pytest.mark.parametrize("load", [False, True], ids=["dataset", "loader"])
@pytest.mark.parametrize("form", ["dict", "tuple", "tuple_and_label", "flat_with_label"])
@pytest.mark.parametrize("name", ["no_bias", "two_logits", "features"])
def test_samples_of_several_inputs_suit_any_output_layer(name, form, load, data):
    X, y, sex = data
    samples = Samples(X, form)
    if load:
        samples = DataLoader(samples, batch_size=64)
    network = OUTPUTS.get(name, lambda: Network(nn.Identity()))
    solver = AdamPrimalDual(max_iter=1)
    model = ConstrainedTorchClassifier(
        lambda: Named(network()), tolerance=0.05, solver=solver, random_state=0
    ).fit(samples, y, sensitive_features=sex)
    decisions = model.predict(samples)
    assert demographic_parity_difference(y, decisions, sensitive_features=sex) <= 0.05
    assert model.constraint_violation_ == 0.0


class Changed(nn.Module):
    """A linear score of inputs that a function of the whole batch has changed."""

    def __init__(self, change):
        super().__init__()
        self.change, self.out = change, nn.Linear(3, 1)

    def forward(self, x):
        return self.out(self.change(x))


def rank(x):
    return torch.cat([x[:, :2], x[:, 2:].argsort(0).argsort(0).float() / len(x)], dim=1)


BATCH_FORMS = {
    "largest": lambda x: x / x[:, 2:].max(),
    "mean": lambda x: x - x.mean(0),
    "spread": lambda x: x / (x.std(0) + 1e-6),
    "rank": rank,
    "softmax": lambda x: torch.softmax(x, 0) * len(x),
    "attention": lambda x: torch.softmax(x @ x.T, 1) @ x,
    "first sample": lambda x: x - x[:1],
    "last sample": lambda x: x - x[-1:],
    "neighbour": lambda x: x + 0.5 * torch.roll(x, 1, 0),
    "number": lambda x: x * (1 + len(x) / 1000),
    # Only samples that the probes do not show.
    "rare samples": lambda x: torch.where(x[:, :1] > 1.5, x - x.mean(0), x),
    "full batches": lambda x: x * (1 + (len(x) > 100)),
}


@pytest.mark.parametrize("solver", [None, AdamPrimalDual(max_iter=1)], ids=["last", "all"])
@pytest.mark.parametrize("name", BATCH_FORMS)
def test_scores_that_depend_on_the_batch_raise(name, solver, data):
    X, y, sex = (one[np.argsort(data[0][:, 0] > 1.5, kind="stable")] for one in data)
    torch.manual_seed(0)
    module = Changed(BATCH_FORMS[name])
    model = ConstrainedTorchClassifier(module, solver=solver, random_state=0)
    with pytest.raises(ValueError, match=r"depends on the other samples of its batch; compute"):
        model.fit(X, y, sensitive_features=sex)


def test_batch_norm_without_running_statistics_is_named(data):
    X, y, sex = data
    module = nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False), nn.Linear(3, 1))
    with pytest.raises(ValueError, match="0 is a BatchNorm1d without running stat.*LayerNorm"):
        ConstrainedTorchClassifier(module).fit(X, y, sensitive_features=sex)


class LastState(nn.Module):
    """The last state of an LSTM."""

    def __init__(self):
        super().__init__()
        self.cells, self.out = nn.LSTM(1, 8, batch_first=True), nn.Linear(8, 1)

    def forward(self, x):
        return self.out(self.cells(x[:, :, None])[0][:, -1])


def normalize_hidden(layer):
    return lambda: nn.Sequential(nn.Linear(3, 8), layer(8), nn.ReLU(), nn.Linear(8, 1))


INDEPENDENT = {
    "layer_norm": normalize_hidden(nn.LayerNorm),
    "group_norm": normalize_hidden(lambda n: nn.GroupNorm(2, n)),
    "batch_norm": normalize_hidden(nn.BatchNorm1d),
    "dropout": normalize_hidden(lambda n: nn.Dropout(0.5)),
    "lstm": LastState,
    "transformer": lambda: nn.Sequential(
        nn.Unflatten(1, (3, 1)),
        nn.Linear(1, 8),
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 8, batch_first=True), 2),
        nn.Flatten(),
        nn.Linear(24, 1),
    ),
}


@pytest.mark.parametrize("n_samples", [1, 2, 77, 4096])
@pytest.mark.parametrize("name", INDEPENDENT)
def test_scores_of_single_samples_are_accepted(name, n_samples):
    torch.manual_seed(0)
    X = 30.0 * torch.randn(n_samples, 3)
    model = TorchModel(INDEPENDENT[name](), X)
    finished, parameters = model.finish(model.initial())
    assert np.isfinite(finished.evaluate(parameters).scores).all()


def test_an_output_layer_may_be_called_by_name(data):
    X, y, sex = data

    class ByName(nn.Module):
        """An output layer whose argument is passed by its name."""

        def __init__(self):
            super().__init__()
            self.out = nn.Linear(3, 1)

        def forward(self, x):
            return self.out(input=x)

    model = ConstrainedTorchClassifier(ByName(), solver=None).fit(X, y, sensitive_features=sex)
    assert model.constraint_violation_ == 0.0


@pytest.mark.parametrize("columns", [[0, 1], [1, 0]])
def test_two_columns_for_two_targets_are_named(columns, data):
    """Scores of two targets are not the logits of two classes; those of one target are enforced."""
    X, y, sex = data
    targets = make_tensor(np.column_stack((y, X[:, 1] > 0.5))[:, columns]).float()
    torch.manual_seed(0)
    module = Network(linear(2)).to(DEVICE)
    optimizer = torch.optim.Adam(module.parameters(), lr=5e-3)
    for _ in range(20):
        for rows in torch.randperm(len(X)).split(128):
            scores = module(make_tensor(X[rows]))
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(scores, targets[rows]).backward()
            optimizer.step()
    model = ConstrainedTorchClassifier(module, tolerance=0.05, solver=None)
    classes = targets[:, 0].cpu().numpy() > 0
    with pytest.warns(UserWarning, match="may be scores for two targets; pass the layers"):
        model.fit(X, classes, sensitive_features=sex)
    layer = nn.Linear(N_HIDDEN, 1)
    layer.weight = nn.Parameter(module.out.weight[:1])
    layer.bias = nn.Parameter(module.out.bias[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = ConstrainedTorchClassifier(nn.Sequential(module.body, layer), solver=None)
        one.fit(X, classes, sensitive_features=sex)


def test_two_logits_of_one_class_are_not_warned_of(data):
    X, y, sex = data
    torch.manual_seed(0)
    module = train(Network(linear(2)), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConstrainedTorchClassifier(module, solver=None).fit(X, y, sensitive_features=sex)
