"""Constraints on tensors: values, gradients, multipliers, samples of other processes."""

import sys
import warnings
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from skfair._bound.units import LogOdds
from skfair._groups import check_groups
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    DemographicParity,
    EqualOpportunity,
    RangeGap,
)
from skfair.constraints._constraint import bind_all, fill_tolerance
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.metrics import demographic_parity_difference
from skfair.solvers import (
    SGD,
    SSLALM,
    AdamPrimalDual,
    StochasticGhost,
    StochasticSwitching,
)
from skfair.solvers.literature import SPBM
from skfair.solvers.literature._stochastic_constrained import _linearize, ghost_direction
from skfair.surrogates import Sigmoid
from skfair.torch import (
    ConstrainedObjective,
    ConstrainedTorchClassifier,
    TorchModel,
    constraint_values,
    gather_samples,
)
from skfair.torch._cells import _warn_of_small_batch
from tests.torch_device import DEVICE, make_tensor

torch = pytest.importorskip("torch")
nn, logistic = torch.nn, torch.nn.functional.binary_cross_entropy_with_logits

CRITERIA = {
    **{name: name for name in CONSTRAINTS if not name.startswith(("partial_", "mean_error"))},
    "ratio": DemographicParity(ratio=0.8),
    "ratio_of_opportunity": EqualOpportunity(ratio=0.8),
    "bounded_group_loss": BoundedGroupLoss(0.5),
}


@pytest.fixture(autouse=True)
def forget_warnings():
    """Make each test the first one that warns of few samples."""
    _warn_of_small_batch.cache_clear()


@pytest.fixture
def samples():
    """Scores, classes and three groups."""
    rng = np.random.default_rng(0)
    return rng.normal(size=90), rng.integers(2, size=90), rng.integers(3, size=90)


def bound(constraint, target, groups, tolerance):
    """The constraint bound to the samples, with one row per gap."""
    known = Samples(np.where(target > 0, 1.0, -1.0), check_groups(groups, 90), np.ones(90))
    one = CONSTRAINTS[constraint]() if isinstance(constraint, str) else constraint
    settings = Sigmoid(), LogisticLoss(), LogOdds()  # as those of a classifier
    ((bound,),) = bind_all([fill_tolerance(one, tolerance)], [known], *settings)
    return replace(bound, one_row=True)


def test_there_are_seventeen_criteria():
    assert len(CRITERIA) == 17


