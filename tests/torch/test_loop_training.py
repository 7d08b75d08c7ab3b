"""Training and enforcement on the batches of a DataLoader: reads, inputs, results, errors."""

import functools

import numpy as np
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair._problems.problem import ConstrainedProblem, evaluate_decisions
from skfair.constraints import resolve_constraints
from skfair.constraints._constraint import bind_all
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.metrics import demographic_parity_difference, equalized_odds_difference
from skfair.solvers import SGD, AdamPrimalDual
from skfair.surrogates import Sigmoid
from skfair.torch import ConstrainedTorchClassifier, TorchModel
from skfair.torch import _classifier as code
from tests.torch_device import DEVICE, make_tensor

torch = pytest.importorskip("torch")
nn, DataLoader = torch.nn, torch.utils.data.DataLoader


class Pairs(torch.utils.data.Dataset):
    """Samples with two named inputs, which counts how often each is read."""

    def __init__(self, X):
        self.X = X
        self.n_reads = np.zeros(len(X), dtype=int)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, number):
        self.n_reads[number] += 1
        return {"left": self.X[number, :2], "right": self.X[number, 2:]}, "not looked at"


class Tuples(Pairs):
    """The same inputs by position."""

    def __getitem__(self, number):
        return tuple(super().__getitem__(number)[0].values()), 0.0


class TwoInputs(nn.Module):
    """A network of two inputs."""

    def __init__(self, norm=nn.Identity):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), norm(), nn.Tanh(), nn.Linear(16, 8), nn.Tanh())
        self.out = nn.Linear(8, 1)

    def forward(self, left, right):
        return self.out(self.body(torch.cat([left, right], dim=1)))


@pytest.fixture(scope="module")
def data():
    """Exclusive-or of two features, of which one depends on the group; the third is small."""
    rng = np.random.default_rng(0)
    groups = rng.choice(["a", "b", "c"], size=900, p=[0.5, 0.4, 0.1])
    X = rng.normal(size=(900, 4)).astype(np.float32)
    X[:, 0] += groups == "a"
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=900) + 0.3 * (groups == "a") > 0.2
    return X, y, groups


def make(module=TwoInputs, constraint="demographic_parity", **settings):
    slow = {"solver": AdamPrimalDual(max_iter=20, learning_rate=5e-3), "tolerance": 0.04}
    return ConstrainedTorchClassifier(module, constraint, **(slow | {"random_state": 0} | settings))


@pytest.mark.parametrize("constraint", ["demographic_parity", "equalized_odds"])
@pytest.mark.parametrize("samples", [Pairs, Tuples], ids=["by_name", "by_position"])
def test_decisions_on_a_loader_keep_the_tolerance(constraint, samples, data):
    X, y, groups = data
    loader = DataLoader(samples(X), batch_size=50, shuffle=True)
    model = make(constraint=constraint, random_state=1).fit(loader, y, sensitive_features=groups)
    decisions = model.predict(loader)
    gap = {
        "demographic_parity": demographic_parity_difference,
        "equalized_odds": equalized_odds_difference,
    }[constraint]
    assert gap(y, decisions, sensitive_features=groups) <= 0.04
    assert model.constraint_violation_ == 0.0
    assert (decisions == y).mean() > 0.75
    assert len(model.loss_curve_) == 20
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    np.testing.assert_array_equal(model.predict(samples(X)), decisions)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
def test_multipliers_lower_the_gap_of_the_trained_layers(data):
    X, y, groups = data
    loader = DataLoader(Pairs(X))
    gaps = [
        demographic_parity_difference(
            y,
            make(constraint=constraint, enforcement=None, tolerance=0.0)
            .fit(loader, y, sensitive_features=groups)
            .predict(loader),
            sensitive_features=groups,
        )
        for constraint in (None, "demographic_parity")
    ]
    assert gaps[1] < 0.5 * gaps[0]


