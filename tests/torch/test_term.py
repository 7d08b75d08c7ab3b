"""`ConstraintTerm`: its multipliers against differences of rates that are counted here."""

from itertools import permutations

import numpy as np
import pytest

from skfair.constraints import BoundedGroupLoss, DemographicParity, EqualizedOdds, RateParity
from skfair.surrogates import Sigmoid
from skfair.torch import ConstraintTerm
from tests.torch_device import DEVICE

torch = pytest.importorskip("torch")


def make_scores(values, requires_grad=True):
    """Scores on the device of the tests."""
    return torch.tensor(values, device=DEVICE, requires_grad=requires_grad)


@pytest.fixture
def samples():
    """Scores, classes and three groups."""
    rng = np.random.default_rng(0)
    return rng.normal(size=600), rng.integers(2, size=600), rng.integers(3, size=600)


def excesses(scores, target, groups, by_class):
    """Counted differences of rates of ordered pairs, less a tolerance of .05, by numpy alone."""
    masks = [target == 1, target == 0] if by_class else [np.ones(len(target), bool)]
    rates = [[(scores[m & (groups == k)] > 0).mean() for k in range(3)] for m in masks]
    return [one[a] - one[b] - 0.05 for one in rates for a, b in permutations(range(3), 2)]


@pytest.mark.parametrize("name", ["demographic_parity", "equalized_odds"])
def test_multipliers_move_by_counted_differences(name, samples):
    term = ConstraintTerm(name, *samples[1:], tolerance=0.05, dual_step=2.0)
    term(make_scores(samples[0]), *samples[1:])
    expected = 2.0 * np.maximum(0.0, excesses(*samples, by_class=name == "equalized_odds"))
    np.testing.assert_allclose(sorted(term.multipliers[0]), sorted(expected), atol=1e-12)


def test_the_term_is_the_multipliers_times_smooth_differences(samples):
    scores, target, groups = samples
    term = ConstraintTerm("demographic_parity", target, groups, tolerance=0.05)
    term.multipliers = [np.arange(6.0)]
    tensor = make_scores(scores)
    value = term(tensor, target, groups)
    smooth = torch.stack(
        [torch.sigmoid(tensor.detach().cpu())[groups == k].mean() for k in range(3)]
    )
    pairs = list(permutations(range(3), 2))
    expected = sum(k * (smooth[a] - smooth[b]) for k, (a, b) in enumerate(pairs))
    assert value.item() == pytest.approx(expected.item(), abs=1e-12)
    assert torch.autograd.gradcheck(
        lambda one: evaluate_with(term, np.arange(6.0), one, target, groups), tensor, atol=1e-7
    )


def evaluate_with(term, multipliers, *batch):
    term.multipliers = [multipliers]
    return term(*batch)


def test_rates_that_count_negative_decisions_are_compared(samples):
    """Of errors: a negative decision about a positive sample counts, too."""
    scores, target, groups = samples
    term = ConstraintTerm("error_rate_parity", target, groups, tolerance=0.0)
    term.multipliers = [np.arange(6.0)]
    tensor = make_scores(scores)
    value = term(tensor, target, groups)
    smooth = Sigmoid()(scores).value
    wrong = np.where(target == 1, 1.0 - smooth, smooth)
    pairs = list(permutations(range(3), 2))
    rates = [wrong[groups == k].mean() for k in range(3)]
    expected = sum(k * (rates[a] - rates[b]) for k, (a, b) in enumerate(pairs))
    assert value.item() == pytest.approx(expected, abs=1e-12)
    counted = [((scores > 0) != target)[groups == k].mean() for k in range(3)]
    moved = [max(0.0, k + counted[a] - counted[b]) for k, (a, b) in enumerate(pairs)]
    np.testing.assert_allclose(term.multipliers[0], moved, atol=1e-12)


def test_small_batches_have_no_bias(samples):
    """Multipliers of a constraint that is kept stay near 0, where the largest gap would grow."""
    scores, target, groups = samples
    term = ConstraintTerm("demographic_parity", target, groups, tolerance=0.2, dual_step=1.0)
    rng = np.random.default_rng(1)
    for _ in range(50):
        for rows in np.split(rng.permutation(600), 40):
            term(make_scores(scores[rows]), target[rows], groups[rows])
    assert max(term.multipliers[0]) < 0.1


