"""The loss of pairs against sums over all of them, its two convex parts, and what minimises it."""

import numpy as np
import pytest
from scipy.optimize import minimize

from skfair import losses
from skfair._bound.bound import ConstraintSystem
from skfair._problems.linear import LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.losses import AUCLoss, HingeLoss, LogisticLoss, SquaredHingeLoss, SquaredLoss
from skfair.metrics import partial_statistical_parity_difference
from skfair.solvers import GDA, IDCA, SQP

PAIRWISE = {
    "squared_hinge": SquaredHingeLoss(),
    "hinge": HingeLoss(0.1),
    "logistic": LogisticLoss(),
}
LOSSES = {**PAIRWISE, "squared": SquaredLoss()}
"""Losses on all false positive rates; the squared one is no difference of convex functions else."""

each_loss = pytest.mark.parametrize("loss", sorted(PAIRWISE))


def draw_scores(n_samples=40, seed=0):
    """Scores, targets and shares of a mean."""
    rng = np.random.default_rng(seed)
    target = np.where(np.arange(n_samples) % 4 == 0, 1.0, -1.0)
    share = rng.uniform(0.5, 2.0, n_samples)
    return rng.normal(size=n_samples) + 0.5 * target, target, share / share.sum()


def evaluate_pairs(scores, target, loss, positives=slice(None), negatives=slice(None)):
    """Loss of each pair of some of the positives and negatives, both by descending score."""
    won, lost = (np.sort(scores[target == side])[::-1] for side in (1.0, -1.0))
    differences = np.subtract.outer(won[positives], lost[negatives])
    return PAIRWISE[loss](differences.ravel(), np.ones(differences.size)).value


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_all_pairs_count_by_their_weights(loss):
    scores, target, share = draw_scores()
    won = target > 0
    lost = target < 0
    differences = np.subtract.outer(scores[won], scores[lost]).ravel()
    pairs = np.outer(share[won], share[lost]).ravel()
    values = LOSSES[loss](differences, np.ones(len(pairs))).value
    value = share @ AUCLoss(loss=loss)(scores, target, share).value
    assert value == pytest.approx(np.average(values, weights=pairs), rel=1e-12)


@each_loss
@pytest.mark.parametrize("interval, taken", [((0.0, 0.2), slice(6)), ((0.1, 0.5), slice(3, 15))])
def test_negatives_of_an_interval_are_those_of_the_formula(loss, interval, taken):
    scores, target, _ = draw_scores()
    share = np.full(40, 1 / 40)
    value = share @ AUCLoss(interval, loss, taper=0.0)(scores, target, share).value
    assert value == pytest.approx(evaluate_pairs(scores, target, loss, negatives=taken).mean())


@pytest.mark.parametrize("taper", [0.0, 0.3])
def test_a_weight_is_a_number_of_samples(taper):
    scores, target, _ = draw_scores()
    times = np.random.default_rng(1).integers(4, size=40)
    loss = AUCLoss((0.07, 0.33), taper=taper)
    value = times / times.sum() @ loss(scores, target, times / times.sum()).value
    one_by_one = np.repeat(scores, times), np.repeat(target, times)
    share = np.full(times.sum(), 1 / times.sum())
    assert value == pytest.approx(share @ loss(*one_by_one, share).value, rel=1e-12)


@pytest.mark.parametrize(
    "loss, interval",
    [(loss, (0.0, 1.0)) for loss in sorted(LOSSES)] + [(loss, (0.15, 0.6)) for loss in PAIRWISE],
)
def test_slopes_are_those_of_finite_differences(loss, interval):
    scores, target, share = draw_scores()
    auc = AUCLoss(interval, loss)
    step = 1e-6
    slope = share * auc(scores, target, share).slope
    for i in range(40):
        bump = step * (np.arange(40) == i)
        above, below = (share @ auc(scores + by, target, share).value for by in (bump, -bump))
        assert slope[i] == pytest.approx((above - below) / (2 * step), abs=1e-7)
    assert slope.sum() == pytest.approx(0.0, abs=1e-12)  # all scores may be moved


