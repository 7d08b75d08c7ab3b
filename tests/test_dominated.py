"""No fit is behind what is cheap to know, whatever is combined: see `tests.combinations`.

Fits are judged by one measure on their training samples, of which smaller is better, and compared
within a noise that each combination states: the share of two samples of decisions, 1 % of all pairs
of ranks, 1 % of the variance of numbers, 1 % of the cost of clusters. A model without constraint is
never improved, so that none of these comparisons asks for more than the plain model has.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from skfair._fitting.counting import DecisionCounter
from skfair.audit import Audit, certify_in_order
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.cluster.kmeans import _fits
from skfair.conformal import ConformalClassifier
from skfair.constraints import DemographicParity, LossParity, PartialStatisticalParity
from skfair.losses import SquaredLoss
from skfair.model_selection import fit_ladder
from skfair.ranking import ConstrainedRankerCV
from tests.combinations import (
    BASES,
    COMBINATIONS,
    DECISIONS,
    KINDS,
    LOSSES,
    N_CLUSTERS,
    NUMBERS,
    ON_ARRAYS,
    RANKS,
    Combination,
    double_weights,
    draw,
    error_rate,
    fit_decisions,
    fit_with_intercepts,
    gap_of_ranks,
    permute_columns,
    permute_rows,
    rank_loss,
    rename_classes,
    rename_groups,
    repeat_rows,
    rescale_columns,
    shift_decisions,
    smallest_balance,
    two_samples,
    wrap,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

SEED = 11
ROUNDING = 1e-6
BY_NAME = {one.name: one for one in COMBINATIONS}


class Case(NamedTuple):
    """A combination on data of a kind and a seed, and a function that says the same otherwise."""

    combination: Combination
    kind: str
    seed: int
    move: Callable

    @property
    def data(self):
        """The samples."""
        return draw(self.kind, self.seed)


MOVES = (rename_groups, permute_columns, permute_rows, repeat_rows, double_weights)
"""Data in other words: each of these is applied to a case in turn."""


def list_moves(combination):
    """The moves that may change nothing: also other units where the estimator standardises."""
    name = combination.name
    is_linear = name.startswith("linear")
    is_tree = "tree, known" in name
    compares_classes = combination.name.endswith(tuple(DECISIONS)) and "regression" not in name
    return (
        *MOVES,
        *[rescale_columns] * (is_linear or is_tree),
        *[rename_classes] * compares_classes,
    )


SLOWEST = (
    "bounded loss",
    "loss parity",
    "percentiles",
    "percentiles at 0",
    "areas",
    "error rates",
)
"""Constraints whose fits take longest."""

SLOWEST_BASES = ("tree, blind", "k highest, blind", "logistic of three classes, known")
"""Bases whose fits take longest, or that are much like another one."""


def list_cases():
    """All cases. Few are quick: each base and each constraint occurs, on data of each kind."""
    cases = []
    covered = set()
    for number, combination in enumerate(COMBINATIONS):
        quick = combination.kinds[number % len(combination.kinds)]
        for kind in combination.kinds:
            moves = list_moves(combination)
            case = Case(combination, kind, SEED, moves[len(cases) % len(moves)])
            is_slow = combination.name.endswith(SLOWEST)
            is_slow = is_slow or combination.name.startswith(SLOWEST_BASES)
            terms = {*combination.name.rsplit(", ", 1)}
            is_new = not terms <= covered or number % 2 == 1
            is_quick = kind == quick and not is_slow and is_new
            covered |= terms if is_quick else set()
            marks = () if is_quick else pytest.mark.slow
            cases.append(pytest.param(case, id=f"{combination.name}, {kind}", marks=marks))
    return cases


def test_pairs_of_constraints_bases_and_kinds_of_data_occur():
    wrapped = [one.name.rsplit(", ", 1) + [one.kinds] for one in COMBINATIONS if "," in one.name]
    wrapped = [one for one in wrapped if one[0].startswith(tuple(BASES)) and one[1] in DECISIONS]
    wrapped = [one for one in wrapped if "three classes" not in one[0]]
    for place, names in ((0, {one[0] for one in wrapped}), (1, DECISIONS)):
        for name in names:
            assert set(ON_ARRAYS) == {k for one in wrapped if one[place] == name for k in one[2]}


@cache
def fit_plain(case):
    """The plain model of a case."""
    return case.combination.fit(case.data, None)


class Computed(NamedTuple):
    """A model that a fit has computed: its violation, and the loss or the share of errors."""

    violation: float
    measure: float


@cache
def compute_share(case, share):
    """The fit at a share of the plain model's gap, its tolerance, and all models computed for it.

    Models are recorded where decisions or losses are bounded, of samples in memory, and ends of
    k-means.
    """
    tolerance = share * fit_plain(case).gap
    computed = []
    evaluate = DecisionCounter.evaluate
    repair_and_search = _fits.repair_and_search

    # Rules that fall where the score of a classifier grows are searched through, and not returned.
    name = case.combination.name
    is_wrapped = any(f", {known}, " in name for known in ("blind", "known"))
    rises = is_wrapped and "regression" not in name

    def record_models(counter, points, result):
        candidates = evaluate(counter, points, result)
        is_counted = "decisions" in counter.problem.constraint.metric_inputs
        measure = count_errors if is_counted else average_loss
        computed.extend(
            Computed(one.violation, measure(counter.problem, one.scores))
            for one in candidates
            if one.has_stable_decisions
            and len(one.scores) == len(case.data.y)
            and not (rises and one.parameters[0] < 0.0)
        )
        return candidates

    def record_ends(problem, *args, **settings):
        point, status = repair_and_search(problem, *args, **settings)
        labels = point.clustering.labels
        if len(labels) == len(case.data.y):
            excess = 1.0 - smallest_balance(case.data, labels) - tolerance
            computed.append(Computed(max(0.0, excess), measure_clusters(case.data, labels)))
        return point, status

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DecisionCounter, "evaluate", record_models)
        patch.setattr(_fits, "repair_and_search", record_ends)
        fit = case.combination.fit(case.data, tolerance)
    return fit, tolerance, computed


def count_errors(problem, scores):
    """Weighted share of wrong decisions."""
    return problem.mean_weights @ ((scores > 0.0) != (problem.target > 0.0))


def average_loss(problem, scores):
    """Mean loss: squared errors as a share of the variance, or the logistic loss."""
    weights, target = problem.mean_weights, problem.target
    if isinstance(problem.loss, SquaredLoss):
        return weights @ (target - scores) ** 2 / np.cov(target, aweights=weights, ddof=0)
    return weights @ np.logaddexp(0.0, -target * scores)


def measure_clusters(data, labels):
    """Mean squared distance to the means of clusters."""
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    members = np.eye(N_CLUSTERS)[labels] * data.weights[:, np.newaxis]
    centers = members.T @ X / members.sum(axis=0)[:, np.newaxis]
    return float(np.average(((X - centers[labels]) ** 2).sum(axis=1), weights=data.weights))


def fit_share(case, share):
    """The fit at a share of the plain model's gap, and its tolerance."""
    return compute_share(case, share)[:2]