@pytest.mark.parametrize("is_disabled", [True, False])
def test_nothing_moves_without_gradients(is_disabled, samples):
    term = ConstraintTerm("demographic_parity", *samples[1:], tolerance=0.0)
    scores = make_scores(samples[0], requires_grad=is_disabled)
    with torch.set_grad_enabled(not is_disabled):
        term(scores, *samples[1:])
    assert not term.multipliers[0].any()


@pytest.mark.parametrize("size", [1, 7, 100])
def test_the_steps_of_an_epoch_are_one_on_all_samples(size, samples):
    scores, target, groups = samples
    term = ConstraintTerm("demographic_parity", target, groups, tolerance=0.05)
    term.multipliers = [np.full(6, 10.0)]
    for rows in np.split(np.arange(600), np.arange(size, 600, size)):
        term(make_scores(scores[rows]), target[rows], groups[rows])
    expected = 10.0 + np.array(excesses(*samples, by_class=False))
    np.testing.assert_allclose(term.multipliers[0], expected, atol=1e-10)


def test_gradients_of_batches_add_up_to_that_of_all_samples(samples):
    scores, target, groups = samples
    multipliers = np.linspace(0.0, 1.0, 12)

    def gradient(rows):
        term = ConstraintTerm("equalized_odds", target, groups, dual_step=0.0)
        term.multipliers = [multipliers]
        tensor = make_scores(scores[rows])
        term(tensor, target[rows], groups[rows]).backward()
        return tensor.grad.cpu().numpy()

    batches = np.split(np.random.default_rng(0).permutation(600), [5, 50, 51, 300])
    full = gradient(np.arange(600))
    for rows in batches:
        np.testing.assert_allclose(len(rows) / 600 * gradient(rows), full[rows], atol=1e-14)


@pytest.mark.parametrize(
    "encode",
    [
        lambda codes: codes - 5,
        lambda codes: codes + 10**6,
        lambda codes: 3 * codes,
        lambda codes: torch.as_tensor(codes[:, None]),
        lambda codes: np.array(["c", "a", "b"])[codes],
        lambda codes: np.column_stack((codes, np.array(["x", "y", "z"])[codes])),
    ],
)
def test_groups_of_a_batch_are_those_of_all_samples(encode, samples):
    """Batches without the first group, and in another order, count for the same multipliers."""
    scores, target, groups = samples
    terms = [
        ConstraintTerm("demographic_parity", target, labels, tolerance=0.0)
        for labels in (groups, encode(groups))
    ]
    rows = np.flatnonzero(groups > 0)[::-1].copy()
    for term, labels in zip(terms, (groups, encode(groups)), strict=True):
        term(make_scores(scores[rows]), target[rows], labels[rows])
    assert terms[0].multipliers[0].any()
    np.testing.assert_allclose(*(sorted(term.multipliers[0]) for term in terms), atol=1e-15)


def test_a_ratio_has_a_multiplier_for_each_pair(samples):
    scores, target, groups = samples
    term = ConstraintTerm(DemographicParity(ratio=0.9), target, groups)
    term(make_scores(scores), target, groups)
    rates = [(scores[groups == k] > 0).mean() for k in range(3)]
    excess = [0.9 * rates[a] - rates[b] for a, b in permutations(range(3), 2)]
    np.testing.assert_allclose(term.multipliers[0], np.maximum(0.0, excess), atol=1e-12)
    assert term.multipliers[0].any()


def test_bounds_and_several_constraints(samples):
    """Mean losses have no decisions: they count as they are."""
    scores, target, groups = samples
    both = ["demographic_parity", BoundedGroupLoss(0.5)]
    term = ConstraintTerm(both, target, groups, tolerance=0.0)
    tensor = make_scores(scores)
    term(tensor, target, groups)
    losses = np.logaddexp(0.0, -np.where(target > 0, 1.0, -1.0) * scores)
    expected = [max(0.0, losses[groups == k].mean() - 0.5) for k in range(3)]
    np.testing.assert_allclose(term.multipliers[1], expected, atol=1e-12)
    assert len(term.multipliers[0]) == 6


