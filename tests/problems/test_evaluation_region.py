"""Closed convex sets of model parameters."""

from dataclasses import replace

import numpy as np
import pytest

from skfair._problems.evaluation import Ball, Box
from skfair.solvers._solver import Iterate, kkt_residual
from tests.network import network_problem

REGIONS = [Ball(0.7), Box(-0.5, 0.5), Box(np.array([-1.0, 0.0, -np.inf]), np.inf)]


@pytest.mark.parametrize("region", REGIONS, ids=repr)
def test_a_projection_is_the_nearest_point(region):
    rng = np.random.default_rng(0)
    for point in rng.normal(size=(20, 3)):
        nearest = region.project(point)
        np.testing.assert_allclose(region.project(nearest), nearest, atol=1e-15)
        others = [region.project(other) for other in rng.normal(size=(50, 3))]
        # The angle at the nearest point is nowhere acute.
        assert max((other - nearest) @ (point - nearest) for other in others) <= 1e-12


@pytest.mark.parametrize("region", [Ball(0.4), Box(-1.0, 1.0)], ids=repr)
def test_points_within_stay(region):
    inside = np.array([0.1, -0.2, 0.3])
    np.testing.assert_array_equal(region.project(inside), inside)


def test_a_problem_projects_its_model_parameters_alone():
    problem = network_problem()
    x = np.full(problem.n_unknowns, 3.0)
    assert problem.project(x) is x
    projected = replace(problem, region=Box(-1.0, 1.0)).project(np.append(x, 5.0))
    np.testing.assert_array_equal(projected, [*np.ones(problem.n_parameters), 5.0])


def test_at_the_edge_of_a_region_the_outward_slope_does_not_count():
    problem = network_problem()
    x = problem.initial_point(random_state=0)
    slope = problem.evaluate(x).grad
    edge = replace(problem, region=Box(np.where(slope > 0, x, -9.0), np.where(slope < 0, x, 9.0)))
    nothing = np.zeros(len(problem.lower))
    assert kkt_residual(Iterate(problem.evaluate(x), nothing)) > 1e-3
    assert kkt_residual(Iterate(edge.evaluate(x), nothing)) == 0.0
