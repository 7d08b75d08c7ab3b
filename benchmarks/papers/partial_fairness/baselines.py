"""The baselines of He, Huang, Yao and Lin (arXiv:2505.12530, G.3), and fairlearn's methods.

Pairs of groups are compared by the surrogate (1 + x)^2 / 2 of a difference of scores x. So every
constraint is a convex quadratic of means and variances. A second-order method replaces the paper's
projected gradient descent, with the same minimum.
"""

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from skfair._bound.rows import ConstraintValues, ScoreJacobian
from skfair._groups.events import Events
from skfair._problems.linear import GroupwiseModel
from skfair._problems.problem import ConstrainedProblem
from skfair.losses import LogisticLoss
from skfair.solvers import SQP

ALPHA = 1e-4

KAPPAS = {  # G.3.2, for Figure 1
    "group AUC": {
        "a9a": (0.7, 1.0, 2.0, 3.5),
        "bank": (0.1, 0.3, 0.56, 0.7, 1.0),
        "law school": (0.5, 0.75, 1.15, 1.8, 2.7),
    },
    "inter-group pairwise": {
        "a9a": (1.5, 3.0, 3.5, 6.0),
        "bank": (1.5, 1.8, 2.0, 3.0),
        "law school": (0.4, 1.6, 2.4, 4.0),
    },
    "intra-group pairwise": {
        "a9a": (3.0, 5.0, 8.0),
        "bank": (2.0, 3.0, 4.0),
        "law school": (3.0, 5.0, 10.0),
    },
}
LAMBDAS = {  # G.4.2, for Figure 1
    "a9a": (0.2, 0.3, 0.37, 1.0),
    "bank": (0.4, 0.405, 0.41, 1.0, 1.5),
    "law school": (0.39, 0.4, 0.5, 0.8, 1.5),
}


@dataclass(frozen=True, eq=False)
class PairConstraint:
    r"""Rows :math:`\sum_{(a, b)} E \tfrac12 (1 + h_a - h_b)^2 - offset \le \kappa`.

    With m and v the mean and variance of an event's scores, each term is
    :math:`\tfrac12 ((1 + m_a - m_b)^2 + v_a + v_b)`.
    """

    events: Events
    terms: list  # one list of pairs (a, b) of events per row
    upper: np.ndarray

    n_aux = 0

    @property
    def lower(self):
        """Lower bounds, which are infinite."""
        return np.full(len(self.upper), -np.inf)

    def initial_aux(self, scores):
        """Auxiliary unknowns, of which there are none."""
        return np.empty(0)

    def __call__(self, scores, aux):
        """Rows and their derivatives."""
        means = self.events.means(scores)
        variances = self.events.means(scores**2) - means**2
        n_events, n_samples = self.events.averaging_matrix.shape
        values = np.zeros(len(self.terms))
        combine = np.zeros((len(self.terms), 2 * n_events))
        for row, pairs in enumerate(self.terms):
            for a, b in pairs:
                lead = 1 + means[a] - means[b]
                values[row] += (lead**2 + variances[a] + variances[b]) / 2
                combine[row, [a, b]] += lead, -lead
                combine[row, [n_events + a, n_events + b]] += 1.0
        averaging = self.events.averaging_matrix
        centred = averaging.multiply(scores) - sparse.diags_array(means) @ averaging
        cells = sparse.csr_array(sparse.vstack((averaging, centred)))
        spread = combine[:, n_events:]
        return ConstraintValues(
            values,
            ScoreJacobian(combine, cells),
            np.empty((len(self.terms), 0)),
            lambda v: self.events.means_adjoint(v @ spread),
        )


def group_auc(rows, kappa):
    """(102): a sample of one group scores above one of another in half of the pairs at most."""
    n_groups = rows.groups.max() + 1
    terms = [[pair] for pair in permutations(range(n_groups), 2)]
    return _bind(rows.groups, terms, 0.5 + kappa)


def inter_group_pairwise(rows, kappa):
    """(105): positives of k exceed negatives of k' as often as positives of k' negatives of k."""
    terms = []
    for k, other in permutations(range(rows.groups.max() + 1), 2):
        terms.append([(2 * k + 1, 2 * other), (2 * k, 2 * other + 1)])
    return _bind(2 * rows.groups + rows.y, terms, 1.0 + kappa)


def intra_group_pairwise(rows, kappa):
    """(107): positives of a group exceed negatives of the same group as often in all groups."""
    terms = []
    for k, other in permutations(range(rows.groups.max() + 1), 2):
        terms.append([(2 * k + 1, 2 * k), (2 * other, 2 * other + 1)])
    return _bind(2 * rows.groups + rows.y, terms, 1.0 + kappa)


PAIRWISE = {
    "group AUC": group_auc,
    "inter-group pairwise": inter_group_pairwise,
    "intra-group pairwise": intra_group_pairwise,
}
"""Constraints as functions of (rows, kappa), by name."""


def _bind(codes, terms, bound):
    events = Events.disjoint(codes, codes.max() + 1)
    return PairConstraint(events, terms, np.full(len(terms), bound))


def fit_pairwise(rows, method, kappa):
    """Fit the coefficients of the model under a constraint on pairs.

    Parameters
    ----------
    rows : benchmarks.papers.partial_fairness.cases.Rows
        Training rows.
    method : str
        Name in `PAIRWISE`.
    kappa : float
        Tolerance, in units of the surrogate.

    Returns
    -------
    coef : ndarray of shape (n_groups, n_features + 1)
        Coefficients of each group, intercepts last.
    """
    weights = np.ones(len(rows.y))
    model = GroupwiseModel.from_features(rows.X, rows.groups, weights)
    target = np.where(rows.y, 1.0, -1.0)
    constraint = PAIRWISE[method](rows, kappa)
    problem = ConstrainedProblem(model, LogisticLoss(), target, weights, ALPHA, constraint)
    result = SQP(tol=1e-5).solve(problem)
    return np.column_stack(model.coefficients(result.x))


def fairlearn_decisions(problem, bounds):
    """Yield decisions on the test rows of methods for demographic parity.

    Parameters
    ----------
    problem : benchmarks.papers.partial_fairness.cases.Case
        The problem.
    bounds : tuple of float
        Bounds of the difference. ThresholdOptimizer also gets a bound of 0.

    Yields
    ------
    method : str
        Name of the method.
    bound : float
        Bound of the difference.
    decisions : ndarray of shape (n_samples,)
        0 or 1.
    """
    from fairlearn.postprocessing import ThresholdOptimizer
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    train, test = problem.train, problem.test
    X = train.X.toarray()
    target = train.y.astype(int)
    groups = train.groups
    model = LogisticRegression(C=0.1, max_iter=1000).fit(X, target)
    for bound in (0.0, *bounds):
        optimizer = ThresholdOptimizer(
            estimator=model, prefit=True, predict_method="predict_proba", tol=bound
        )
        optimizer.fit(X, target, sensitive_features=groups)
        groups_of_test = {"sensitive_features": test.groups}
        decisions = optimizer.predict(test.X.toarray(), **groups_of_test, random_state=0)
        yield "fairlearn ThresholdOptimizer", bound, decisions
    for bound in bounds:
        parity = DemographicParity(difference_bound=bound)
        model = LogisticRegression(C=0.1, solver="liblinear")
        reduction = ExponentiatedGradient(model, parity, max_iter=10)
        reduction.fit(X, target, sensitive_features=groups)
        decisions = reduction.predict(test.X.toarray(), random_state=0)
        yield "fairlearn ExponentiatedGradient", bound, decisions