def test_curvatures_lie_above_those_of_differences():
    scores, target, share = draw_scores()
    won = target > 0
    lost = target < 0
    near = np.subtract.outer(scores[won], scores[lost]) < 1.0
    pairs = near * np.outer(share[won] / share[won].sum(), share[lost] / share[lost].sum())
    hessian = np.diag(np.zeros(40))
    hessian[np.ix_(won, lost)], hessian[np.ix_(lost, won)] = -pairs, -pairs.T
    hessian -= np.diag(hessian.sum(axis=1))
    above = np.diag(share * AUCLoss()(scores, target, share).curvature) - hessian
    assert np.linalg.eigvalsh(above).min() >= -1e-12


@pytest.mark.covering(0)
@each_loss
@pytest.mark.parametrize("taper", [0.0, 0.5])
def test_both_terms_are_convex_and_their_difference_is_the_loss(loss, taper):
    rng = np.random.default_rng(2)
    auc = AUCLoss((0.2, 0.5), loss, taper)
    _, target, share = draw_scores()

    def values(scores):
        return np.array([share @ part.value for part in auc.parts(scores, target, share)])

    for _ in range(50):
        one, other = rng.normal(size=(2, 40))
        assert (values((one + other) / 2) <= (values(one) + values(other)) / 2 + 1e-12).all()
        up, down = values(one)
        assert share @ auc(one, target, share).value == pytest.approx(up - down)


@each_loss
def test_the_majorant_touches_at_one_point_and_is_above(loss):
    rng = np.random.default_rng(3)
    auc = AUCLoss((0.2, 0.5), loss)
    scores, target, share = draw_scores()
    majorant = auc.majorant(scores, target, share)
    here = majorant(scores, target, share)
    there = auc(scores, target, share)
    assert share @ here.value == pytest.approx(share @ there.value)
    np.testing.assert_allclose(here.slope, there.slope)
    for other in scores + rng.normal(size=(50, 40)):
        above, below = (share @ one(other, target, share).value for one in (majorant, auc))
        assert above >= below - 1e-12


def test_tied_negatives_count_equally():
    share = np.full(20, 0.05)
    target = np.repeat([1.0, -1.0], 10)
    slope = AUCLoss((0.0, 0.2))(np.zeros(20), target, share).slope
    np.testing.assert_allclose(slope, -2.0 * target)


def test_without_pairs_there_is_nothing_to_lose():
    scores, _, share = draw_scores()
    assert not AUCLoss()(scores, np.ones(40), share).slope.any()


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"interval": (0.3, 0.3)}, "0 <= alpha < beta <= 1"),
        ({"interval": (0.1, 0.2, 0.3)}, "0 <= alpha < beta <= 1"),
        ({"taper": 2.0}, "taper"),
        ({"loss": "absolute"}, "loss"),
    ],
)
def test_refused_settings(changes, match):
    with pytest.raises(ValueError, match=match):
        AUCLoss(**changes)(*draw_scores())


# Minimising it ------------------------------------------------------------------------


def problem(loss, n_samples=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 3))
    y = np.where(X.sum(axis=1) + 0.6 * rng.normal(size=n_samples) > 1.0, 1.0, -1.0)
    weights = np.ones(n_samples)
    model = LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, y, weights, 1e-3, ConstraintSystem(()))


@pytest.mark.slow
def test_solvers_find_what_a_sum_over_all_pairs_has_as_its_least():
    task = problem(AUCLoss())

    def brute(x):
        scores = task.model.evaluate(x).scores
        return evaluate_pairs(scores, task.target, "squared_hinge").mean() + task.ridge @ x**2 / 2

    peer = minimize(brute, np.zeros(task.n_unknowns), options={"gtol": 1e-6})
    for solver in (SQP(tol=1e-6), IDCA(tol=1e-6), GDA(tol=1e-4)):
        result = solver.solve(task)
        assert result.status == "optimal"
        assert result.fun == pytest.approx(peer.fun, abs=1e-6)


@pytest.mark.slow
def test_a_partial_area_has_the_same_least_directly_and_by_convex_problems():
    task = problem(AUCLoss((0.05, 0.3), taper=1.0))
    direct = SQP(tol=1e-3).solve(task)
    by_parts = IDCA(tol=1e-3).solve(task)
    assert direct.fun < 0.5 * task.evaluate(task.initial_point()).fun
    assert by_parts.fun == pytest.approx(direct.fun, abs=1e-4)
    steps = []
    IDCA(max_iter=4, tol=1e-3).solve(task, callback=steps.append)
    assert (np.diff([step.evaluation.fun for step in steps]) <= 1e-9).all()