@pytest.mark.parametrize("norm", [nn.Identity, lambda: nn.BatchNorm1d(16)], ids=["none", "batch"])
@pytest.mark.parametrize("max_iter", [1, 4])
def test_each_sample_is_read_once_per_epoch(norm, max_iter, data):
    X, y, groups = data
    samples = Pairs(X)
    model = make(lambda: TwoInputs(norm), solver=AdamPrimalDual(max_iter=max_iter, epoch_steps=1))
    model.fit(DataLoader(samples, batch_size=50), y, sensitive_features=groups)
    n_passes = max_iter + 2 + (norm is not nn.Identity)
    # The first two samples show the shape of what the module returns.
    assert samples.n_reads[:2].tolist() == [n_passes + 1] * 2
    assert (samples.n_reads[2:] == n_passes).all()


@pytest.mark.parametrize("confidence_level", [None, 0.9])
@pytest.mark.filterwarnings("ignore::skfair.exceptions.InfeasibleConstraintWarning")
def test_the_last_layer_of_a_trained_module_is_enforced_in_two_passes(confidence_level, data):
    X, y, groups = data
    trained = make(lambda: TwoInputs(lambda: nn.BatchNorm1d(16)), None)
    module = trained.fit(Pairs(X), y, sensitive_features=groups).module_
    samples = Pairs(X)
    last = make(module, solver=None, confidence_level=confidence_level)
    last.fit(DataLoader(samples), y, sensitive_features=groups)
    assert (samples.n_reads[2:] == 2).all()
    assert samples.n_reads.max() <= 3
    decisions = last.predict(Pairs(X))
    assert demographic_parity_difference(y, decisions, sensitive_features=groups) <= 0.04
    assert last.constraint_violation_ == 0.0
    # All layers before the last, and their statistics, are those of the module.
    for name, tensor in last.module_.state_dict().items():
        if not name.startswith("out"):
            torch.testing.assert_close(tensor, module.state_dict()[name])
    if confidence_level:
        assert 0.0 <= last.guarantee_probability_ <= 1.0


def test_a_fit_of_nothing_is_refused(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="solver=None trains no layer and enforcement=None"):
        make(solver=None, enforcement=None).fit(Pairs(X), y, sensitive_features=groups)


@pytest.mark.slow
def test_workers_read_what_the_process_reads(data):
    X, y, groups = data
    solver = AdamPrimalDual(max_iter=2)
    scores = [
        make(solver=solver)
        .fit(DataLoader(Pairs(X), num_workers=n), y, sensitive_features=groups)
        .decision_function(DataLoader(Pairs(X), num_workers=n))
        for n in (0, 2)
    ]
    np.testing.assert_array_equal(*scores)


def test_samples_without_weight_are_not_read(data):
    X, y, groups = data
    samples = Pairs(X)
    weights = np.repeat([1.0, 0.0], [600, 300])
    model = make(solver=AdamPrimalDual(max_iter=1))
    model.fit(DataLoader(samples), y, sensitive_features=groups, sample_weight=weights)
    assert samples.n_reads[600:].sum() == 0
    known = make(solver=AdamPrimalDual(max_iter=1))
    known.fit(DataLoader(Pairs(X[:600])), y[:600], sensitive_features=groups[:600])
    np.testing.assert_array_equal(
        model.decision_function(samples), known.decision_function(samples)
    )


def test_the_first_samples_held_out_stop_the_training(data):
    X, y, groups = data
    stopped = make(
        early_stopping=True,
        n_iter_no_change=2,
        solver=AdamPrimalDual(max_iter=200, learning_rate=0.02),
    ).fit(DataLoader(Pairs(X)), y, sensitive_features=groups)
    assert len(stopped.validation_loss_curve_) == len(stopped.loss_curve_) < 200
    assert stopped.constraint_violation_ == 0.0


def test_streams_are_refused(data):
    class Stream(torch.utils.data.IterableDataset):
        """Samples without index."""

        def __iter__(self):
            return iter(data[0])

    _, y, groups = data
    for samples in (Stream(), DataLoader(Stream())):
        with pytest.raises(TypeError, match="but Stream is an IterableDataset; pass a Dataset"):
            make().fit(samples, y, sensitive_features=groups)


