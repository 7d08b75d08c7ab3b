"""`ConstraintTerm`: its multipliers against differences of rates that are counted here."""

from itertools import permutations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from skfair.torch import ConstraintTerm  # noqa: E402


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
    term(torch.tensor(samples[0], requires_grad=True), *samples[1:])
    expected = 2.0 * np.maximum(0.0, excesses(*samples, by_class=name == "equalized_odds"))
    np.testing.assert_allclose(sorted(term.multipliers[0]), sorted(expected), atol=1e-12)


def test_the_term_is_the_multipliers_times_smooth_differences(samples):
    scores, target, groups = samples
    term = ConstraintTerm("demographic_parity", target, groups, tolerance=0.05)
    term.multipliers = [np.arange(6.0)]
    tensor = torch.tensor(scores, requires_grad=True)
    value = term(tensor, target, groups)
    smooth = torch.stack([torch.sigmoid(tensor.detach())[groups == k].mean() for k in range(3)])
    pairs = list(permutations(range(3), 2))
    expected = sum(k * (smooth[a] - smooth[b]) for k, (a, b) in enumerate(pairs))
    assert value.item() == pytest.approx(expected.item(), abs=1e-12)
    assert torch.autograd.gradcheck(
        lambda one: _at(term, np.arange(6.0), one, target, groups), tensor, atol=1e-7
    )


def _at(term, multipliers, *batch):
    term.multipliers = [multipliers]
    return term(*batch)


def test_small_batches_have_no_bias(samples):
    """Multipliers of a constraint that is kept stay near 0, where the largest gap would grow."""
    scores, target, groups = samples
    term = ConstraintTerm("demographic_parity", target, groups, tolerance=0.2, dual_step=1.0)
    rng = np.random.default_rng(1)
    for _ in range(50):
        for rows in np.split(rng.permutation(600), 40):
            term(torch.tensor(scores[rows], requires_grad=True), target[rows], groups[rows])
    assert max(term.multipliers[0]) < 0.1


def test_nothing_moves_without_gradients(samples):
    term = ConstraintTerm("demographic_parity", *samples[1:], tolerance=0.0)
    with torch.no_grad():
        term(torch.tensor(samples[0]), *samples[1:])
    assert not term.multipliers[0].any()


@pytest.mark.parametrize("size", [1, 7, 100])
def test_the_steps_of_an_epoch_are_one_on_all_samples(size, samples):
    scores, target, groups = samples
    term = ConstraintTerm("demographic_parity", target, groups, tolerance=0.05)
    term.multipliers = [np.full(6, 10.0)]
    for rows in np.split(np.arange(600), np.arange(size, 600, size)):
        term(torch.tensor(scores[rows], requires_grad=True), target[rows], groups[rows])
    expected = 10.0 + np.array(excesses(*samples, by_class=False))
    np.testing.assert_allclose(term.multipliers[0], expected, atol=1e-10)


def test_the_state_continues(samples):
    term, other = (ConstraintTerm("equalized_odds", *samples[1:], tolerance=0.0) for _ in range(2))
    term(torch.tensor(samples[0], requires_grad=True), *samples[1:])
    other.load_state_dict(term.state_dict())
    np.testing.assert_array_equal(other.multipliers, term.multipliers)
    with pytest.raises(ValueError, match="same constraints"):
        ConstraintTerm("demographic_parity", *samples[1:]).load_state_dict(term.state_dict())
