"""ConstrainedTorchClassifier: tolerances, parameters, input and errors."""

import copy
import pickle

import joblib
import numpy as np
import pytest

from skfair.constraints import DemographicParity, PartialStatisticalParity
from skfair.metrics import METRICS, partial_statistical_parity_difference
from skfair.solvers import SGD, AdamPrimalDual
from skfair.solvers.literature import StochasticIDCA
from skfair.torch import ConstrainedTorchClassifier, TorchModel
from tests.torch_device import DEVICE, make_tensor

torch = pytest.importorskip("torch")
nn = torch.nn


@pytest.fixture(scope="module")
def data():
    """Exclusive-or of two features, of which one depends on the group."""
    rng = np.random.default_rng(0)
    groups = np.where(rng.random(600) < 0.4, "a", "b")
    X = rng.normal(size=(600, 4))
    X[:, 0] += groups == "a"
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=600) > 0.2).astype(int)
    return X, y, groups


@pytest.fixture(scope="module")
def images():
    """A bright square in one half of a small image; its size depends on the group."""
    rng = np.random.default_rng(0)
    groups, y = rng.integers(2, size=240), rng.integers(2, size=240)
    X = rng.normal(scale=0.3, size=(240, 1, 8, 8))
    for image, group, label in zip(X, groups, y | (rng.random(240) < 0.3 * groups), strict=True):
        size = 2 + group
        side = 4 * label
        image[0, 2 : 2 + size, side : side + size] += 1.0
    return X, y, groups


def make_smooth():
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 1))


def make_dropout():
    hidden = nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2)
    return nn.Sequential(*hidden, nn.Linear(16, 1))


def make_no_dropout():
    module = make_dropout()
    module[3].p = 0.0
    return module


def make_convolutional():
    convolution = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
    return nn.Sequential(*convolution, nn.LazyLinear(8), nn.ReLU(), nn.Linear(8, 1))


def make(module=make_smooth, constraint="demographic_parity", **settings):
    fast = {
        "solver": AdamPrimalDual(max_iter=8, learning_rate=0.01),
        "tolerance": 0.05,
        "random_state": 0,
        "device": DEVICE,  # also in other processes
    }
    return ConstrainedTorchClassifier(module, constraint, **(fast | settings))


def fit(data, module=make_smooth, constraint="demographic_parity", **settings):
    X, y, groups = data
    return make(module, constraint, **settings).fit(X, y, sensitive_features=groups)


def gap_of(model, data, metric="demographic_parity_difference"):
    X, y, groups = data
    return METRICS[metric](y, model.predict(X), sensitive_features=groups)


@pytest.mark.filterwarnings("ignore:The last linear layer")
@pytest.mark.parametrize("constraint", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize(
    "module",
    [
        make_smooth,
        make_dropout,
        lambda: nn.Sequential(
            nn.Linear(4, 16), nn.Tanh()
        ),  # features, to which a last layer is added
        lambda: nn.Sequential(
            make_smooth(), nn.Tanh(), nn.Flatten(0)
        ),  # scores, moved along a line
    ],
    ids=["smooth", "noisy", "features", "scores"],
)
def test_the_decisions_keep_the_tolerance(module, constraint, data):
    model = fit(data, module, constraint)
    gap = gap_of(model, data, f"{constraint}_difference")
    assert gap <= 0.05
    assert model.constraint_violation_ == 0.0
    assert model.constraint_report_["gap"].max() == pytest.approx(gap)


def test_the_decisions_keep_a_ratio(data):
    model = fit(data, make_smooth, DemographicParity(ratio=0.9), tolerance=None)
    assert gap_of(model, data, "demographic_parity_ratio") >= 0.9
    assert model.constraint_violation_ == 0.0


def test_a_network_is_more_accurate_than_a_linear_model(data):
    X, y, _ = data
    model = fit(data)
    assert model.score(X, y) > 0.75
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        model.score(X, y, -np.ones(len(y)))
    assert fit(data, None).score(X, y) > 0.85


def test_scores_are_those_of_the_fitted_module(data):
    X, y, _ = data
    model = fit(data, make_dropout)
    assert not any(part.training for part in model.module_.modules())
    with torch.no_grad():
        scores = model.module_(make_tensor(X, dtype=torch.float32))[:, 0].cpu().numpy()
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-scores)), atol=1e-12)
    assert len(model.loss_curve_) == model.n_iter_ == 8