def test_many_groups_have_a_multiplier_for_each_pair():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=4000)
    target = rng.integers(2, size=4000)
    groups = np.arange(4000) % 30
    term = ConstraintTerm("demographic_parity", target, groups, tolerance=0.1)
    tensor = make_scores(scores)
    for _ in range(2):
        value = term(tensor, target, groups)
    assert term.multipliers[0].shape == (30 * 29,)
    value.backward()
    assert tensor.grad.any()


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (RateParity("precision"), "compares rates that are means"),
        (EqualizedOdds(aggregate="sum"), "compares rates that are means"),
        ("partial_group_auc", "compares ranks, which few samples"),
        (DemographicParity(control_features="age"), "in a call of its own"),
    ],
)
def test_constraints_without_pairs_are_refused(constraint, message, samples):
    with pytest.raises(ValueError, match=message):
        ConstraintTerm(constraint, *samples[1:])


def test_bad_input_is_refused(samples):
    scores, target, groups = samples
    scores = make_scores(scores)
    with pytest.raises(ValueError, match="dual_step must be at least 0, but dual_step=-1"):
        ConstraintTerm("demographic_parity", target, groups, dual_step=-1)
    with pytest.raises(ValueError, match="two groups or more that DemographicParity compares"):
        ConstraintTerm("demographic_parity", target, np.zeros(600, int))
    term = ConstraintTerm("demographic_parity", target, groups)
    with pytest.raises(ValueError, match="which are 0, 1, 2, but a sample has 7; make the term"):
        term(scores[:3], target[:3], [0, 1, 7])
    with pytest.raises(ValueError, match="there are 2 scores and 3 targets"):
        term(scores[:2], target[:3], groups[:3])
    with pytest.raises(ValueError, match="at least one sample, but there is none"):
        term(scores[:0], target[:0], groups[:0])
    # After errors it goes on.
    assert term(scores, target, groups).item() == 0.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype, samples):
    _, target, groups = samples
    X = torch.randn(600, 4, generator=torch.Generator().manual_seed(0))
    layer = torch.nn.Linear(4, 1)
    term = ConstraintTerm("demographic_parity", target, groups, tolerance=0.0)
    term.multipliers = [np.arange(6.0)]
    X = X.to(DEVICE)
    layer = layer.to(DEVICE)
    with torch.autocast(torch.device(DEVICE).type, dtype):
        value = term(layer(X), target, groups)
    assert value.dtype is torch.float32
    value.backward()
    assert layer.weight.grad.any()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # which dynamo looks at
def test_a_step_may_be_compiled(samples):
    scores, target, groups = (torch.as_tensor(one, device=DEVICE) for one in samples)
    layer = torch.nn.Linear(1, 1).double().to(DEVICE)
    terms = [ConstraintTerm("equalized_odds", target, groups, tolerance=0.0) for _ in range(2)]

    def value(term):
        return term(layer(scores[:, None]), target, groups)

    compiled = torch.compile(value, backend="eager")
    for _ in range(2):
        assert compiled(terms[0]).item() == value(terms[1]).item()
    np.testing.assert_array_equal(terms[0].multipliers, terms[1].multipliers)


def test_the_state_continues(samples, tmp_path):
    term, other = (ConstraintTerm("equalized_odds", *samples[1:], tolerance=0.0) for _ in range(2))
    tensor = make_scores(samples[0])
    term(tensor, *samples[1:])
    torch.save(term.state_dict(), tmp_path / "term.pt")
    saved = [one.copy() for one in term.multipliers]
    term(tensor, *samples[1:])
    other.load_state_dict(torch.load(tmp_path / "term.pt"))
    np.testing.assert_array_equal(other.multipliers, saved)
    other(tensor, *samples[1:])
    np.testing.assert_array_equal(other.multipliers, term.multipliers)
    with pytest.raises(ValueError, match=r"which has \[6\] multipliers, but it has \[12\]"):
        ConstraintTerm("demographic_parity", *samples[1:]).load_state_dict(term.state_dict())
    with pytest.raises(ValueError, match=r"but it has \[\]; make this term"):
        term.load_state_dict({})
