"""Points of lines of models, against all intervals between two flips of decisions."""

import numpy as np
import pandas as pd
import pytest

from skfair._bound.bound import ConstraintSystem
from skfair._fitting.counting import DecisionCounter, LineStart, round_midpoints
from skfair._groups import check_groups
from skfair._groups.known import make_probable_groups
from skfair._problems.linear import ArgmaxModel, LinearModel
from skfair._problems.problem import ConstrainedProblem
from skfair.constraints import DemographicParity, EqualizedOdds, RateParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid
from tests.fitting.test_enforce import draw as draw_samples
from tests.fitting.test_enforce import make_fitter


def test_a_number_between_two_does_not_hang_on_their_last_digits():
    low = np.array([-3.0, 0.1, 1e-7, 5.0])
    high = low + np.array([0.3, 1e-6, 1e-9, 3.0])
    midpoints = round_midpoints(low, high)
    assert ((low < midpoints) & (midpoints < high)).all()
    np.testing.assert_array_equal(midpoints, round_midpoints(low * (1 + 1e-16), high * (1 - 1e-16)))


CONSTRAINTS = {
    "one": [DemographicParity()],
    "ratio": [DemographicParity(ratio=0.8)],
    "quotient": [RateParity("precision")],
    "two": [DemographicParity(tolerance=0.1), EqualizedOdds(tolerance=0.2)],
    "sum over cells": [EqualizedOdds(aggregate="sum")],
    "overlapping events": [DemographicParity(reference="overall"), EqualizedOdds(tolerance=0.2)],
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("is_within", [True, False])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_kernels_find_the_best_points_of_all_lines(name, ties, is_within):
    X, target, groups = draw_samples(0, n_samples=300, n_groups=3, ties=ties)
    problem = make_fitter(X, target, groups, CONSTRAINTS[name], tolerance=0.1).problem
    assert len(check_lines(problem, problem.model, 0.5 if is_within else np.inf)) >= 2


@pytest.mark.parametrize("membership", ["each attribute", "probabilities"])
def test_points_of_overlapping_groups(membership):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 2))
    target = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    groups = check_groups(rng.integers(2, size=(200, 2)), 200)
    constraint = DemographicParity(attributes="each")
    if membership == "probabilities":
        constraint = EqualizedOdds()
        groups = make_uncertain_groups(rng.random(200))
    check_lines(*make_problem(X, target, groups, constraint), max_error=np.inf)


def test_points_of_several_classes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    labels = rng.integers(3, size=120)
    target = np.where(labels == np.arange(3)[:, np.newaxis], 1.0, -1.0).ravel()
    groups = check_groups(np.tile(rng.integers(2, size=120), 3), 360)
    model = ArgmaxModel.from_features([X] * 3, np.ones(120))
    problem, _ = make_problem(np.tile(X, (3, 1)), target, groups, DemographicParity(), model)
    check_lines(problem, model, max_error=np.inf)


def test_a_start_without_lines_has_no_points():
    X, target, groups = draw_samples(0, n_samples=60, n_groups=2)
    problem = make_fitter(X, target, groups, [DemographicParity()], tolerance=0.1).problem
    start = LineStart(np.zeros(problem.model.n_parameters), np.zeros(60), [], np.inf)
    points = DecisionCounter(problem).evaluate_along_lines(problem.model, [start])
    assert [len(one) for one in points] == [0] * 4
    assert np.arange(3)[points[0]].tolist() == []  # numbers of lines are indices


def make_uncertain_groups(share):
    """Two groups that each sample is in with a probability."""
    return make_probable_groups(pd.DataFrame({"a": share, "b": 1.0 - share}))


def make_problem(X, target, groups, constraint, model=None):
    """The problem of a constraint of tolerance .1, and its model."""
    weights = np.ones(len(target))
    loss = LogisticLoss()
    bound = constraint.bind(Samples(target, groups, weights), Sigmoid(), loss, tolerance=0.1)
    model = model or LinearModel.from_features(X, weights)
    return ConstrainedProblem(model, loss, target, weights, 0.0, ConstraintSystem((bound,))), model


def check_lines(problem, model, max_error):
    """Compare the best points of random lines with those of all intervals, and return them."""
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(6, model.n_parameters))
    if hasattr(model, "lines"):
        directions = [line for one in directions for line in model.lines(one)]
    lines = [(one, model.scores(one)) for one in directions]
    starts = [rng.normal(size=model.n_parameters) for _ in range(2)]
    starts = [
        LineStart(one, model.evaluate(one).scores, lines[k::2], max_error)
        for k, one in enumerate(starts)
    ]
    computed = best_of_lines(DecisionCounter(problem).evaluate_along_lines(model, starts))
    expected = best_of_lines(find_all_points(problem, model, starts))
    assert computed[:2] == expected[:2]
    return expected


def find_all_points(problem, model, starts):
    """Line, length, error and excess of a point in each interval between two flips."""
    lines = [(start, slopes) for start in starts for _, slopes in start.lines]
    points = []
    for number, (start, slopes) in enumerate(lines):
        scores = start.scores
        if hasattr(model, "orient_flips"):
            scores, slopes = model.orient_flips(scores, slopes)
        moving = np.abs(slopes) > 1e-9
        flips = np.sort(-scores[moving] / slopes[moving])
        ends = np.concatenate((flips[:1] - 3.0, flips, flips[-1:] + 3.0))
        apart = np.flatnonzero(np.diff(ends) > 1e-9)
        for length in round_midpoints(ends[apart], ends[apart + 1]):
            moved = scores + length * slopes
            error = problem.mean_weights @ ((moved > 0) != (problem.target > 0))
            gaps = problem.constraint.gaps(moved) - problem.constraint.tolerances
            if error < start.max_error:
                points.append((number, length, error, np.nan_to_num(gaps, nan=np.inf).max()))
    return map(np.array, zip(*points, strict=True))


def best_of_lines(points):
    """The best point of each line: excess, error, line and length, best first."""
    numbers, lengths, errors, excess = points
    excess = np.maximum(0.0, np.round(excess, 10))
    keys = (np.abs(lengths), numbers, np.round(errors, 10), excess)
    best = {}
    for k in np.lexsort(keys).tolist():
        best.setdefault(
            int(numbers[k]),
            (float(excess[k]), round(float(errors[k]), 10), int(numbers[k]), float(lengths[k])),
        )
    return list(best.values())