@pytest.mark.filterwarnings("ignore:Lazy modules are a new feature")
def test_images_may_be_an_array_a_tensor_or_a_dataset(images):
    X, y, groups = images
    array = fit(images, make_convolutional, solver=AdamPrimalDual(max_iter=5))
    assert gap_of(array, images) <= 0.05
    tensor = torch.as_tensor(X)
    dataset = torch.utils.data.TensorDataset(tensor.float(), torch.as_tensor(y))
    for other in (tensor, dataset):
        model = make(make_convolutional, solver=AdamPrimalDual(max_iter=5)).fit(
            other, y, sensitive_features=groups
        )
        np.testing.assert_array_equal(model.decision_function(other), array.decision_function(X))


def test_weights_of_zero_leave_samples_of_a_dataset_out(images):
    X, y, groups = images
    X = torch.as_tensor(X).float()
    weights = np.arange(len(y)) % 2
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 1))
    weighted = make(module, solver=AdamPrimalDual(max_iter=2)).fit(
        torch.utils.data.TensorDataset(X), y, sensitive_features=groups, sample_weight=weights
    )
    subset = make(module, solver=AdamPrimalDual(max_iter=2)).fit(
        X[1::2], y[1::2], sensitive_features=groups[1::2]
    )
    np.testing.assert_array_equal(weighted.decision_function(X), subset.decision_function(X))


def test_the_last_layer_keeps_a_constraint_on_an_interval(data):
    X, y, groups = data
    model = fit(data, make_smooth, PartialStatisticalParity([0.2, 0.6]), tolerance=0.1)
    gap = partial_statistical_parity_difference(
        model.decision_function(X), sensitive_features=groups, interval=[0.2, 0.6]
    )
    assert gap <= 0.1 + 1e-12


@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_all_layers_learn_a_constraint_on_an_interval(data):
    X, y, groups = data
    parity = PartialStatisticalParity([0.2, 0.6])
    settings = {"enforcement": None, "alpha": 1e-4, "tolerance": 0.1}
    ranked = settings | {"solver": StochasticIDCA(max_iter=9, tol=0.02)}
    trained = {"solver": AdamPrimalDual(max_iter=60, epoch_steps=1)}
    gaps = np.zeros(2)
    for seed in range(3):
        plain = fit(data, make_smooth, None, random_state=seed, **settings | trained)
        fair = fit(data, make_smooth, parity, random_state=seed, **ranked)
        gaps += [
            partial_statistical_parity_difference(
                model.decision_function(X), sensitive_features=groups, interval=[0.2, 0.6]
            )
            for model in (plain, fair)
        ]
    assert gaps[1] < 0.5 * gaps[0]


def test_a_module_gives_the_initial_parameters_and_is_not_changed(data):
    X, y, groups = data
    module = make_smooth()
    before = [tensor.clone() for tensor in module.parameters()]
    model = fit(data, module, solver=SGD(max_iter=1, learning_rate=1e-9, tol=1.0))
    for tensor, old in zip(module.parameters(), before, strict=True):
        torch.testing.assert_close(tensor, old)
    torch.testing.assert_close(model.module_[0].weight.cpu(), before[0], atol=1e-7, rtol=0)


def test_frozen_layers_are_not_trained(data):
    module = make_smooth()
    module[0].requires_grad_(False)
    model = fit(data, module)
    torch.testing.assert_close(model.module_[0].weight.cpu(), module[0].weight)
    assert (model.module_[2].weight.cpu() != module[2].weight).any()


@pytest.mark.parametrize(
    "module", [make_smooth, make_dropout, None], ids=["smooth", "noisy", "none"]
)
def test_the_same_seed_gives_the_same_network(module, data):
    X, _, _ = data
    first = fit(data, module, solver=AdamPrimalDual(max_iter=3)).decision_function(X)
    torch.manual_seed(17)
    state = torch.get_rng_state()
    np.testing.assert_array_equal(
        fit(data, module, solver=AdamPrimalDual(max_iter=3)).decision_function(X), first
    )
    torch.testing.assert_close(torch.get_rng_state(), state)
    other = fit(data, module, solver=AdamPrimalDual(max_iter=3), random_state=1).decision_function(
        X
    )
    assert (other != first).any()


def test_dropout_is_active_in_full_batches(data):
    X, y, groups = (part[:100] for part in data)
    active, inactive = (
        fit((X, y, groups), module, None, solver=AdamPrimalDual(max_iter=3))
        for module in (make_dropout, make_no_dropout)
    )
    assert active.loss_curve_ != inactive.loss_curve_


