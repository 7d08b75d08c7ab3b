"""The inexact difference-of-convex algorithm."""

from typing import Any, Self

import numpy as np

from skfair.problems import original_multipliers
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._sqp import SQP
from skfair.solvers.literature._switching_subgradient import SwitchingSubgradient


class IDCA(Solver):
    r"""Solve a sequence of convex problems whose rows majorise those of the problem.

    Rows that are differences of convex functions, :math:`f_i^+ - f_i^- \le 0`, are majorised at
    the iterate :math:`w_k` by :math:`g_i(v) = f_i^+(v) - f_i^-(w_k) - \nabla f_i^-(w_k)^T
    (v - w_k)`, and the next iterate nearly solves

    .. math::

        \min_v f(v) \quad \text{s.t.} \quad g_i(v) \le 0,

    such that :math:`\max(f(w_{k+1}) - f^*, \max_i g_i(w_{k+1})) \le \epsilon_k` ([1]_, Algorithm 1
    and (33)). Feasible iterates stay feasible up to :math:`\epsilon_k`. If the objective is such a
    difference, as that of :class:`skfair.losses.AUCLoss`, its concave part is majorised likewise.

    It needs a constraint with a ``majorant``, such as percentile constraints. Callbacks get
    ``details["n_oracle"]``, the number of (sub)gradients of convex problems computed so far, which
    is the oracle complexity of [1]_ (Theorem 6.5).

    Parameters
    ----------
    max_iter : int, default=200
        Maximum number of convex problems.
    tol : float, default=1e-4
        Maximum violation and maximum residual of the optimality conditions at the answer.
    inner : Solver or None, default=None
        Solves the convex problems. None is :class:`SQP`, stopped at an optimality residual of
        ``tol``: by convexity the objective is then within ``tol`` of the minimum, per unit of
        distance (in the 1-norm) to it. A :class:`SwitchingSubgradient` is as accurate as its
        ``epsilon`` after enough iterations ([1]_, Proposition 6.4).
    cold_start : bool, default=False
        Whether to start from the model's initial parameters, 0 if it is linear, instead of the
        passed ones. Equal scores are fair, and iterates stay feasible ([1]_, Assumption 6.3E).

    See Also
    --------
    SQP : The default of :class:`skfair.classification.PartialParityClassifier`.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

    Examples
    --------
    >>> from skfair.solvers import IDCA
    >>> IDCA.from_paper(epsilon=5e-4).inner.epsilon
    0.0005
    """

    _parameter_constraints = {
        **Solver._parameter_constraints,
        "inner": [Solver, None],
        "cold_start": ["boolean"],
    }

    requires = ("majorant",)

    def __init__(
        self,
        max_iter: int = 200,
        tol: float = 1e-4,
        inner: Solver | None = None,
        cold_start: bool = False,
    ):
        self.max_iter = max_iter
        self.tol = tol
        self.inner = inner
        self.cold_start = cold_start

    @property
    def projects(self) -> bool:
        """Whether the inner solver projects onto the region."""
        return self.inner is not None and self.inner.projects

    @classmethod
    def from_paper(cls, epsilon: float = 1e-3, inner_iter: int = 200, **changes: Any) -> Self:
        """The settings of [1]_, section G.2.2, which start from coefficients of 0.

        Parameters
        ----------
        epsilon : float, default=1e-3
            Infeasibility that the inner solver tolerates; the paper chooses among 5e-4, 1e-3, 2e-3
            and 5e-3 by accuracy on validation data.
        inner_iter : int, default=200
            Subgradient steps per convex problem; the paper chooses between 150 and 200.
        **changes
            Other parameters that should differ; the paper chooses `max_iter` among 100, 150, ...,
            400.

        Returns
        -------
        solver : IDCA

        References
        ----------
        .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
           percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.
        """
        inner = SwitchingSubgradient.from_partial_fairness_paper(epsilon, max_iter=inner_iter)
        settings = {"max_iter": 400, "tol": epsilon, "inner": inner, "cold_start": True}
        return cls(**(settings | changes))

    def _iterate(self, problem, x, random_state):
        inner = SQP(tol=self.tol) if self.inner is None else self.inner
        x = problem.initial_point(random_state=random_state) if self.cold_start else x
        evaluation, n_oracle = problem.evaluate(x), 0
        multipliers = np.zeros(len(problem.lower))
        while True:
            yield Iterate(evaluation, multipliers, details={"n_oracle": n_oracle})
            # Majorise at the iterate and solve the convex problem.
            convex = problem.majorant(evaluation)
            result = inner.solve(convex, evaluation.x, random_state=random_state)
            n_oracle += result.n_iter
            # The inner solver stays at the iterate: it solves its own majorant.
            if not (result.x != evaluation.x).any():
                return
            evaluation = problem.evaluate(result.x)
            multipliers = original_multipliers(convex.rows, result.multipliers)