def allow(case):
    """How much worse a fit may be."""
    return case.combination.noise(case.data, fit_plain(case))


def keeps(fit, tolerance):
    """Whether the gap by numpy is at most the tolerance."""
    return fit.gap <= tolerance + ROUNDING


def shares_of(case):
    """Shares of the plain gap that are tolerances below 1 where these are shares."""
    is_share = case.combination.name.rsplit(", ", 1)[1] in ("ratio", "floor", "ceiling", "balance")
    largest = 1.0 if is_share else np.inf
    return [one for one in case.combination.shares if one * fit_plain(case).gap < largest]


def check_looser_bounds(case):
    """A looser bound is never worse."""
    plain = fit_plain(case)
    best = np.inf
    for share in shares_of(case):
        fit, tolerance = fit_share(case, share)
        if keeps(fit, tolerance):
            assert fit.measure <= max(best, plain.measure) + allow(case)
            best = min(best, fit.measure)
        else:
            # Decisions that are worse than both constants keep a bound by chance.
            alternatives = case.combination.alternatives(case.data, plain)
            worst = max((measure for measure, _ in alternatives), default=np.inf)
            assert np.isinf(best) or best > worst, "a stricter bound was kept"


def check_cheap_models(case):
    """No fit is behind the plain model with another constant, or a constant, or misses a bound."""
    plain = fit_plain(case)
    alternatives = list(case.combination.alternatives(case.data, plain))
    for share in shares_of(case):
        fit, tolerance = fit_share(case, share)
        known = [measure for measure, gap in alternatives if gap <= tolerance]
        if known:
            assert keeps(fit, tolerance)
            assert fit.measure <= max(min(known), plain.measure) + allow(case)