def test_early_stopping_uses_held_out_samples(data):
    model = fit(data, early_stopping=True, n_iter_no_change=3, solver=AdamPrimalDual(max_iter=200))
    assert model.n_iter_ < 200
    assert len(model.validation_loss_curve_) == model.n_iter_
    assert model.constraint_violation_ == 0.0


def test_a_warm_start_continues_the_last_fit(data):
    X, y, groups = data
    turned = np.where(y == 1, "hired", "rejected")
    model = make(
        make_smooth, None, warm_start=True, pos_label="hired", solver=AdamPrimalDual(max_iter=20)
    )
    first = model.fit(X, turned, sensitive_features=groups).loss_curve_
    model.set_params(solver=AdamPrimalDual(max_iter=1)).fit(X, turned, sensitive_features=groups)
    assert model.loss_curve_[0] < first[5]
    model.set_params(module=make_dropout)
    with pytest.raises(ValueError, match=r"same architecture.*warm_start=False"):
        model.fit(X, turned, sensitive_features=groups)


def test_the_first_class_may_be_the_positive_one(data):
    X, y, groups = data
    turned = np.where(y == 1, "hired", "rejected")
    model = make(pos_label="hired").fit(X, turned, sensitive_features=groups)
    np.testing.assert_array_equal(model.predict(X) == "hired", fit(data).predict(X) == 1)


def test_steps_that_explode_leave_the_last_finite_network(data):
    X, _, _ = data
    solver = SGD(learning_rate=1e20, max_iter=3)
    with pytest.warns(
        UserWarning, match="diverged at step .* The best earlier iterate is returned"
    ):
        model = fit(data, None, solver=solver)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"module": lambda: "a network"}, TypeError, "returns a str"),
        ({"module": "a network"}, ValueError, "The 'module' parameter"),
        ({"module": nn.Linear(3, 1)}, RuntimeError, "shapes cannot be multiplied"),
        ({"module": nn.Conv2d(1, 1, 1)}, RuntimeError, "Expected 3D .* or 4D"),
        ({"module": nn.Unflatten(1, (2, 2))}, ValueError, "Unflatten returns shape"),
        ({"device": "cuda:97"}, ValueError, "device='cuda:97' cannot be used here"),
        ({"solver": "sqp"}, ValueError, "SQP needs a model that gives Gram matrices"),
    ],
)
def test_invalid_modules_devices_and_solvers_are_refused(settings, error, message, data):
    with pytest.raises(error, match=message):
        fit(data, **settings)


def test_a_module_that_gives_nan_is_refused(data):
    module = make_smooth()
    module[0].weight.data[0, 0] = torch.nan
    with pytest.raises(ValueError, match="must return finite scores, but that of sample 0 is nan"):
        fit(data, module)


def test_nan_of_a_dataset_is_refused_at_predict(data):
    X, _, _ = data
    model = fit(data)
    samples = torch.tensor(X)
    samples[7] = torch.nan
    with pytest.raises(ValueError, match="that of sample 7 is nan; impute missing values"):
        model.predict(torch.utils.data.TensorDataset(samples))


@pytest.mark.filterwarnings("ignore:The last linear layer")
def test_large_integers_stay_distinct():
    class Parity(nn.Module):
        """Scores of odd and even numbers, which float32 does not tell apart here."""

        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(2, 1)

        def forward(self, x):
            return self.table(x[:, 0] % 2)

    numbers = 2**24 + np.arange(200)
    y = numbers % 2
    groups = np.tile(["a", "a", "b", "b"], 50)
    solver = AdamPrimalDual(max_iter=20, learning_rate=0.1, batch_size=20)
    model = make(Parity, solver=solver).fit(numbers[:, np.newaxis], y, sensitive_features=groups)
    np.testing.assert_array_equal(model.predict(numbers[:, np.newaxis]), y)


def test_double_modules_see_all_digits(data):
    X, y, groups = data
    steps = 1.0 + 1e-9 * np.sign(X)  # float32 would round these to 1

    def make_steep():
        scale = nn.Linear(4, 4)
        scale.weight.data, scale.bias.data = 1e9 * torch.eye(4), torch.full((4,), -1e9)
        return nn.Sequential(scale, nn.Tanh(), nn.Linear(4, 1)).double()

    model = make(make_steep).fit(steps, y, sensitive_features=groups)
    assert np.unique(model.decision_function(steps)).size > 2