def test_solvers_that_draw_batches_are_refused_for_loaders(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="pass an AdamPrimalDual, or the dataset"):
        make(solver=SGD()).fit(DataLoader(Pairs(X)), y, sensitive_features=groups)


def test_an_interrupted_training_keeps_the_complete_epochs(data):
    X, y, groups = data

    class Interrupted(Pairs):
        """Samples of which reading is interrupted in the third epoch."""

        def __getitem__(self, number):
            if self.n_reads.sum() == 2500:
                self.n_reads[:] = -(10**6)
                raise KeyboardInterrupt
            return super().__getitem__(number)

    with pytest.warns(UserWarning, match="interrupted after 2 epochs: the last of them is kept"):
        solver = AdamPrimalDual(epoch_steps=1)
        model = make(solver=solver).fit(DataLoader(Interrupted(X)), y, sensitive_features=groups)
    assert len(model.loss_curve_) == 2
    assert model.constraint_violation_ == 0.0


def make_optimizer(steps, parameters):
    """Stochastic gradient descent, which counts its steps."""
    optimizer = torch.optim.SGD(parameters, lr=0.2, momentum=0.9)
    optimizer.register_step_post_hook(lambda *_: steps.append(optimizer.param_groups[0]["lr"]))
    return optimizer


def test_an_optimizer_and_a_scheduler_of_ones_own_take_the_steps(data):
    X, y, groups = data
    rates = []
    model = make(
        lambda: nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)),
        solver=AdamPrimalDual(
            max_iter=30,
            batch_size=90,
            epoch_steps=1,
            optimizer=functools.partial(make_optimizer, rates),
            scheduler=functools.partial(torch.optim.lr_scheduler.StepLR, step_size=10, gamma=0.1),
        ),
    ).fit(X, y, sensitive_features=groups)
    np.testing.assert_allclose(rates, np.repeat([0.2, 0.02, 0.002], 100))
    decisions = model.predict(X)
    assert (decisions == y).mean() > 0.75
    assert demographic_parity_difference(y, decisions, sensitive_features=groups) <= 0.04
    assert model.constraint_violation_ == 0.0


def test_a_scheduler_without_an_optimizer_is_refused(data):
    X, y, groups = data
    solver = AdamPrimalDual(scheduler=torch.optim.lr_scheduler.ExponentialLR)
    with pytest.raises(ValueError, match="but optimizer=None; pass one, such as torch.optim.Adam"):
        make(solver=solver).fit(Pairs(X), y, sensitive_features=groups)


def test_a_loss_of_pytorch_is_that_of_the_name(data):
    X, y, groups = data
    module = functools.partial(nn.Linear, 4, 1)
    solver = AdamPrimalDual(max_iter=2)
    scores = [
        make(module, loss=loss, solver=solver)
        .fit(X, y, sensitive_features=groups)
        .decision_function(X)
        for loss in ("logistic", nn.BCEWithLogitsLoss(reduction="none"))
    ]
    np.testing.assert_allclose(*scores, atol=1e-4)


def test_a_loss_of_pytorch_weighs_classes(data):
    X, y, groups = data
    weighted = nn.BCEWithLogitsLoss(reduction="none", pos_weight=torch.tensor(8.0))
    shares = [
        make(constraint=None, loss=loss)
        .fit(Pairs(X), y, sensitive_features=groups)
        .predict(Pairs(X))
        .mean()
        for loss in ("logistic", weighted)
    ]
    assert shares[1] > shares[0] + 0.1


def test_a_loss_of_pytorch_that_is_a_mean_is_refused(data):
    X, y, groups = data
    with pytest.raises(ValueError, match="pass it with reduction='none'"):
        make(loss=nn.BCEWithLogitsLoss()).fit(Pairs(X), y, sensitive_features=groups)


class Labelled(Pairs):
    """A dict with the class beside the inputs."""

    def __getitem__(self, row):
        return super().__getitem__(row)[0] | {"label": 1}


def test_a_message_names_what_a_dict_may_have(data):
    X, y, groups = data
    with pytest.raises(TypeError) as raised:
        make(solver=AdamPrimalDual(max_iter=1)).fit(Labelled(X), y, sensitive_features=groups)
    assert "here 'label', out of it" in raised.value.__notes__[0]


