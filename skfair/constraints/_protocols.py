"""Protocols of bound constraints: what solvers see, and what enforcement sees.

Solvers see rows between bounds (`SmoothConstraint`). Enforcement sees the public metric as well,
and adjusts the rows until the metric keeps its tolerance (`MetricConstraint`).
"""

from typing import Any, Protocol

import numpy as np

REPORT_COLUMNS = (
    "cell",
    "group",
    "rate",
    "n",
    "standard_error",
    "constraint",
    "threshold",
    "gap",
    "tolerance",
)
"""Columns of all reports of constraints; a narrow screen leaves out those in the middle."""


class SmoothConstraint(Protocol):
    """Rows ``lower <= c(scores, aux) <= upper``: what solvers need.

    Some solvers need further methods, which may be missing elsewhere:

    - ``majorant(scores, aux)``: convex rows that are nowhere easier to keep and equal at the given
      point, for solvers that convexify;
    - ``draw(n_per_event, random_state, first)``: positions of the samples of a mini-batch, and the
      rows on them, with the number of events ``n_events``, for stochastic solvers;
    - ``correct(scores)``: the rows with the means that the metric counts at these scores, for
      solvers that count decisions;
    - ``take(rows)``: the rows on a subset of the samples.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_rows,)
        Bounds; infinite where there is none.
    n_aux : int
        Number of auxiliary unknowns.

    Examples
    --------
    Rows of one's own, which bound the mean score of all samples at 0:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from skfair.constraints import ConstraintValues, ScoreJacobian
    >>> class CentredScores:
    ...     lower, upper, n_aux = np.zeros(1), np.zeros(1), 0
    ...
    ...     def initial_aux(self, scores):
    ...         return np.empty(0)
    ...
    ...     def __call__(self, scores, aux):
    ...         averaging = sparse.csr_array(np.full((1, len(scores)), 1.0 / len(scores)))
    ...         return ConstraintValues(
    ...             averaging @ scores,
    ...             ScoreJacobian(combine=sparse.eye_array(1, format="csr"), cells=averaging),
    ...             np.empty((1, 0)),
    ...             lambda v: np.zeros(len(scores)),
    ...         )
    >>> CentredScores()(np.array([1.0, 3.0]), np.empty(0)).values
    array([2.])
    """

    lower: np.ndarray
    upper: np.ndarray
    n_aux: int

    def initial_aux(self, scores):
        """Auxiliary unknowns at which the rows hold if they can at these scores, (n_aux,)."""

    def __call__(self, scores, aux):
        """Rows and their derivatives, as `ConstraintValues`."""


class MetricConstraint(Protocol):
    """A gap with its tolerance, and the rows that bound it: what enforcement needs.

    What `Constraint.bind` returns. Constraints are frozen dataclasses with a tolerance and an
    offset, which :func:`dataclasses.replace` changes. Constraints on decisions and values have the
    means that they compare, ``means``, and their gap, ``aggregate``; those on ranks a ``criterion``
    with ``narrow(factor)``, the same with a surrogate that much steeper, and ``refine()``, the
    same at more percentiles.

    Attributes
    ----------
    name : str
        What the constraint is called in messages and reports.
    tolerance : float
        Largest gap allowed.
    rows : SmoothConstraint
        What solvers see.
    statistic : {"decisions", "ranks", "values"}
        What of the scores the metric depends on: their signs, their order, or their values. Only
        "values" change continuously with the scores, and only they are subject to the tolerance of
        a solver. Rows of "ranks" suit scores near those where they are linearised.
    is_ratio : bool
        Whether the gap is 1 minus a ratio, and the tolerance 1 minus the smallest ratio allowed.
    is_correctable : bool
        Whether an offset by the residual makes the rows count what the metric counts.
    adds_up : bool
        Whether rows of partitions of the samples add up.
    events : Events
        Sets of samples that are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import DemographicParity
    >>> from skfair.groups import Samples, check_groups
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.surrogates import Sigmoid
    >>> samples = Samples(np.array([1.0, -1.0]), check_groups(["a", "b"], 2), np.ones(2))
    >>> parity = DemographicParity().bind(samples, Sigmoid(), LogisticLoss(), tolerance=0.1)
    >>> parity.gap(np.array([2.0, -1.0]))
    1.0
    """

    name: str
    tolerance: float
    rows: SmoothConstraint
    statistic: str
    is_ratio: bool
    is_correctable: bool
    adds_up: bool
    events: Any

    def gap(self, scores):
        """The gap by the public metric; nan where it is unknown."""

    def linearize_at(self, scores):
        """The same constraint with the rows that suit scores near the given ones."""

    def estimates(self, scores):
        """Estimates of what is compared in the population, and forms whose largest is the gap.

        The scores do not depend on these samples.
        """

    def posterior(self, scores, clusters=None):
        """Posterior of the population's gap; a ValueError for a metric that is none of means.

        It has ``probability(factor=1.0, multiple=1.0)``: the probability that the population's gap
        is at most the tolerance, if the measured gap were multiplied by the one and the sample size
        by the other. Out-of-fold scores leave it unbiased. Samples of equal cluster code belong
        together.
        """

    def take(self, rows):
        """The same constraint on a subset of the samples; a ValueError if that is too small."""

    def report(self, scores=None, moments=None):
        """One row per rate that is compared, from scores or from sums over partitioned data.

        Columns ``REPORT_COLUMNS``: n counts samples; the threshold is that of the decisions
        counted, nan if none are; the standard error is the sampling error of the rate; gap and
        tolerance are those of the whole constraint.
        """