def test_integer_columns_are_real_numbers_for_layers_of_these(data):
    X, y, groups = data
    rounded = np.round(3 * X).astype(int)
    scores = [
        make().fit(columns, y, sensitive_features=groups).decision_function(columns)
        for columns in (rounded, rounded.astype(np.float32))
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("jobs", [{"prefer": "threads"}, {"backend": "loky"}], ids=str)
@pytest.mark.slow
def test_fits_of_one_seed_are_equal_in_threads_and_processes(jobs, data):
    X, _, _ = data
    settings = {"solver": AdamPrimalDual(max_iter=3)}
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        alone = fit(data, make_dropout, **settings).decision_function(X)
        torch.manual_seed(17)
        state = torch.get_rng_state()
        fits = joblib.Parallel(n_jobs=8 if "prefer" in jobs else 2, **jobs)(
            joblib.delayed(fit)(data, make_dropout, **settings) for _ in range(8)
        )
        torch.testing.assert_close(torch.get_rng_state(), state)
        # A process passes over its first data by numpy, which rounds otherwise than kernels.
        for model in fits:
            np.testing.assert_allclose(model.decision_function(X), alone, rtol=0.0, atol=1e-12)
    finally:
        torch.set_num_threads(n_threads)


def test_fine_tuning_keeps_the_sign_of_scores(data):
    X, y, groups = data
    turned = np.where(y == 1, "hired", "rejected")
    model = make(pos_label="hired").fit(X, turned, sensitive_features=groups)
    still = SGD(max_iter=1, learning_rate=1e-9, tol=1.0)
    tuned = make(model.module_, None, pos_label="hired", solver=still, enforcement=None)
    tuned.fit(X, turned, sensitive_features=groups)
    np.testing.assert_allclose(tuned.decision_function(X), model.decision_function(X), atol=1e-3)


@pytest.mark.filterwarnings("ignore:The last linear layer")
def test_a_warm_start_continues_behind_an_appended_layer(data):
    X, y, groups = data

    class Shifted(nn.Module):
        """Scores that are another function of the features for rare samples."""

        def __init__(self):
            super().__init__()
            self.out = nn.Linear(4, 1)

        def forward(self, x):
            return self.out(x) + 2.0 * (x[:, :1] > 2.5)

    X = X[np.argsort(X[:, 0] > 2.5, kind="stable")]  # the first samples do not show the shift
    model = make(Shifted, warm_start=True, solver=AdamPrimalDual(max_iter=2))
    first = copy.deepcopy(model.fit(X, y, sensitive_features=groups).module_)
    assert first[-1].in_features == 1
    still = SGD(max_iter=1, learning_rate=1e-9, tol=1.0)
    model.set_params(solver=still).fit(X, y, sensitive_features=groups)
    torch.testing.assert_close(model.module_[0].out.weight, first[0].out.weight)


def test_a_message_says_which_dtype_a_tensor_needs(data):
    class Fixed(nn.Module):
        """A module with a tensor that is no buffer, and stays in double precision."""

        def __init__(self):
            super().__init__()
            self.out = nn.Linear(4, 1)
            self.projection = torch.eye(4, dtype=torch.float64, device=DEVICE)

        def forward(self, x):
            return self.out(x @ self.projection)

    with pytest.raises(RuntimeError, match="same dtype") as error:
        fit(data, Fixed)
    assert "register them with register_buffer" in error.value.__notes__[0]


def test_nan_in_samples_is_refused(data):
    X, y, groups = data
    X = np.where(np.arange(len(X))[:, np.newaxis] == 7, np.nan, X)
    for samples in (X, X.reshape(-1, 1, 2, 2), torch.as_tensor(X)):
        with pytest.raises(ValueError, match="contains NaN"):
            make().fit(samples, y, sensitive_features=groups)


def test_the_model_of_the_fit_is_public(data):
    X, _, _ = data
    model = fit(data)
    at = TorchModel(model.module_, X)
    np.testing.assert_array_equal(at.evaluate(at.initial()).scores, model.decision_function(X))


def test_skops_refuses_with_a_sentence(data):
    skops = pytest.importorskip("skops.io")
    with pytest.raises(TypeError, match="skops cannot store modules of PyTorch. Store"):
        skops.dumps(ConstrainedTorchClassifier())
    X, y, groups = data
    model = ConstrainedTorchClassifier(solver=AdamPrimalDual(max_iter=1), random_state=0)
    model.fit(X, y, sensitive_features=groups)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(copied.decision_function(X), model.decision_function(X))