def draw_data(n_samples=600):
    rng = np.random.default_rng(1)
    groups = np.arange(n_samples) % 2
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += groups
    return X, X.sum(axis=1) + 0.6 * rng.normal(size=n_samples) > 1.5, groups


@pytest.mark.slow
def test_scores_are_fair_and_as_well_ordered_as_one_may_ask():
    X, y, groups = draw_data()
    target = np.where(y, 1.0, -1.0)
    share = np.full(len(y), 1 / len(y))

    def fit_model(loss):
        model = PartialParityClassifier(interval=(0.1, 0.5), tolerance=0.2, loss=loss)
        scores = model.fit(X, y, sensitive_features=groups).decision_function(X)
        gap = partial_statistical_parity_difference(
            scores, sensitive_features=groups, interval=(0.1, 0.5)
        )
        assert model.constraint_violation_ == 0.0
        return gap, share @ AUCLoss()(scores, target, share).value, model

    gap, loss, model = fit_model("auc")
    assert 0.18 <= gap <= 0.2  # it binds
    assert loss < fit_model("logistic")[1]
    assert loss <= model.objective_ <= loss + 1e-3


@pytest.mark.parametrize("criterion", ["partial_demographic_parity", "partial_equalized_odds"])
def test_criteria_at_a_cut_off_are_refused(criterion):
    X, y, groups = draw_data(200)
    with pytest.raises(ValueError, match="AUCLoss ranks samples and has no threshold, but Partial"):
        PartialParityClassifier(criterion, loss="auc").fit(X, y, sensitive_features=groups)


def test_decisions_cannot_be_constrained_under_a_loss_of_pairs():
    X, y, groups = draw_data(200)
    model = ConstrainedERMClassifier("equalized_odds", loss=AUCLoss((0.0, 0.3)))
    with pytest.raises(ValueError, match="has no threshold"):
        model.fit(X, y, sensitive_features=groups)
    free = ConstrainedERMClassifier(None, loss=AUCLoss()).fit(X, y)
    assert free.status_ == "optimal"


def test_the_squared_loss_is_refused_on_an_interval():
    with pytest.raises(ValueError, match=r"no difference of convex.*interval=\(0.0, 0.1\)"):
        AUCLoss((0.0, 0.1), "squared")(*draw_scores())


def test_logistic_pairs_do_not_depend_on_how_many_are_held_at_a_time(monkeypatch):
    together = AUCLoss((0.1, 0.7), "logistic")(*draw_scores())
    monkeypatch.setattr(losses, "_MAX_PAIRS", 30)
    for one, other in zip(AUCLoss((0.1, 0.7), "logistic")(*draw_scores()), together, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_curvatures_of_smooth_losses_lie_above_those_of_differences(loss):
    scores, target, share = draw_scores()
    auc = AUCLoss(loss=loss)
    step = 1e-5
    bumps = step * np.eye(40)

    def slope(scores):
        return share * auc(scores, target, share).slope

    hessian = np.array([(slope(scores + by) - slope(scores - by)) / (2 * step) for by in bumps])
    above = np.diag(share * auc(scores, target, share).curvature) - hessian
    assert np.linalg.eigvalsh((above + above.T) / 2).min() >= -1e-8


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_fit_minimises_the_mean_over_pairs(loss):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    y = rng.random(60) < 0.4
    X[y, 0] += 1.0
    model = ConstrainedERMClassifier(None, loss=AUCLoss(loss=loss), alpha=0.01).fit(X, y)

    def mean(w):
        differences = np.subtract.outer(X[y] @ w, X[~y] @ w).ravel()
        return LOSSES[loss](differences, np.ones(len(differences))).value.mean()

    best = minimize(lambda w: mean(w) + 0.005 * w @ (w * X.var(axis=0)), np.zeros(2)).x
    np.testing.assert_allclose(np.ravel(model.coef_), best, atol=0.02)
