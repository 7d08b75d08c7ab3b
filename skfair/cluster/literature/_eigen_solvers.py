"""Published solvers of the fair embedding problem, with their settings: s-FSC, DC-ADMM.

They have the signature of the solvers in `skfair.cluster.spectral._eigen_solvers`.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from scipy import optimize
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.base import BaseEstimator

from skfair._utils.parameters import (
    AtLeastOne,
    NonNegative,
    OpenShare,
    Positive,
    PositiveInt,
    make_constructor,
    validate_params,
)
from skfair._utils.sklearn import Interval
from skfair.cluster.spectral._eigen_solvers import NormalizedAffinity, RBFAffinity, orthonormalize

if TYPE_CHECKING:
    from collections.abc import Callable


@make_constructor
class SFSC(BaseEstimator):
    r"""A published eigen-solver for spectral clustering, with its settings: s-FSC.

    It applies Arnoldi's method to full accuracy. :math:`\hat L = I - M` is shifted along the
    constraint, :math:`P \hat L P + \sigma (I - P)` with P the projection onto the feasible vectors,
    so that its smallest eigenvalues are those of feasible eigenvectors ([1]_; compared in [2]_).
    The known eigenvector is not computed.

    Read more in the :ref:`guide <fair_spectral_clustering>`.

    Parameters
    ----------
    sigma : float or "norm", default=2.0
        The shift :math:`\sigma`, at least 2, as the eigenvalues of :math:`\hat L` lie in [0, 2];
        "norm" takes :math:`\|\hat L\|_1`.
    ncv_per_pair : int or None, default=4
        Lanczos vectors of ARPACK per eigenvector; None is ARPACK's default of about 2, which may
        miss copies of a repeated eigenvalue.

    References
    ----------
    .. [1] J. Wang, D. Lu, I. Davidson and Z. Bai, "Scalable spectral clustering with group fairness
       constraints", AISTATS 2023.
    .. [2] F. Tonin, A. Lambert, J. A. K. Suykens and V. Cevher, "Accelerating spectral clustering
       under fairness constraints", ICML 2025, Appendix B.

    Examples
    --------
    >>> from skfair.cluster import SFSC
    >>> SFSC.from_paper()
    SFSC(ncv_per_pair=None, sigma='norm')
    """

    sigma: Annotated[float, Interval(Real, 2, None, closed="left")] | Literal["norm"] = 2.0
    ncv_per_pair: Annotated[int, Interval(Integral, 2, None, closed="left")] | None = 4

    @classmethod
    def from_paper(cls) -> Self:
        r"""Settings compared in the DC-ADMM paper: shift :math:`\|\hat L\|_1`, defaults of ARPACK.

        Returns
        -------
        solver : SFSC
        """
        return cls(sigma="norm", ncv_per_pair=None)

    def __call__(
        self,
        operator: NormalizedAffinity,
        basis: np.ndarray,
        n_pairs: int,
        tol: float,
        random_state: np.random.RandomState,
    ) -> tuple[np.ndarray, bool]:
        """Eigenvectors orthogonal to a basis, to full accuracy, and whether all converged."""
        validate_params(self)
        sigma = norm_of_laplacian(operator) if self.sigma == "norm" else self.sigma

        # Shifted operator P L P + sigma (I - P).
        def multiply(v: np.ndarray) -> np.ndarray:
            v = v.reshape(len(v), -1)
            inside = v - basis @ (basis.T @ v)
            image = inside - operator(inside)
            image -= basis @ (basis.T @ image)
            return image + sigma * (v - inside)

        n_nodes = operator.n_nodes
        laplacian = LinearOperator((n_nodes, n_nodes), matvec=multiply, dtype=np.float64)
        ncv = self.ncv_per_pair and min(n_nodes, max(self.ncv_per_pair * n_pairs, 20))
        # Smallest eigenvalues of the shifted Laplacian; the shift moves infeasible directions away.
        start = random_state.standard_normal(n_nodes)
        try:
            _, vectors = eigsh(laplacian, k=n_pairs, which="SA", ncv=ncv, tol=0, v0=start)
        except ArpackNoConvergence as stopped:
            # Fill up with random columns.
            missing = n_pairs - stopped.eigenvectors.shape[1]
            filling = random_state.standard_normal((n_nodes, missing))
            vectors = orthonormalize(basis, np.hstack([stopped.eigenvectors, filling]))
            return vectors, False
        return vectors, True


def norm_of_laplacian(operator: NormalizedAffinity) -> float:
    """The 1-norm of I - M, for a non-negative M."""
    K = operator.affinity
    # Column sums of |I - M|: 1 - m on the diagonal, and the sum of M without m.
    loops = (1.0 if isinstance(K, RBFAffinity) else K.diagonal()) / operator.degrees
    sums = operator(np.ones((operator.n_nodes, 1)))[:, 0]
    return float((1.0 - 2.0 * loops + sums).max())


@make_constructor
class DCADMM(BaseEstimator):
    r"""A published eigen-solver for spectral clustering, with its settings: DC-ADMM.

    Algorithm 1 of [1]_ splits :math:`MH = Y` and alternates, with C the constraint,

    .. math::

        H &= \arg\min_{H'H = I} \text{of the augmented Lagrangian, through }
        \min_V \varphi^*(V) - \|MV\|_{S_1}, \\
        Y &= (I - CC')(MH + P / \alpha), \qquad
        P \leftarrow P + \alpha (MH - Y).

    The constraint holds for Y. So :math:`C'MH` tends to 0 where the iterations converge, with M
    shifted as below. The embedding H itself does not become feasible, however many iterations
    follow. With ``project_last`` the last H is projected onto the constraint, which is not in the
    paper. The penalty stays below 0.9, as Proposition 3.2 requires :math:`\alpha < 1`.

    Read more in the :ref:`guide <fair_spectral_clustering>`.

    Parameters
    ----------
    alpha : float, default=0.005
        Penalty :math:`\alpha` at the start, below 1.
    n_iter : int, default=10
        Iterations T.
    growth : float, default=2.0
        Factor :math:`\tau` by which the penalty changes ...
    imbalance : float, default=10.0
        ... when the primal or the dual residual exceeds the other by this factor :math:`\mu`.
    gtol, ftol : float, default=1e-3 and 1e-4
        Stop test of L-BFGS on V.
    omega : float, default=1e-3
        M must be positive semi-definite. That of a graph is shifted by :math:`1 + \omega`, which
        changes no eigenvector.
    project_last : bool, default=False
        Whether to return an orthonormal basis of :math:`(I - CC')H` in place of the last H.
    tol : float, default=0.0
        Iterations end where both residuals are below it, and the embedding is called converged. 0
        makes all ``n_iter``. The runs of the paper's Table 5 end earlier, by a rule that it does
        not print.
    lagged : bool, default=False
        Whether the penalty follows the primal residual :math:`R_i = M H_i - Y_i` from before the
        updates of iteration i, as Appendix B prints it, or that from after them.

    References
    ----------
    .. [1] F. Tonin, A. Lambert, J. A. K. Suykens and V. Cevher, "Accelerating spectral clustering
       under fairness constraints", ICML 2025.

    Examples
    --------
    >>> from skfair.cluster import DCADMM, FairSpectralClustering
    >>> FairSpectralClustering(eigen_solver=DCADMM(alpha=0.01)).eigen_solver
    DCADMM(alpha=0.01)
    """

    alpha: OpenShare = 0.005
    n_iter: PositiveInt = 10
    growth: AtLeastOne = 2.0
    imbalance: AtLeastOne = 10.0
    gtol: NonNegative = 1e-3
    ftol: NonNegative = 1e-4
    omega: Positive = 1e-3
    project_last: bool = False
    tol: NonNegative = 0.0
    lagged: bool = False

    @classmethod
    def from_paper(cls) -> Self:
        """Settings of the paper's Appendix B, which are the defaults; it does not print omega.

        ``DCADMM(lagged=True)`` has the residuals of its penalty rule to the letter, too.

        Returns
        -------
        solver : DCADMM
        """
        return cls(alpha=0.005, n_iter=10, growth=2.0, imbalance=10.0, gtol=1e-3, ftol=1e-4)

    def __call__(
        self,
        operator: NormalizedAffinity,
        basis: np.ndarray,
        n_pairs: int,
        tol: float,
        random_state: np.random.RandomState,
    ) -> tuple[np.ndarray, bool]:
        """The embedding after the last iteration, and whether the residuals met ``tol``."""
        validate_params(self)
        shape = (operator.n_nodes, n_pairs)
        # M must be positive semi-definite, which that of a graph is after a shift.
        shift = 1 + self.omega if operator.may_be_indefinite else 0.0

        def multiply(V: np.ndarray) -> np.ndarray:
            image = operator(V)
            return image + shift * V if shift else image

        options = {"gtol": self.gtol, "ftol": self.ftol}
        alpha = self.alpha
        Y = np.zeros(shape)
        P = np.zeros(shape)
        before = 0.0
        converged = False
        V = random_state.standard_normal(shape)
        for _ in range(self.n_iter):
            # H: the dual V by L-BFGS, then the polar factor of M V.
            V = _minimize_dual(multiply, V, P, Y, alpha, options)
            L, _, Rt = np.linalg.svd(multiply(V), full_matrices=False)
            H = L @ Rt
            image = multiply(H)
            # Y: the projection onto the constraint; P: the multipliers of M H = Y.
            previous = Y
            Y = image + P / alpha
            Y = Y - basis @ (basis.T @ Y)
            P = P + alpha * (image - Y)
            residuals = image - Y, alpha * (previous - Y)
            primal, dual = (float(np.linalg.norm(residual)) for residual in residuals)
            if converged := max(primal, dual) < self.tol:
                break
            alpha = self._adapt_penalty(alpha, before if self.lagged else primal, dual)
            before = primal
        return orthonormalize(basis, H) if self.project_last else H, converged

    def _adapt_penalty(self, alpha: float, primal: float, dual: float) -> float:
        """The penalty that balances the primal and the dual residual."""
        if primal > self.imbalance * dual:
            # Proposition 3.2 of the paper requires a penalty below 1.
            return max(alpha, min(alpha * self.growth, 0.9))
        if dual > self.imbalance * primal:
            return alpha / self.growth
        return alpha


def _minimize_dual(
    multiply: Callable,
    V: np.ndarray,
    P: np.ndarray,
    Y: np.ndarray,
    alpha: float,
    options: dict[str, float],
) -> np.ndarray:
    """Minimise phi*(V) - |MV|_S1 by L-BFGS; the gradient is A(V) - M U W' with MV = U S W'."""
    shape = V.shape

    def fun(flat: np.ndarray) -> tuple[float, np.ndarray]:
        V = flat.reshape(shape)
        # phi*(V), the conjugate of the convex part, is attained at A(V).
        A = (V + P - alpha * Y) / (1 - alpha)
        image = multiply(V)
        U, singular, Wt = _thin_svd(image)
        conjugate = np.sum(A * V) - 0.5 * np.sum(A * A) + np.sum(P * A)
        conjugate += 0.5 * alpha * np.sum((A - Y) ** 2)
        gradient = A - multiply(U @ Wt)
        return conjugate - singular.sum(), gradient.ravel()

    dual = optimize.minimize(fun, V.ravel(), jac=True, method="L-BFGS-B", options=options)
    return dual.x.reshape(shape)


def _thin_svd(image: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thin singular value decomposition through the small Gram matrix."""
    squares, W = np.linalg.eigh(image.T @ image)
    singular = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    return (image @ W) / singular, singular, W.T