def check_inactive_bounds(case):
    """A bound that the plain model keeps changes nothing."""
    plain = fit_plain(case)
    if shares_of(case)[-1:] != [case.combination.shares[-1]]:
        pytest.skip("the looser bound is no share")
    fit, _ = fit_share(case, case.combination.shares[-1])
    # Solvers of ranks and of the plain model end at different digits.
    np.testing.assert_allclose(fit.output, plain.output, atol=1e-4 * np.abs(plain.output).max())


def check_what_is_said(case):
    """Violation and status agree with numpy."""
    for share in shares_of(case):
        fit, tolerance = fit_share(case, share)
        excess = max(0.0, fit.gap - tolerance)
        assert fit.estimator.constraint_violation_ == pytest.approx(excess, abs=1e-5)
        assert keeps(fit, tolerance) or fit.estimator.status_ == "infeasible"


def check_best_of_computed(case):
    """Of all models that a fit has computed, the best one that keeps the bound is returned."""
    if case.combination.name.endswith(tuple(RANKS)) or case.kind == "partitions":
        pytest.skip("neither ranks nor samples in blocks are counted one by one")
    if "three classes" in case.combination.name:
        pytest.skip("models of several classes are not recorded")
    if "ladder" in case.combination.name:
        pytest.skip("models of all tolerances are recorded")
    plain = fit_plain(case)
    # Losses and means of numbers are computed in units of their variance and deviation.
    unit = gap_unit = 1.0
    if "regression" in case.combination.name:
        unit = gap_unit = float(np.cov(case.data.numbers, aweights=case.data.weights, ddof=0))
    if case.combination.name.endswith("mean parity"):
        gap_unit = np.sqrt(unit)
    # Losses are compared together with their penalty.
    slack = 1e-3 if case.combination.name.endswith((*LOSSES, *NUMBERS)) else 1e-9
    for share in shares_of(case):
        fit, tolerance, computed = compute_share(case, share)
        if plain.gap <= tolerance:
            continue  # a model without constraint is never improved
        least = min(one.violation for one in computed)
        best = min(one.measure for one in computed if one.violation <= least + ROUNDING)
        assert max(0.0, fit.gap - tolerance) <= gap_unit * (least + 1e-5)
        assert fit.measure / unit <= best + slack


class Difference(NamedTuple):
    """How much fits in other words may differ, in noises, and why."""

    move: Callable
    algorithm: str
    factor: float
    reason: str


DIFFERENCES = (
    Difference(permute_columns, "blind", 1.0, "the model of groups ends at other digits"),
    Difference(permute_rows, "blind", 4.0, "folds of models of groups follow the rows"),
    Difference(repeat_rows, "blind", 12.0, "models of groups know the copy of a sample"),
    Difference(double_weights, "blind", 3.0, "models of groups that are passed are regularised"),
    Difference(repeat_rows, "logistic", 1.0, "the base is regularised by C"),
    Difference(double_weights, "logistic", 1.0, "the base is regularised by C"),
    Difference(repeat_rows, "k highest", 0.05, "the base is regularised by C"),
    Difference(permute_columns, "tree", 5.0, "the base takes the first of equal splits"),
    Difference(rescale_columns, "linear", 1.0, "the penalty depends on the units of features"),
    Difference(repeat_rows, "linear", 1.0, "planes are searched up to 512 samples"),
    Difference(permute_rows, "k-means", 4.0, "starts are drawn from the rows"),
    Difference(repeat_rows, "k-means", 4.0, "starts are drawn from the rows"),
)


def allow_difference(case):
    """How much a fit in other words may differ: a hundredth of the noise, or as listed."""
    listed = [
        one.factor
        for one in DIFFERENCES
        if one.move is case.move and one.algorithm in case.combination.name
    ]
    return max(listed, default=0.01) * allow(case)


def check_other_words(case):
    """Names and order decide nothing, among fits that keep the bound."""
    if len(shares_of(case)) < 2:
        pytest.skip("no tolerance is a share")
    fit, tolerance = fit_share(case, shares_of(case)[1])
    moved = case.combination.fit(case.move(case.data), tolerance)
    if not (keeps(fit, tolerance) and keeps(moved, tolerance)):
        pytest.skip("fits that miss a bound are judged by their violation")
    assert moved.measure == pytest.approx(fit.measure, abs=allow_difference(case))