def test_the_value_is_the_gap_of_smooth_rates():
    scores = make_tensor([1.0, -1.0, 0.0, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
    groups = [0, 0, 1, 1, 1]
    target = [1, 0, 1, 0, 1]
    values = constraint_values("demographic_parity", scores, target, groups, tolerance=0.1)
    rates = Sigmoid()(scores.detach().numpy()).value
    expected = abs(rates[:2].mean() - rates[2:].mean()) - 0.1
    assert values.item() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("name", CRITERIA)
def test_gradients_are_those_of_finite_differences(name, samples):
    scores, target, groups = samples
    scores = make_tensor(scores, requires_grad=True)

    def values(scores):
        return constraint_values(CRITERIA[name], scores, target, groups)

    assert torch.autograd.gradcheck(values, scores, eps=1e-6, atol=1e-8, rtol=1e-5)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values_and_gradients_are_those_of_the_rows(name, dtype, samples):
    scores, target, groups = samples
    tolerance = 0.01 if isinstance(CRITERIA[name], str) else None  # their own
    rows = bound(CRITERIA[name], target, groups, 0.01).rows
    point = rows(scores, np.empty(0))
    tensor = make_tensor(scores, dtype=dtype, requires_grad=True)
    values = constraint_values(CRITERIA[name], tensor[:, None], target, groups, tolerance=tolerance)
    (2.0 * values).sum().backward()
    assert values.dtype is tensor.grad.dtype is dtype
    rtol = 1e-12 if dtype is torch.float64 else 1e-5
    np.testing.assert_allclose(values.item(), point.values[0] - rows.upper[0], rtol=rtol, atol=1e-7)
    slopes = point.jacobian.adjoint(np.array([2.0]))
    np.testing.assert_allclose(tensor.grad.cpu(), slopes, rtol=rtol, atol=rtol * abs(slopes).max())


@pytest.mark.parametrize("name", CRITERIA)
def test_values_by_pair_have_the_gap_as_the_largest(name, samples):
    """Each value is a signed difference of two rates, whose gradient is that of finite ones."""
    scores, target, groups = samples
    tolerance = 0.01 if isinstance(CRITERIA[name], str) else None  # their own
    tensor = make_tensor(scores, requires_grad=True)
    (largest,) = constraint_values(CRITERIA[name], tensor, target, groups, tolerance=tolerance)
    values = constraint_values(
        CRITERIA[name], tensor, target, groups, tolerance=tolerance, by_pair=True
    )
    assert len(values) == (3 if name == "bounded_group_loss" else 12 if "odds" in name else 6)
    assert values.max().item() == pytest.approx(largest.item(), abs=1e-12)
    of_largest, of_values = (
        torch.autograd.grad(one, tensor, retain_graph=True)[0] for one in (largest, values.max())
    )
    torch.testing.assert_close(of_largest, of_values)


def test_values_by_pair_are_signed_differences(samples):
    scores, target, groups = samples
    rates = [Sigmoid()(scores[groups == k]).value.mean() for k in range(3)]
    values = constraint_values(
        "demographic_parity", make_tensor(scores), target, groups, tolerance=0.1, by_pair=True
    )
    expected = [rates[a] - rates[b] - 0.1 for a, b in permutations(range(3), 2)]
    np.testing.assert_allclose(values.cpu(), expected, atol=1e-12)
    with pytest.raises(ValueError, match="in this batch DemographicParity compares none; draw"):
        constraint_values(
            "demographic_parity", make_tensor([0.0] * 4), [0, 1] * 2, [0] * 4, by_pair=True
        )


def test_several_constraints_have_one_value_each(samples):
    scores, target, groups = samples
    names = ["demographic_parity", "equal_opportunity"]
    tensors = [make_tensor(scores, requires_grad=True) for _ in range(3)]
    together = constraint_values(names, tensors[0], target, groups, tolerance=0.02)
    together.sum().backward()
    for name, tensor, value in zip(names, tensors[1:], together, strict=True):
        alone = constraint_values(name, tensor, target, groups, tolerance=0.02)
        alone.sum().backward()
        assert alone.item() == value.item()
    torch.testing.assert_close(tensors[0].grad, tensors[1].grad + tensors[2].grad)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_few_digits_and_autocast(dtype, samples):
    _, target, groups = samples
    X = torch.randn(90, 4, generator=torch.Generator().manual_seed(0)).to(DEVICE)
    layer = nn.Linear(4, 1).to(DEVICE)
    with torch.autocast(torch.device(DEVICE).type, dtype):
        scores = layer(X)
        values = constraint_values("demographic_parity", scores, target, groups, tolerance=0.0)
    assert scores.dtype is dtype
    assert values.dtype is torch.float32
    values.sum().backward()
    assert (layer.weight.grad != 0).any()


@pytest.mark.parametrize(
    ("constraint", "label"), [("equal_opportunity", 0), ("false_positive_rate_parity", 1)]
)
def test_a_batch_without_the_class_that_is_compared_has_nothing_to_compare(constraint, label):
    scores = make_tensor([0.5, -0.2, 0.1], requires_grad=True)
    both = ["demographic_parity", constraint]
    with pytest.warns(UserWarning, match="A batch has fewer than 5 samples, or none"):
        values = constraint_values(both, scores, [label] * 3, [0, 1, 1], tolerance=0.1)
    (alone,) = constraint_values(
        "demographic_parity", scores, [label] * 3, [0, 1, 1], tolerance=0.1
    )
    torch.testing.assert_close(values, torch.stack([alone, make_tensor(-0.1)]))
    values[1].backward()
    assert (scores.grad == 0.0).all()


class LargeGroupsRange(RangeGap):
    """Range of the rates of groups with more than 20 samples."""

    @classmethod
    def from_cells(cls, cells, constraint):
        """The gap of the groups that are large."""
        return cls(tuple(tuple(one for one in b if cells.counts[one] > 20) for b in cells.blocks))


class LargeGroupsParity(DemographicParity):
    """Parity of the groups with more than 20 samples."""

    gap, metric = LargeGroupsRange, None


@pytest.mark.parametrize("constraint", [LargeGroupsParity(), LargeGroupsParity(min_group_size=2)])
def test_a_gap_of_ones_own_gets_the_sizes_of_groups(constraint):
    groups = np.repeat([0, 1, 2], [40, 40, 10])
    scores = make_tensor(np.repeat([-1.0, 0.0, 3.0], [40, 40, 10]), requires_grad=True)
    values = constraint_values(constraint, scores, np.resize([0, 1], 90), groups, tolerance=0.1)
    low, high = Sigmoid()(np.array([-1.0, 0.0])).value
    assert values.item() == pytest.approx(high - low - 0.1, abs=1e-12)


def test_one_group_has_nothing_to_compare():
    scores = make_tensor([1.0, 2.0], requires_grad=True)
    values = constraint_values("demographic_parity", scores, [0, 1], ["a", "a"], tolerance=0.1)
    values.sum().backward()
    assert values.tolist() == pytest.approx([-0.1])
    assert scores.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("parity", [1.0, 2.0], [0, 1], [0, 1]), "constraint must be one of"),
        (("demographic_parity", [1.0, 2.0, 3.0], [0, 1], [0, 1]), "there are 3 scores and 2"),
        (("demographic_parity", [1.0, 2.0], [1, 2], [0, 1]), r"target must have the classes 0 and"),
        (("demographic_parity", [1.0, 2.0], [0, 1], [0, 1, 1]), "sensitive_features"),
        (
            (DemographicParity(control_features="age"), [1.0, 2.0], [0, 1], [0, 1]),
            "in a call of its own",
        ),
        (("demographic_parity", [], [], []), "at least one sample, but there is none"),
        (
            ("partial_group_auc", np.arange(90.0), np.arange(90) % 2, np.arange(90) % 3),
            "compares ranks, which few samples",
        ),
    ],
)
def test_bad_input_is_refused(arguments, message):
    constraint, scores, target, groups = arguments
    with pytest.raises(ValueError, match=message):
        constraint_values(constraint, make_tensor(scores), target, groups, tolerance=0.0)