def test_every_batch_has_its_share_of_every_stratum():
    strata = np.repeat([2, 0, 1], [900, 90, 10])
    order = code._spread_strata(strata, np.random.RandomState(0))
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))
    for batch in np.split(strata[order], 10):
        assert (np.abs(np.bincount(batch) - [9, 1, 90]) <= 1).all()
    again = code._spread_strata(strata, np.random.RandomState(1))
    assert (order != again).any()


@pytest.mark.parametrize("constraint", ["demographic_parity", "equalized_odds"])
def test_gradients_of_batches_have_the_mean_of_all_samples(constraint, data):
    X, y, groups = data
    samples = Samples(np.where(y, 1.0, -1.0), check_groups(groups, 900), np.linspace(1.0, 2.0, 900))
    constraints = resolve_constraints(constraint, 0.01)
    (bound,) = bind_all(constraints, [samples], Sigmoid(), LogisticLoss())
    torch.manual_seed(1)
    model = TorchModel(nn.Linear(4, 1).double(), X)
    system = ConstraintSystem(tuple(bound))
    problem = ConstrainedProblem(
        model, LogisticLoss(), samples.target, samples.weights, 0.1, system
    ).separate_pairs()
    plain = functools.partial(torch.optim.SGD, lr=0.0)
    solver = AdamPrimalDual(optimizer=plain, epoch_steps=1)
    trainer = code._EpochTrainer(solver, problem, model.network)
    evaluation = problem.evaluate(model.initial())
    # Nothing moves but the multipliers, in an epoch as by the counted rows of all samples.
    excess = evaluate_decisions(problem, model.initial()).values - problem.upper
    trainer.duals[0][:] = 10.0
    trainer.run_epoch(np.random.RandomState(0))
    np.testing.assert_allclose(trainer.duals[0], 10.0 + excess, atol=1e-12)
    # Constant multipliers.
    trainer._dual_step = 0.0
    gradients = []
    for rows in np.split(np.random.RandomState(1).permutation(900), 9):
        trainer._step(
            rows,
            model.network.outputs(model._cast(model.samples.take(rows).read(slice(None))), True),
        )
        gradients.append(
            np.concatenate([one.grad.cpu().numpy().ravel() for one in trainer.tensors])
        )
    assert (trainer.multipliers > 0).all()
    expected = evaluation.lagrangian_gradient(trainer.multipliers)
    np.testing.assert_allclose(np.mean(gradients, axis=0), expected, atol=1e-12)


@pytest.mark.parametrize("n_samples", [129, 193])
def test_a_last_batch_of_one_sample_joins_the_one_before(n_samples, data):
    X, y, groups = (one[:n_samples] for one in data)
    solver = AdamPrimalDual(max_iter=2, batch_size=64)
    model = make(lambda: TwoInputs(functools.partial(nn.BatchNorm1d, 16)), solver=solver)
    model.fit(DataLoader(Pairs(X)), y, sensitive_features=groups)
    assert len(model.loss_curve_) == 2


def test_scores_are_judged_outside_autocast(data):
    """A fit and predictions inside a context of fewer digits are those outside it."""
    X, y, groups = data
    X = X.astype(np.float32)
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).to(DEVICE)
    inside, outside = (
        ConstrainedTorchClassifier(module, tolerance=0.01, solver=None, random_state=0)
        for _ in range(2)
    )
    with torch.autocast(torch.device(DEVICE).type, torch.bfloat16):
        scores = inside.fit(X, y, sensitive_features=groups).decision_function(X)
        rounded = module(make_tensor(X))[:, 0]
    assert rounded.dtype is torch.bfloat16
    outside.fit(X, y, sensitive_features=groups)
    np.testing.assert_array_equal(scores, outside.decision_function(X))
    np.testing.assert_array_equal(scores, inside.decision_function(X))
    gap = demographic_parity_difference(y, scores > 0, sensitive_features=groups)
    assert gap <= 0.01