CHECKS = (
    check_looser_bounds,
    check_cheap_models,
    check_inactive_bounds,
    check_what_is_said,
    check_best_of_computed,
    check_other_words,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", list_cases())
def test_combinations(case, check):
    check(case)


# Other estimators.


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("sparse", "partitions")])
@pytest.mark.parametrize("name", DECISIONS)
def test_the_linear_class_is_not_behind_thresholds_by_group(name, kind):
    # A wrapped linear model with a threshold for each group is linear, with their intercepts.
    wrapped = Case(BY_NAME[f"logistic, known, {name}"], kind, SEED, rename_groups)
    plain = fit_with_intercepts(DECISIONS[name], wrapped.data, None)
    for share in shares_of(wrapped):
        other, tolerance = fit_share(wrapped, share)
        fit = fit_with_intercepts(DECISIONS[name], wrapped.data, tolerance)
        if keeps(other, tolerance):
            assert keeps(fit, tolerance)
            # Both are searches, each with its noise.
            assert fit.measure <= max(other.measure, plain.measure) + 2.0 * allow(wrapped)


def test_a_rule_by_estimated_groups_is_not_behind_another_threshold():
    # Out of folds many columns say little about the group, so that a rule by it has more errors.
    data = draw("many columns", 2)
    criterion = DECISIONS["equal opportunity"]
    fit = partial(fit_decisions, partial(wrap, GaussianNB, False), criterion, True, False, data)
    plain = fit(None)
    known = [
        error for error, gap in shift_decisions(criterion, data, plain) if gap <= 0.7 * plain.gap
    ]
    assert fit(0.7 * plain.gap).measure <= min(known)


@pytest.mark.parametrize("kind", ["plain", "weights", "group of 1 %", "few distinct rows"])
def test_a_balance_costs_no_more_than_a_ratio_of_shares_that_keeps_it(kind):
    data = draw(kind, SEED)
    settings = {"sensitive_features": data.groups, "sample_weight": data.weights}
    of_shares = FairKMeans(N_CLUSTERS, min_balance=None, min_share_ratio=0.7, random_state=0)
    of_shares.fit(data.X, **settings)
    balance = smallest_balance(data, of_shares.labels_)
    balanced = FairKMeans(N_CLUSTERS, min_balance=balance - ROUNDING, random_state=0)
    balanced.fit(data.X, **settings)
    assert balanced.inertia_ <= 1.01 * of_shares.inertia_


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["plain", "weights", "three groups", "few distinct rows", "many columns"]
)
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_postprocessor_ranks_no_worse_than_a_wrapper(kind, share):
    # Both know the groups, and move the scores of one model.
    post = Case(BY_NAME["postprocessor, percentiles"], kind, SEED, rename_groups)
    data = post.data
    fit, tolerance = fit_share(post, share)
    constraint = PartialStatisticalParity((0.0, 0.5), tolerance=tolerance)
    wrapped = wrap(GaussianNB, True, data, constraint)
    settings = {"sample_weight": data.weights, "sensitive_features": data.groups}
    scores = wrapped.fit(data.X, data.y, **settings).oof_decision_function_
    # A wrapper has one rule for all scores of a group: where it keeps the bound, so do shifts.
    if gap_of_ranks(data, scores) <= tolerance + ROUNDING:
        assert keeps(fit, tolerance)
        # One per cent of the pairs for each of both searches.
        assert fit.measure <= rank_loss(data.y, scores, data.weights) + 2.0 * allow(post)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "three groups", "group of 1 %", "many columns"])
def test_sizes_cost_no_more_than_shares_that_lead_to_them(kind):
    # Clusters under bounds on shares keep bounds on sizes that are theirs, and the other way round.
    data = draw(kind, SEED)
    settings = {"sensitive_features": data.groups}
    of_shares = FairKMeans(N_CLUSTERS, min_balance=None, min_share_ratio=0.8, random_state=0)
    of_shares.fit(data.X, **settings)
    sizes = np.bincount(of_shares.labels_, minlength=N_CLUSTERS)
    bounds = {"min_cluster_size": int(sizes.min()), "max_cluster_size": int(sizes.max())}
    sized = FairKMeans(N_CLUSTERS, min_balance=None, random_state=0, **bounds)
    sized.fit(data.X, **settings)
    assert sized.constraint_violation_ == 0.0
    assert sized.inertia_ <= 1.01 * of_shares.inertia_
    both = FairKMeans(N_CLUSTERS, min_balance=None, min_share_ratio=0.8, random_state=0, **bounds)
    both.fit(data.X, **settings)
    assert both.constraint_violation_ == 0.0
    assert both.inertia_ <= 1.01 * of_shares.inertia_
    assert sized.inertia_ <= 1.01 * both.inertia_


# Choices that other searches hide: each by an oracle of its own.