@pytest.mark.parametrize(
    "encode",
    [
        lambda codes: codes - 5,
        lambda codes: codes + 10**6,
        lambda codes: codes.astype(float),
        lambda codes: np.array(["c", "a", "b"])[codes].tolist(),
        lambda codes: np.column_stack((codes, codes)),
        lambda codes: torch.as_tensor(codes[:, None]),
    ],
)
def test_values_do_not_depend_on_the_labels_of_groups(encode, samples):
    scores, target, groups = samples
    values = [
        constraint_values(
            "equalized_odds", make_tensor(scores), target, labels, tolerance=0.0
        ).item()
        for labels in (groups, encode(groups))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-15)


def test_batches_without_a_group_are_compared_by_the_others(samples):
    scores, target, groups = samples
    for rows in (slice(None), groups != 1, groups != 2, slice(None)):
        expected = bound_to("demographic_parity", target[rows], groups[rows])(scores[rows])
        values = constraint_values(
            "demographic_parity",
            make_tensor(scores[rows]),
            target[rows],
            groups[rows],
            tolerance=0.0,
        )
        assert values.item() == pytest.approx(expected, abs=1e-12)


def bound_to(name, target, groups):
    """The gap of smooth rates as a function of scores."""
    known = Samples(
        np.where(target > 0, 1.0, -1.0), check_groups(groups, len(target)), np.ones(len(target))
    )
    one = CONSTRAINTS[name]().bind(known, Sigmoid(), LogisticLoss(), 0.0)
    return lambda scores: one.gap(one.sums.rates(one.sums.smooth_means(scores)))


def test_a_constraint_may_change_between_two_calls(samples):
    scores, target, groups = make_tensor(samples[0]), *samples[1:]
    parity = DemographicParity(tolerance=0.1)
    first = constraint_values(parity, scores, target, groups)
    parity.set_params(tolerance=0.2)
    second = constraint_values(parity, scores, target, groups)
    assert (first - second).item() == pytest.approx(0.1)


