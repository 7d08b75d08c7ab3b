"""Protocols of bound constraints: what solvers see, and what enforcement sees.

Solvers see rows between bounds (`SmoothConstraint`). Enforcement sees the public metric as well,
and adjusts the rows until the metric keeps its tolerance (`MetricConstraint`). It does so by the
signs of scores (`RateConstraint`) or by their order (`RankConstraint`). Together they list every
member that another subpackage reads (``tests/test_protocols.py``).
"""

from typing import Any, Protocol

import numpy as np

OPTIONAL_ROWS_MEMBERS = frozenset(
    {
        "components",
        "correct",
        "has_batch_majorant",
        "events",
        "majorant",
        "n_events",
        "original_multipliers",
        "split_by_constraint",
        "take",
        "take_batch",
    }
)
"""Members of a `SmoothConstraint` that only some solvers and problems need."""


class SmoothConstraint(Protocol):
    """Rows ``lower <= c(scores, aux) <= upper``: what solvers need.

    Some solvers need further members, which may be missing elsewhere (`OPTIONAL_ROWS_MEMBERS`):

    - ``majorant(scores, aux)``: convex rows that are nowhere easier to keep and equal at the given
      point, for solvers that convexify; ``has_batch_majorant`` says whether mini-batches can be
      drawn from it, and it has ``original_multipliers(multipliers)``;
    - ``take_batch(positions, start, n_per_event)``: the rows on the samples of a mini-batch, of
      which those from ``start`` on were drawn from its ``events``, ``n_events`` in number, for
      stochastic solvers;
    - ``correct(scores)``: the rows with the means that the metric counts at these scores, for
      solvers that count decisions;
    - ``take(rows)``: the rows on a subset of the samples;
    - ``components`` and ``split_by_constraint(v)``: the rows of each of several constraints, and
      the entries of each in a vector with one per row.

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
    ...             ScoreJacobian(means_to_rows=sparse.eye_array(1, format="csr"), basis=averaging),
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

    What `Constraint.bind` returns: a `RateConstraint`, or of criteria on ranks a `RankConstraint`.
    Both are frozen dataclasses with a tolerance and an offset, which :func:`dataclasses.replace`
    changes.

    Attributes
    ----------
    name : str
        What the constraint is called in messages and reports.
    tolerance : float
        Largest gap allowed.
    rows : SmoothConstraint
        What solvers see.
    metric_input : {"decisions", "ranks", "values"}
        What of the scores the metric depends on: their signs, their order, or their values. Only
        "values" change continuously with the scores, and only they are subject to the tolerance of
        a solver. Rows of "ranks" suit scores near those where they are linearised.
    gap : Gap
        What is compared, with the attributes of `Gap`: of a ratio the tolerance is 1 minus the
        smallest one allowed. It is a function of rates where the criterion is one.
    is_correctable : bool
        Whether an offset by the residual makes the rows count what the metric counts.
    adds_up : bool
        Whether rows follow from sums that partitions of the samples add up to.
    events : Events
        Sets of samples that are compared.
    criterion : object or None
        Settings that enforcement may change between fits; None if there are none.
    uncompared : object or None
        The same for groups that are too small to be compared, for reports.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import DemographicParity
    >>> from skfair.groups import Samples, check_groups
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.surrogates import Sigmoid
    >>> samples = Samples(np.array([1.0, -1.0]), check_groups(["a", "b"], 2), np.ones(2))
    >>> parity = DemographicParity().bind(samples, Sigmoid(), LogisticLoss(), tolerance=0.1)
    >>> parity.value(np.array([2.0, -1.0]))
    1.0
    """

    name: str
    tolerance: float
    rows: SmoothConstraint
    metric_input: str
    gap: Any
    is_correctable: bool
    adds_up: bool
    events: Any
    criterion: Any
    uncompared: Any

    def value(self, scores):
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

    def contribution(self, rows, factors=1.0, target=None):
        """The contribution of a block of samples: rows without offset add up over blocks."""

    def report(self, scores=None, moments=None):
        """One row per rate that is compared, from scores or from sums over partitioned data.

        Columns ``REPORT_COLUMNS``: n counts samples; the threshold is that of the decisions
        counted, nan if none are; the standard error is the sampling error of the rate; gap and
        tolerance are those of the whole constraint.
        """


class RateConstraint(MetricConstraint, Protocol):
    """A constraint on means of pointwise terms over events, or on quotients of two.

    Its rows have, besides what solvers need, ``rates_to_rows``, the linear map from rates to rows,
    None for one row; ``aux_jacobian``; ``rows_at(sums, aux)``, values of the rows at sums and their
    slope by these, with the best unknowns for None; ``aux_at(sums)``, these unknowns;
    ``constant_term(aux)``, the rows where all sums are 0 before the offset; ``residual(scores)``,
    exact sums less smooth ones; and ``sums_curvature(sums, v)``.

    Attributes
    ----------
    target : ndarray of shape (n_samples,)
        Classes -1 and +1, or real numbers.
    smooth, exact : tuple of callable
        (scores, target) -> Pointwise: the terms that solvers bound, and those that the metric
        counts; two of each are numerator and denominator of a quotient.
    offset : ndarray of shape (n_sums,) or 0.0
        Added to the smooth sums.
    one_row : bool
        Whether the gap is bounded by one piecewise linear row.
    n_events : int
        Number of events that are compared.
    labels : list of (str, object)
        Cell and group of each event.
    is_quotient : bool
        Whether rates are quotients of two terms.
    """

    target: np.ndarray
    smooth: tuple
    exact: tuple
    offset: Any
    one_row: bool
    n_events: int
    labels: list
    is_quotient: bool

    def smooth_means(self, scores):
        """Means of the smooth terms over the events, before the offset, (n_sums,)."""

    def exact_means(self, scores):
        """Means of the terms that the metric counts, (n_sums,)."""

    def rates(self, sums):
        """Rates of the events, (n_events,): the sums, or quotients of two."""

    def correct(self, scores, step_size=1.0):
        """The same constraint, its offset moved by a step to the residual at the scores."""


class RankConstraint(MetricConstraint, Protocol):
    """A criterion on ranks, whose rows suit scores near those where it is linearised.

    Its ``criterion`` has ``narrow(factor)``, the same with a surrogate that much steeper,
    ``refine()``, the same at more percentiles, and ``thresholds(ranked, tolerance, scores)``, where
    its rates are reported.

    Attributes
    ----------
    interval_events : IntervalEvents
        The samples of each event and their interval.
    partition_sums : PartitionSums
        What blocks of samples contribute to the criterion.
    """

    interval_events: Any
    partition_sums: Any