@pytest.mark.parametrize("share", [0.2, pytest.param(0.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["plain", "weights", "three groups", "few distinct rows"])
def test_bounds_on_losses_and_decisions_keep_the_best_model(kind, share):
    # Searches count decisions alone: where losses are bounded, too, fits are all there is.
    data = draw(kind, SEED)
    settings = {"sample_weight": data.weights, "sensitive_features": data.groups}
    criteria = {"demographic parity": DemographicParity, "loss parity": LossParity}
    constraints = []
    for name, constraint in criteria.items():
        gap = BY_NAME[f"linear, {name}"].fit(data, None).gap
        constraints.append(constraint(tolerance=share * gap))
    candidates = []
    evaluate = DecisionCounter.evaluate

    def record(counter, points, result):
        candidates.extend(evaluate(counter, points, result))
        return candidates[-len(points) :]

    model = ConstrainedERMClassifier(constraints)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DecisionCounter, "evaluate", record)
        model.fit(data.X, data.y, **settings)
    decisions = model.decision_function(data.X) > 0.0
    computed = [
        (round(one.violation, 7), error_rate(data, one.scores > 0.0))
        for one in candidates
        if one.has_stable_decisions
    ]
    least = min(computed)
    assert model.constraint_violation_ <= least[0] + ROUNDING
    if least[0] > 0.0 or not candidates[0].keeps_bound:
        assert error_rate(data, decisions) <= least[1] + ROUNDING


@pytest.mark.slow
def test_the_cheapest_of_several_starts_is_kept():
    # Samples are too many for the random moves that leave a bad local optimum.
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=1100)
    X = rng.normal(size=(1100, 3)) + groups[:, np.newaxis]
    repair_and_search = _fits.repair_and_search
    costs = []

    def record(problem, *args, **settings):
        point, status = repair_and_search(problem, *args, **settings)
        costs.append(point.cost)
        return point, status

    model = FairKMeans(8, min_balance=0.8, random_state=0, n_init=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_fits, "repair_and_search", record)
        model.fit(X, sensitive_features=groups)
    assert len(costs) > 1
    assert model.inertia_ <= min(costs) * (1.0 + ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        *(one for one in ("weights", "three groups", "two attributes", "each attribute")),
    ],
)
def test_the_certified_model_is_the_best_that_may_be_tested(kind):
    # Models are tested from tight to loose until one is not shown: each by itself says the same.
    data = draw(kind, SEED, 500)
    held_out = draw(kind, SEED + 1, 2000)
    model = ConstrainedClassifierCV(LogisticRegression(), group_estimator="sensitive_features")
    ladder = fit_ladder(
        model,
        data.X,
        data.y,
        parameter="tolerance",
        values=[0.02, 0.1, 0.2, 1.0],
        sensitive_features=data.groups,
        sample_weight=data.weights,
    )
    audits = [
        Audit.from_estimator(
            one,
            held_out.X,
            held_out.y,
            sensitive_features=held_out.groups,
            sample_weight=held_out.weights,
        )
        for one in ladder
    ]
    errors = [error_rate(data, one.oof_decision_function_ > 0.0) for one in ladder]
    ends = set()
    for tolerance in (0.05, 0.12, 0.2, 0.28, 0.4):
        position, claim = certify_in_order(audits, tolerance=tolerance)
        is_shown = [one.certify(tolerance=tolerance).is_shown for one in audits]
        n_tested = (*is_shown, False).index(False)
        ends.add(n_tested)
        assert position == (n_tested - 1 if n_tested else None)
        assert claim.is_shown == (n_tested > 0)
        # What is returned is not behind one that was shown before it; the last one is plain.
        if n_tested:
            best = max(min(errors[:n_tested]), errors[-1])
            assert errors[position] <= best + two_samples(data, None)
    assert len(ends) > 1


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["plain", "weights", "few distinct rows", "group of 1 %"])
@pytest.mark.parametrize("name", ["demographic parity", "equal opportunity", "equalized odds"])
def test_constants_are_the_last_resort(name, kind):
    # Without an intercept no search ends at constant decisions, which keep each of these.
    data = draw(kind, SEED)
    criterion = DECISIONS[name]

    def make(data, constraint):
        return ConstrainedERMClassifier(constraint, fit_intercept=False)

    fit = fit_decisions(make, criterion, False, False, data, 1e-3)
    assert fit.gap <= 1e-3
    # Scores of 0 refuse all samples.
    assert fit.measure <= error_rate(data, np.zeros(len(data.y), dtype=bool)) + ROUNDING