def test_small_groups_are_left_out_of_each_batch():
    scores = torch.linspace(-1.0, 2.0, 12, device=DEVICE)
    target = np.arange(12) % 2
    parity = DemographicParity(min_group_size=3)
    for groups in (np.repeat([0, 1, 2], [5, 5, 2]), np.repeat([0, 1, 2], [5, 2, 5])):
        is_large = np.bincount(groups)[groups] >= 3
        with pytest.warns(UserWarning, match="min_group_size"):
            values = constraint_values(parity, scores, target, groups, tolerance=0.0)
        alone = constraint_values(
            "demographic_parity",
            scores[is_large],
            target[is_large],
            groups[is_large],
            tolerance=0.0,
        )
        assert values.item() == pytest.approx(alone.item())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # which dynamo looks at
def test_a_step_may_be_compiled(samples):
    scores, target, groups = (make_tensor(one) for one in samples)
    layer = nn.Linear(1, 1).double().to(DEVICE)

    def value():
        return constraint_values(
            "equalized_odds", layer(scores[:, None]), target, groups, tolerance=0.0
        ).sum()

    assert torch.compile(value, backend="eager")().item() == value().item()


def gather(rank, address, results):
    """One of two processes: its gradient, and the values of both."""
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    rng = np.random.default_rng(0)
    scores = rng.normal(size=90)
    target = rng.integers(2, size=90)
    groups = rng.integers(3, size=90)
    rows = slice(0, 40) if rank == 0 else slice(40, 90)
    batch = make_tensor(scores[rows], requires_grad=True)
    columns = (make_tensor(one[rows]) for one in (target, groups))
    values = constraint_values("equalized_odds", *gather_samples(batch, *columns), tolerance=0.0)
    values.backward()
    results[rank] = values.item(), batch.grad.tolist()
    torch.distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processes share a file")
def test_processes_compare_the_samples_of_all(tmp_path, samples):
    scores, target, groups = samples
    full = make_tensor(scores, requires_grad=True)
    expected = constraint_values("equalized_odds", full, target, groups, tolerance=0.0)
    expected.backward()
    with torch.multiprocessing.Manager() as manager:
        results = manager.dict()
        torch.multiprocessing.spawn(gather, (f"file://{tmp_path}/rendezvous", results), nprocs=2)
        (first, of_first), (second, of_second) = results[0], results[1]
    assert first == second == pytest.approx(expected.item(), abs=1e-12)
    # Twice the gradient, of which the mean over two processes is taken.
    np.testing.assert_allclose(of_first + of_second, 2.0 * full.grad.cpu(), atol=1e-12)


@pytest.fixture
def problem():
    """A linear network under parity, in double precision, and its data."""
    rng = np.random.default_rng(0)
    groups = np.arange(200) % 2
    X = rng.normal(size=(200, 2)) + groups[:, np.newaxis]
    target = np.where(X.sum(axis=1) + rng.logistic(size=200) > 1.0, 1.0, -1.0)
    known = Samples(target, check_groups(groups, 200), np.ones(200))
    parity = DemographicParity().bind(known, Sigmoid(), LogisticLoss(), 0.02)
    torch.manual_seed(0)
    module = nn.Linear(2, 1).double().to(DEVICE)
    model = TorchModel(module, X)
    return ConstrainedProblem(model, LogisticLoss(), target, np.ones(200), 0.0, parity), module


def train(problem, module, solver, learning_rate, n_steps, by_pair=False):
    """Parameters after steps of plain gradient descent on all samples."""
    X = problem.model.samples.tensor
    groups = np.arange(200) % 2
    classes = make_tensor((problem.target > 0) * 1.0)
    optimizer = torch.optim.SGD(module.parameters(), lr=learning_rate)
    objective = ConstrainedObjective(solver, module.parameters())
    for _ in range(n_steps):
        scores = module(X)[:, 0]
        values = constraint_values(
            "demographic_parity", scores, problem.target, groups, tolerance=0.02, by_pair=by_pair
        )
        optimizer.zero_grad()
        objective(logistic(scores, classes), values).backward()
        optimizer.step()
        objective.step()
    return problem.model.parameters(module), objective


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("solver", "learning_rate"),
    [
        (SSLALM(tau=0.1, batch_size=200, max_iter=9), 0.1),
        (SSLALM(tau=0.1, mu=0.0, u_max=0.02, batch_size=200, max_iter=9), 0.1),
        (SSLALM(tau=0.1, u_max=0.02, u_max_rule="reset", batch_size=200, max_iter=9), 0.1),
        (SGD(learning_rate=0.2, rho=0.5, batch_size=200, max_iter=9), 0.2),
        (StochasticSwitching(objective_step=0.3, batch_size=200, max_iter=9), 0.3),
    ],
    ids=["ssl-alm", "alm", "reset", "penalty", "switching"],
)
@pytest.mark.parametrize("by_pair", [True, False], ids=["two signed rows", "one row"])
def test_steps_on_all_samples_are_those_of_the_solver(by_pair, solver, learning_rate, problem):
    """The rows of the solvers, as their papers have them, are two; or the largest one alone."""
    problem, module = problem
    problem = problem if by_pair else problem.join_rows()
    iterates = []
    solver.solve(problem, callback=lambda progress: iterates.append(progress.evaluation.parameters))
    parameters, _ = train(problem, module, solver, learning_rate, len(iterates) - 1, by_pair)
    np.testing.assert_allclose(parameters, iterates[-1], atol=1e-12)
    assert abs(iterates[-1] - iterates[0]).max() > 0.01


