"""What the rest of the package asks of a constraint that is bound to people.

Solvers see rows between bounds (`SmoothConstraint`). Enforcement sees the public metric besides,
and moves the rows until the metric keeps its tolerance (`MetricConstraint`). Both are met by what
`Constraint.bind` returns, and solvers' part of them by any rows of one's own.
"""

from typing import Protocol

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

    Three methods more are asked for where they are needed, and may be missing elsewhere:

    - ``single()``: the same constraint by the one row ``gap <= tolerance``, for solvers with
      ``one_row``; rows that lack it are given to these as they are;
    - ``majorant(scores, aux)``: convex rows that are nowhere easier to keep and equal at the given
      point, for solvers that convexify;
    - ``take(rows)``: the same constraint on some of the samples, for solvers that sample.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_rows,)
        Bounds; infinite where there is none.
    n_aux : int
        Number of auxiliary unknowns.

    Examples
    --------
    Rows of one's own, that hold the mean score of everybody at 0:

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
        """Auxiliary unknowns at which the rows hold if they can at these scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        aux : ndarray of shape (n_aux,)
        """

    def __call__(self, scores, aux):
        """Rows and their derivatives.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        aux : ndarray of shape (n_aux,)
            Auxiliary unknowns.

        Returns
        -------
        values : ConstraintValues
        """


class MetricConstraint(SmoothConstraint, Protocol):
    """Rows that know the public metric which they stand for: what enforcement needs of each part.

    Where the metric counts decisions (``counts_decisions``), searches over decisions also ask for
    ``decision_values``, ``decision_effects``, ``decision_pressure``, ``sweep`` and ``names``, as
    `BoundConstraint` has them. Rows that are not correctable are held to other tolerances instead,
    and have ``narrowed(factor)``: the same rows, with a surrogate that much nearer to the step; and
    ``refined()``: the same constraint by more rows, if more are nearer to the metric.

    Attributes
    ----------
    name : str
        What the constraint is called in messages and reports.
    tolerance : float
        Largest gap allowed.
    counts_decisions : bool
        Whether the metric sees of a score only whether it is positive.
    jumps : bool
        Whether the metric jumps as scores move, as that of decisions and ranks does and that of
        mean losses does not: then no tolerance of solvers is granted to it.
    is_local : bool
        Whether the rows suit only scores near those that they are `seen_from`.
    is_correctable : bool
        Whether the rows can be shifted by what they miss of the metric.
    strata : ndarray of int, shape (n_samples,)
        Code of the events that a sample counts in; -1 for none.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import DemographicParity, Samples
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.groups import check_groups
    >>> from skfair.surrogates import Sigmoid
    >>> people = Samples(np.array([1.0, -1.0]), check_groups(["a", "b"], 2), np.ones(2))
    >>> parity = DemographicParity().bind(people, Sigmoid(), LogisticLoss(), tolerance=0.1)
    >>> parity.gap(np.array([2.0, -1.0]))
    1.0
    """

    name: str
    tolerance: float
    counts_decisions: bool
    jumps: bool
    is_local: bool
    is_correctable: bool
    strata: np.ndarray

    def gap(self, scores):
        """The gap by the public metric.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        gap : float
            nan where it is not known.
        """

    def sampled(self, scores):
        """What the people tell of the population's gap.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores that do not depend on these people.

        Returns
        -------
        estimates : Estimates
            Numbers that are compared.
        contrasts : csr_array
            Linear forms of them, of which the gap is the largest.
        """

    def violation(self, scores):
        """Excess of the gap over the tolerance; 0 when it is kept, infinite where it is not known.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        violation : float
        """

    def posterior(self, scores, clusters=None):
        """What the samples tell of the gap in the population that they were drawn from.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores; for an honest answer, out-of-fold.
        clusters : ndarray of int, shape (n_samples,), default=None
            Samples of equal code belong together; None means that samples are independent.

        Returns
        -------
        posterior : object
            With ``probability(factor=1.0, people=1.0)``: how likely the population's gap is at most
            the tolerance, as if the gap that was counted were so many times as large, and counted
            on so many times as many people.

        Raises
        ------
        ValueError
            If the metric is none of rates or means.
        """

    def remedy(self, scores):
        """What helps where the tolerance cannot be kept, beside raising it.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores of the model that misses it.

        Returns
        -------
        remedy : str
            Words that go on after "Raise the tolerance, ".
        """

    def seen_from(self, scores):
        """The same constraint, its rows those that suit scores near the given ones.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        constraint : MetricConstraint
        """

    def held_to(self, tolerance):
        """The same constraint with another tolerance.

        Parameters
        ----------
        tolerance : float
            Largest gap allowed.

        Returns
        -------
        constraint : MetricConstraint
        """

    def missed(self, scores):
        """What the smooth rates lack of those of the metric.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        missed : ndarray
            To be passed to `shifted`.
        """

    def shifted(self, offset):
        """The same constraint, where something is added to the smooth rates.

        Parameters
        ----------
        offset : ndarray
            What is added; as `missed` returns it.

        Returns
        -------
        constraint : MetricConstraint
        """

    def report(self, scores):
        """One row per rate that is compared.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.

        Returns
        -------
        report : DataFrame
            Columns ``REPORT_COLUMNS``: n counts samples; the threshold is that of the decisions
            counted, nan if none are; the standard error is that of the rate, as if the samples
            were drawn anew; gap and tolerance are those of the whole constraint.
        """