def rank_attention(scores):
    """Attention of documents at their ranks among those of a query, a row, of ties its mean."""
    above = (scores[:, np.newaxis] > scores[:, :, np.newaxis]).sum(axis=2)
    ties = (scores[:, np.newaxis] == scores[:, :, np.newaxis]).sum(axis=2)
    total = np.append(0.0, np.cumsum(1.0 / np.log2(2.0 + np.arange(scores.shape[1]))))
    return (total[above + ties] - total[above]) / ties


@pytest.mark.covering(1)
@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("seed", range(2))
def test_offsets_of_rankings_are_the_smallest_ones(seed, share):
    data = draw("plain", seed)
    query = np.arange(len(data.y)) // 8
    is_second = data.groups.reshape(-1, 8) == 1
    base = LinearRegression().fit(data.X, data.numbers)
    scores = base.predict(data.X).reshape(-1, 8)

    def gap(scores):
        attention = rank_attention(scores)
        return abs(attention[is_second].mean() - attention[~is_second].mean())

    tolerance = share * gap(scores)
    ranker = ConstrainedRankerCV(
        FrozenEstimator(base), tolerance=tolerance, group_estimator="sensitive_features"
    )
    ranker.fit(data.X, data.numbers, query_id=query, sensitive_features=data.groups)
    ranked = ranker.oof_prediction_.reshape(-1, 8)
    moved = ranked - scores
    # Orders change where a document of one group passes one of the other.
    is_pair = ~is_second[:, :, np.newaxis] & is_second[:, np.newaxis]
    ties = np.unique((scores[:, :, np.newaxis] - scores[:, np.newaxis])[is_pair])
    offsets = (ties[1:] + ties[:-1]) / 2.0
    smallest = min(abs(one) for one in offsets if gap(scores + one * is_second) <= tolerance)
    assert gap(ranked) <= tolerance + ROUNDING
    assert abs(moved[is_second].mean() - moved[~is_second].mean()) <= smallest + ROUNDING


@pytest.mark.parametrize("visibility", [0.1, 1.5])
def test_sets_are_no_larger_than_those_by_one_threshold(visibility):
    # A group that X hardly shows needs extreme thresholds: one for all then has smaller sets.
    rng = np.random.default_rng(0)
    n_samples = 400
    groups = (rng.random(n_samples) < 0.3).astype(int)
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += visibility * groups
    noise = (0.3 + visibility + groups) * rng.logistic(size=n_samples)
    y = (X[:, 1] + X[:, 2] + noise > 0.6).astype(int)
    base = LogisticRegression().fit(X, y)
    model = ConformalClassifier(
        FrozenEstimator(base),
        coverage=0.8,
        confidence_level=0.9,
        group_estimator=FrozenEstimator(LogisticRegression().fit(X, groups)),
    )
    sets = model.fit(X, y, sensitive_features=groups).predict_set(X)
    # The order statistics that cover each group with the confidence, in both groups at once.
    scores = 1.0 - base.predict_proba(X)
    thresholds = []
    for members in (groups == 0, groups == 1, groups >= 0):
        rank = int(binom.ppf(np.sqrt(0.9), members.sum(), 0.8))
        thresholds.append(np.sort(scores[members, y[members]])[rank])
        is_covered = sets[members, y[members]]
        assert is_covered.sum() > rank or members.all()
    single = (scores <= max(thresholds) + ROUNDING).sum(axis=1)
    assert sets.sum(axis=1).mean() <= single.mean() + ROUNDING
    # Where the group shows, sets by its probability are clearly smaller.
    assert visibility < 1.0 or sets.sum(axis=1).mean() < single.mean() - 0.01


@pytest.mark.slow
def test_rounded_counts_keep_a_balance():
    # A table of so many clusters and samples is rounded, and its columns are the groups' sizes.
    rng = np.random.default_rng(0)
    groups = rng.choice(4, size=1500, p=[0.4, 0.3, 0.2, 0.1])
    X = rng.normal(size=(1500, 3)) + groups[:, np.newaxis]
    model = FairKMeans(10, min_balance=0.6, random_state=0, n_init=1)
    labels = model.fit(X, sensitive_features=groups).labels_
    counts = np.array([np.bincount(labels[groups == one], minlength=10) for one in range(4)])
    balance = (counts.min(axis=0) / counts.max(axis=0)).min()
    sizes = counts.sum(axis=1)
    assert balance >= 0.6 * sizes.min() / sizes.max()
    assert model.status_ != "infeasible"