@pytest.mark.parametrize("by_pair", [True, False])
def test_the_penalty_barrier_weighs_rows_as_its_solver_does(by_pair, problem):
    """The solver takes the directions of Adam: the first is the sign of its gradient."""
    problem, module = problem
    problem = problem if by_pair else problem.join_rows()
    solver = SPBM(batch_size=200)
    start = problem.model.initial()
    moved = next(solver._steps(problem, start, np.random.RandomState(0)))[0]
    parameters, objective = train(problem, module, solver, 1.0, 1, by_pair)
    slope = start - parameters
    expected = solver.learning_rate * slope / (abs(slope) + 1e-8)
    np.testing.assert_allclose(start - moved, expected, rtol=1e-6)
    assert len(objective.multipliers) == 1 + by_pair


def test_the_direction_of_ghost_has_both_rows(problem):
    problem, module = problem
    solver = StochasticGhost()
    start = problem.model.initial()
    parameters, _ = train(problem, module, solver, 1.0, 1, by_pair=True)
    evaluation = problem.evaluate(start)
    rows = _linearize(evaluation, problem.one_sided)
    assert len(rows[1]) == 2
    np.testing.assert_allclose(parameters - start, ghost_direction(*rows, solver), atol=1e-9)


def test_the_direction_of_the_ghost_method_minimises_its_subproblem(problem):
    problem, module = problem
    problem = problem.join_rows()
    solver = StochasticGhost(beta=100.0)
    start = problem.model.initial()
    parameters, _ = train(problem, module, solver, 1.0, 1)
    move = parameters - start
    at = problem.evaluate(start)
    value = at.values[0] - problem.upper[0]
    slope = at.jacobian[0]
    # The relaxed row holds, and no random feasible direction is better.
    reachable = max(0.0, value - solver.rho * abs(slope).sum())
    kappa = (1 - solver.lambda_) * max(0.0, value) + solver.lambda_ * reachable
    assert value + slope @ move <= kappa + 1e-10
    others = move + np.random.default_rng(0).normal(scale=0.1, size=(2000, len(move)))
    others = others[value + others @ slope <= kappa]

    def cost(moves):
        return moves @ at.grad + solver.tau / 2 * (moves**2).sum(axis=-1)

    assert len(others) > 100
    assert (cost(others) >= cost(move)).all()


def test_multipliers_follow_the_mean_of_the_values_since_the_last_step():
    parameter = make_tensor([0.0], requires_grad=True)
    objective = ConstrainedObjective(SSLALM(mu=0.0, eta=0.5, rho=0.0), [parameter])
    for values in ([1.0, -1.0], [3.0, -1.0]):
        objective(parameter.sum(), make_tensor(values))
    objective.step()
    np.testing.assert_array_equal(objective.multipliers, [1.0, 0.0])  # slack 0 and 1


@pytest.mark.parametrize(
    "solver", [SSLALM(), SPBM(), SGD(rho=1.0), StochasticSwitching(), StochasticGhost()]
)
def test_nothing_moves_without_gradients(solver, problem):
    """Values of held-out samples, between two steps, leave the loop as it is."""
    problem, module = problem
    states = []
    parameters = list(module.parameters())
    for is_watched in (False, True):
        objective = ConstrainedObjective(solver, parameters)
        for step in range(3):
            scores = module(problem.model.samples.tensor)[:, 0]
            values = constraint_values(
                "demographic_parity", scores, problem.target, np.arange(200) % 2, by_pair=True
            )
            if is_watched:
                with torch.no_grad():
                    objective(scores.mean(), 3.0 * values + 1.0)
            objective(scores.mean(), values)
            if step < 2:
                objective.step()
        states.append(objective.state_dict())
    assert repr(states[0]) == repr(states[1])


