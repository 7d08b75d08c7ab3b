"""Published solvers of the fair embedding with their settings."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import null_space
from sklearn.metrics.pairwise import rbf_kernel

from skfair._utils.arrays import group_constraint_basis
from skfair.cluster import DCADMM, SFSC, FairSpectralClustering, RBFAffinity, fair_embedding
from skfair.cluster.literature._eigen_solvers import norm_of_laplacian
from skfair.cluster.spectral._eigen_solvers import NormalizedAffinity
from skfair.datasets import make_fair_sbm

GRAPH, _, GROUPS = make_fair_sbm(120, n_clusters=3, n_groups=2, random_state=0)
ROWS = np.random.default_rng(0).normal(size=(30, 2))


def embedding(solver, n_components=4):
    return fair_embedding(
        GRAPH,
        sensitive_features=GROUPS,
        n_components=n_components,
        eigen_solver=solver,
        random_state=0,
    )


def make_graph_with_loop_and_isolated_node():
    graph = np.array([[4.0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]])
    return sparse.csr_array(graph)


@pytest.mark.parametrize(
    "affinity",
    [GRAPH, GRAPH.toarray(), make_graph_with_loop_and_isolated_node(), RBFAffinity(ROWS, 0.5)],
    ids=["sparse", "dense", "loop", "kernel"],
)
def test_the_norm_of_the_laplacian(affinity):
    operator = NormalizedAffinity(affinity)
    laplacian = np.eye(operator.n_nodes) - operator.to_dense()
    assert norm_of_laplacian(operator) == pytest.approx(np.linalg.norm(laplacian, 1), rel=1e-12)


@pytest.mark.parametrize(
    "solver", [SFSC(), SFSC.from_paper(), SFSC(sigma=7.5), SFSC(ncv_per_pair=8)], ids=repr
)
def test_sfsc_is_exact_whatever_its_settings(solver):
    exact = embedding("nullspace")
    result = embedding(solver)
    assert result.objective == pytest.approx(exact.objective, rel=1e-10)
    assert result.violation < 1e-8
    assert result.converged


@pytest.mark.parametrize(
    "name, solver",
    [("projected", SFSC()), ("dca-admm", DCADMM()), ("dca-admm", DCADMM.from_paper())],
)
def test_names_are_the_defaults(name, solver):
    named, by_settings = embedding(name), embedding(solver)
    np.testing.assert_array_equal(named.embedding, by_settings.embedding)


def test_the_paper_s_settings():
    settings = {"alpha": 0.005, "n_iter": 10, "growth": 2.0, "imbalance": 10.0}
    assert DCADMM.from_paper().get_params() == settings | {
        "gtol": 1e-3,
        "ftol": 1e-4,
        "omega": 1e-3,
        "project_last": False,
        "tol": 0.0,
        "lagged": False,
    }
    assert SFSC.from_paper().get_params() == {"sigma": "norm", "ncv_per_pair": None}


def polar(V):
    """The nearest matrix of orthonormal columns."""
    U, _, Wt = np.linalg.svd(V, full_matrices=False)
    return U @ Wt


def lagrangian(M, H, Y, P, alpha):
    """The augmented Lagrangian of Algorithm 1 for H'H = I and F'Y = 0."""
    away = M @ H - Y
    return np.sum(-0.5 * (M @ H) ** 2 + P * away + 0.5 * alpha * away**2)


def test_dc_admm_follows_algorithm_1_step_by_step():
    """Y, P and the penalty are written out here; each H must solve its subproblem for them."""
    affinity = rbf_kernel(ROWS, gamma=0.5)
    groups = np.arange(30) % 2
    n_iter = 6
    operator = NormalizedAffinity(affinity)
    M = operator.to_dense()
    degrees = affinity.sum(axis=1)
    F = (np.eye(2)[groups] - 0.5) / np.sqrt(degrees)[:, None]
    Q = null_space(F.T)
    alpha = 0.005
    Y = np.zeros((30, 3))
    P = np.zeros((30, 3))
    result = [
        DCADMM(n_iter=n + 1, gtol=1e-9, ftol=1e-15)(
            operator, null_space(Q.T), 3, None, np.random.RandomState(0)
        )[0]
        for n in range(n_iter)
    ]
    rng = np.random.default_rng(0)
    for H in result:
        # At the minimum over orthonormal H, V = (1 - alpha) MH - P + alpha Y has M V = H S.
        np.testing.assert_allclose(H.T @ H, np.eye(3), atol=1e-10)
        V = (1.0 - alpha) * M @ H - P + alpha * Y
        np.testing.assert_allclose(H, polar(M @ V), atol=2e-3)
        here = lagrangian(M, H, Y, P, alpha)
        for _ in range(20):
            other = polar(H + 0.1 * rng.standard_normal(H.shape))
            assert here <= lagrangian(M, other, Y, P, alpha) + 1e-9
        # Y = Q Z with Z = Q'MH + Q'P / alpha; P and alpha follow the residuals.
        previous = Y
        Y = Q @ (Q.T @ (M @ H) + Q.T @ P / alpha)
        P = P + alpha * (M @ H - Y)
        R = np.linalg.norm(M @ H - Y)
        S = np.linalg.norm(alpha * (previous - Y))
        alpha = min(2 * alpha, 0.9) if R > 10 * S else alpha / 2 if S > 10 * R else alpha
    assert alpha != 0.005, "the penalty must have changed"


@pytest.mark.slow
def test_images_of_the_embedding_become_feasible_and_the_embedding_does_not():
    operator = NormalizedAffinity(GRAPH)
    C = group_constraint_basis(GROUPS, 2, operator.degrees)

    def residuals(n_iter, **settings):
        solver = DCADMM(n_iter=n_iter, gtol=1e-9, ftol=1e-15, **settings)
        H, _ = solver(operator, C, 2, None, np.random.RandomState(0))
        np.testing.assert_allclose(H.T @ H, np.eye(2), atol=1e-10)
        image = operator(H) + (1.0 + solver.omega) * H  # M of a graph is shifted
        return np.linalg.norm(C.T @ image), np.linalg.norm(C.T @ H)

    (image, excess), (last_image, last_excess) = residuals(5), residuals(50)
    assert last_image < 1e-6 < image
    assert last_excess > excess > 5e-4
    assert residuals(5, project_last=True)[1] < 1e-12


def test_dc_admm_stops_at_its_tolerance():
    operator = NormalizedAffinity(rbf_kernel(ROWS, gamma=0.5))
    basis = group_constraint_basis(np.arange(30) % 2, 2, operator.degrees)

    def solve(n_iter, tol):
        return DCADMM(n_iter=n_iter, tol=tol)(operator, basis, 3, None, np.random.RandomState(0))

    H, converged = solve(30, 0.07)
    last, _ = solve(30, 0.0)
    _, is_short = solve(1, 0.07)
    assert converged and not is_short and not np.array_equal(H, last)
    # Without groups the residuals are 0, and no tolerance is met.
    assert not DCADMM()(operator, np.empty((30, 0)), 3, None, np.random.RandomState(0))[1]


def test_the_penalty_follows_the_residual_that_the_paper_prints_if_lagged():
    """Before the first iteration R is 0, so that the penalty is halved and not doubled."""
    operator = NormalizedAffinity(rbf_kernel(ROWS, gamma=0.5))
    basis = group_constraint_basis(np.arange(30) % 2, 2, operator.degrees)
    reported = []

    class Watched(DCADMM):
        def _adapt_penalty(self, alpha, primal, dual):
            reported.append(primal)
            return super()._adapt_penalty(alpha, primal, dual)

    for lagged in (False, True):
        solver = Watched(n_iter=3, lagged=lagged)
        solver(operator, basis, 3, None, np.random.RandomState(0))
    assert reported[3] == 0.0 and reported[4] == pytest.approx(reported[0])


def test_group_violation_is_the_printed_norm():
    model = FairSpectralClustering(2, eigen_solver="dca-admm", affinity="precomputed")
    with pytest.warns(UserWarning):
        model.set_params(random_state=0).fit(GRAPH, sensitive_features=GROUPS)
    membership = np.eye(2)[GROUPS] - np.eye(2)[GROUPS].mean(axis=0)
    degrees = np.asarray(GRAPH.sum(axis=0)).ravel()
    F = membership / np.sqrt(degrees)[:, None]
    assert model.group_violation_ == pytest.approx(np.sum((F.T @ model.embedding_) ** 2))
    assert model.group_violation_ > 0.0


def test_the_penalty_follows_the_larger_residual_and_stays_below_one():
    solver = DCADMM(growth=2.0, imbalance=10.0)
    assert solver._adapt_penalty(0.1, 11.0, 1.0) == 0.2
    assert solver._adapt_penalty(0.1, 1.0, 11.0) == 0.05
    assert solver._adapt_penalty(0.1, 9.0, 1.0) == 0.1
    assert solver._adapt_penalty(0.6, 11.0, 1.0) == 0.9


@pytest.mark.parametrize(
    "solver, match",
    [
        (DCADMM(alpha=1.0), "'alpha' parameter of DCADMM"),
        (DCADMM(n_iter=0), "'n_iter' parameter of DCADMM"),
        (SFSC(sigma=1.0), "'sigma' parameter of SFSC"),
        (SFSC(ncv_per_pair=1), "'ncv_per_pair' parameter of SFSC"),
        (SFSC, "eigen_solver must be one of"),
    ],
)
def test_settings_out_of_range(solver, match):
    with pytest.raises(ValueError, match=match):
        embedding(solver)


def test_an_estimator_takes_them_and_is_cloned_with_them():
    model = FairSpectralClustering(
        3, affinity="precomputed", eigen_solver=SFSC(), n_init=2, random_state=0
    )
    assert model.get_params()["eigen_solver__sigma"] == 2.0
    labels = model.fit(GRAPH, sensitive_features=GROUPS).labels_
    by_name = model.set_params(eigen_solver="projected").fit(GRAPH, sensitive_features=GROUPS)
    np.testing.assert_array_equal(labels, by_name.labels_)


def test_a_kernel_that_is_not_stored():
    groups = np.arange(30) % 2
    stored, tiled = (
        fair_embedding(
            affinity,
            sensitive_features=groups,
            n_components=3,
            eigen_solver=SFSC.from_paper(),
            random_state=0,
        )
        for affinity in (rbf_kernel(ROWS, gamma=0.5), RBFAffinity(ROWS, 0.5))
    )
    assert stored.objective == pytest.approx(tiled.objective, rel=1e-10)