def test_states_of_other_lengths_raise_in_words():
    parameter = make_tensor([0.0] * 2, requires_grad=True)
    first, second = (ConstrainedObjective(SSLALM(), [parameter]) for _ in range(2))
    first(parameter.sum(), make_tensor([0.0]))
    second.load_state_dict(first.state_dict())
    with pytest.raises(ValueError, match="each of the 1 multipliers, but they have 2; pass the"):
        second(parameter.sum(), make_tensor([0.0] * 2))
    second(parameter.sum(), make_tensor([0.0]))  # the failed call has changed nothing
    np.testing.assert_array_equal(second.multipliers, first.multipliers)
    other = ConstrainedObjective(SSLALM(), [make_tensor([0.0] * 3, requires_grad=True)])
    with pytest.raises(ValueError, match=r"shapes \[\(3,\)\], but it has those of shapes \[\(2"):
        other.load_state_dict(first.state_dict())


@pytest.mark.parametrize("solver", ["ssl-alm", "alm", "spbm", "ghost", "stochastic-switching"])
def test_loops_lower_the_gap(solver, problem):
    problem, module = problem
    train(problem, module, SGD(rho=0.0), 0.5, 100)
    before = problem.evaluate(problem.model.parameters(module)).violation
    parameters, _ = train(problem, module, solver, 0.1, 300, by_pair=True)
    assert before > 0.1
    assert problem.evaluate(parameters).violation < 0.5 * before


@pytest.mark.parametrize("solver", ["sqp", AdamPrimalDual()])
def test_other_solvers_are_refused(solver):
    with pytest.raises(ValueError, match="one of SGD, SSLALM.*AdamPrimalDual add a ConstraintTerm"):
        ConstrainedObjective(solver, [])


def test_the_last_layer_ends_a_loop(problem):
    problem, module = problem
    train(problem, module, "ssl-alm", 0.5, 50)
    X = problem.model.samples.tensor.cpu().numpy()
    groups = np.arange(200) % 2
    last = ConstrainedTorchClassifier(module, solver=None, tolerance=0.025)
    decisions = last.fit(X, problem.target > 0, sensitive_features=groups).predict(X)
    gap = demographic_parity_difference(problem.target > 0, decisions, sensitive_features=groups)
    assert gap <= 0.025


def make_batches(n_steps):
    """Rows of mini-batches, the same each time."""
    rng = np.random.default_rng(1)
    return [rng.choice(200, 40, replace=False) for _ in range(n_steps)]


class Loop:
    """A loop with momentum and an objective, which can be saved."""

    def __init__(self, problem, solver):
        torch.manual_seed(0)
        self.module = nn.Linear(2, 1).double().to(DEVICE)
        self.X, self.problem = problem.model.samples.tensor, problem
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.1, momentum=0.5)
        self.objective = ConstrainedObjective(solver, self.module.parameters())

    @property
    def parts(self):
        return self.module, self.optimizer, self.objective

    def run(self, batches):
        for rows in batches:
            target = make_tensor(self.problem.target[rows] > 0)
            scores = self.module(self.X[rows])[:, 0]
            values = constraint_values(
                "demographic_parity", scores, target, rows % 2, tolerance=0.02, by_pair=True
            )
            self.optimizer.zero_grad()
            self.objective(logistic(scores, target.double()), values).backward()
            self.optimizer.step()
            self.objective.step()
        return self.problem.model.parameters(self.module), self.objective.multipliers


@pytest.mark.parametrize(
    "solver",
    [
        SPBM(),
        SGD(rho=0.5),
        SSLALM(tau=0.1),
        SSLALM(tau=0.1, mu=0.0),
        StochasticGhost(),
        StochasticSwitching(epsilon=lambda k: 0.2 / (1 + k)),
    ],
    ids=["spbm", "penalty", "ssl-alm", "alm", "ghost", "switching"],
)
@pytest.mark.parametrize("n_before", [0, 7])
def test_a_loop_that_is_resumed_takes_the_same_steps(solver, n_before, problem, tmp_path):
    batches, uninterrupted, first, second = (
        make_batches(20),
        *(Loop(problem[0], solver) for _ in range(3)),
    )
    expected = uninterrupted.run(batches)
    first.run(batches[:n_before])
    torch.save([part.state_dict() for part in first.parts], tmp_path / "loop.pt")
    first.run(batches[n_before:])  # the saved state is a copy
    second.run(batches[:3])  # what is loaded replaces another state
    for part, state in zip(second.parts, torch.load(tmp_path / "loop.pt"), strict=True):
        part.load_state_dict(state)
    for loop in (second, first):
        actual = loop.run(batches[n_before:]) if loop is second else loop.run([])
        np.testing.assert_array_equal(actual[0], expected[0])
        np.testing.assert_array_equal(actual[1], expected[1])


def test_the_state_of_another_method_raises():
    state = ConstrainedObjective("ssl-alm", []).state_dict()
    with pytest.raises(ValueError, match=r"entries \[.*'multipliers', 'widths'\] of SPBM, but it"):
        ConstrainedObjective("spbm", []).load_state_dict(state)


def test_the_state_of_an_earlier_version_raises():
    state = {"multipliers": None, "_total": 0.0, "_n_calls": 0}
    with pytest.raises(ValueError, match="pass a state that this version of skfair saved"):
        ConstrainedObjective("spbm", []).load_state_dict(state)


@pytest.mark.parametrize("name", ["ratio", "ratio_of_opportunity"])
def test_values_of_a_ratio_are_negative_where_it_is_kept(name, samples):
    _, target, groups = samples
    scores = make_tensor(np.zeros(90), requires_grad=True)
    values = constraint_values(CRITERIA[name], scores, target, groups)
    assert values.item() == pytest.approx(0.8 * 0.5 - 0.5)
    values.sum().backward()
    # Larger rates move it away from its bound: v = (0.8 - 1) r.
    assert (scores.grad <= 0.0).all()


def test_gradients_have_no_second_derivatives(samples):
    scores, target, groups = samples
    scores = make_tensor(scores, requires_grad=True)
    value = constraint_values("demographic_parity", scores, target, groups, tolerance=0.0).sum()
    with pytest.raises(RuntimeError, match="first derivatives alone"):
        torch.autograd.grad(value, scores, create_graph=True)
    (slopes,) = torch.autograd.grad(value, scores)
    assert slopes.any()


def test_a_subclass_of_a_surrogate_may_be_another_function(samples):
    class Shifted(Sigmoid):
        def _evaluate(self, scores):
            return super()._evaluate(scores + 1.0)

    scores, target, groups = samples
    shifted, expected = (
        constraint_values(
            "equalized_odds", make_tensor(one), target, groups, surrogate=surrogate, tolerance=0.0
        )
        for one, surrogate in ((scores, Shifted()), (scores + 1.0, "sigmoid"))
    )
    assert shifted.item() == pytest.approx(expected.item(), abs=1e-12)


@pytest.mark.parametrize("name", ["demographic_parity", "equalized_odds"])
def test_few_samples_of_a_group_warn_once(name):
    rng = np.random.default_rng(0)
    groups = rng.choice(4, size=800, p=[0.5, 0.4, 0.06, 0.04])
    target = rng.integers(2, size=800)
    scores = make_tensor(rng.normal(size=800))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for rows in np.split(rng.permutation(800), 50):
            constraint_values(name, scores[rows], target[rows], groups[rows], tolerance=0.0)
    assert ["fewer than 5 samples" in str(one.message) for one in caught] == [True]


@pytest.mark.parametrize("groups", [["alone"] * 20, np.tile([0, 7], 10)])
def test_batches_without_a_group_warn(groups):
    with pytest.warns(UserWarning, match="or none, of a group"):
        constraint_values(
            "demographic_parity", make_tensor([1.0] * 20), [0, 1] * 10, groups, tolerance=0.0
        )


@pytest.mark.parametrize("name", ["demographic_parity", "equalized_odds"])
def test_five_samples_of_each_group_and_class_do_not_warn(name):
    groups = np.repeat([0, 1], 10)
    target = np.arange(20) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constraint_values(name, make_tensor([1.0] * 20), target, groups, tolerance=0.0)
