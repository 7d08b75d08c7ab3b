"""A problem in parts that compares ranks: few tell of everybody's scores what a gap hangs on."""

from functools import cached_property, partial

import numpy as np

from skfair.problems._partitioned import PartitionedProblem


class PartitionedRankProblem(PartitionedProblem):
    """A problem in parts, each of whose constraints has its gap at the thresholds of all scores.

    Everybody's gap is that of few, to whom the parts are condensed: looks that count bins of
    scores, and one that brings the people here whom the gap hangs on.

    Parameters
    ----------
    model, loss, target, weights, alpha, constraint, region, total, parts, few
        As of `PartitionedProblem`.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem, PartialStatisticalParity
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.models import LinearModel
    >>> from skfair.partitions import blocks, in_blocks
    >>> from skfair.groups import Samples, check_groups
    >>> from skfair.problems import ConstrainedProblem, PartitionedRankProblem
    >>> X, weights = np.arange(80.0)[:, np.newaxis], np.ones(80)
    >>> y, groups = np.where(X[:, 0] > 40, 1.0, -1.0), check_groups(X[:, 0] > 39, 80)
    >>> people, loss = Samples(y, groups, weights), LogisticLoss()
    >>> parity = PartialStatisticalParity().bind(people, None, loss, tolerance=0.1)
    >>> model = LinearModel.standardized(X, weights)
    >>> whole = ConstrainedProblem(model, loss, y, weights, 0.0, ConstraintSystem((parity,)))
    >>> parts = in_blocks([whole.part(rows) for rows in blocks(80, size=50)])
    >>> PartitionedRankProblem.of(whole, parts).gaps(np.array([1.0, 0.0]))
    array([1.])
    """

    def condensed(self, number, parameters):
        """A constraint among few, and their scores, of which the gap is everybody's.

        Parameters
        ----------
        number : int
            Which of the constraints.
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        constraint : BoundPartialParity
        scores : ndarray of shape (n_condensed,)
        """
        key = number, parameters.tobytes()
        if key not in self._latest_condensed:
            self._latest_condensed.clear()
            count = partial(self.parts.reduce, _count, number, parameters)
            collect = partial(self.parts.gather, _within, number, parameters)
            some = np.zeros(1) if self.few is None else self.few.predicted(parameters)
            constraint = self.constraint.constraints[number]
            found = constraint.partition_sums.condense(some, count, collect)
            self._latest_condensed[key] = found
        return self._latest_condensed[key]

    @cached_property
    def _latest_condensed(self):
        return {}  # the model that is taken is usually the last that was judged

    def gaps(self, parameters):
        """The gap of every constraint by the public metric.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        gaps : ndarray of shape (n_constraints,)
        """
        found = [self.condensed(number, parameters) for number in self._numbers]
        return np.array([constraint.gap(scores) for constraint, scores in found])

    def initial_point(self, parameters=None, random_state=None):
        """Parameters, and the auxiliary unknowns that suit them.

        Parameters
        ----------
        parameters, random_state
            As in `PartitionedProblem`.

        Returns
        -------
        x : ndarray of shape (n_unknowns,)
        """
        parameters = self.model.initial(random_state) if parameters is None else parameters
        found = [self.condensed(number, parameters) for number in self._numbers]
        return np.concatenate(
            [parameters, *(one.rows.initial_aux(scores) for one, scores in found)]
        )

    def told(self, parameters):
        """What is told of a model once it is taken, as in `PartitionedProblem`.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
            Model parameters.

        Returns
        -------
        objective, n_rows, report
        """
        found = [self.condensed(number, parameters) for number in self._numbers]
        thresholds = [
            one.criterion.thresholds(one.ranked, one.tolerance, scores) for one, scores in found
        ]
        gaps = [constraint.gap(scores) for constraint, scores in found]
        objective, moments = self.parts.reduce(_told_of_ranks, parameters, thresholds)
        penalty = float(self.ridge @ parameters**2 / 2)
        report = self.constraint.report(moments=zip(gaps, thresholds, moments, strict=True))
        return float(objective) + penalty, len(self.lower), report

    @property
    def _numbers(self):
        return range(len(self.constraint))


def _count(part, number, parameters, cuts):
    """What a part adds to the bins of one constraint's events."""
    return part.constraint.constraints[number].partition_sums.count(
        part.predicted(parameters), cuts
    )


def _within(part, number, parameters, cuts, bins):
    """Those of a part who are in some of the bins."""
    scores = part.predicted(parameters)
    return part.constraint.constraints[number].partition_sums.gather(scores, cuts, bins)


def _told_of_ranks(part, parameters, thresholds):
    """What a part adds to the objective, and to the shares above thresholds, by constraint."""
    pairs = zip(part.constraint, thresholds, strict=True)
    scores = part.predicted(parameters)
    moments = tuple(one.partition_sums.moments(scores, own) for one, own in pairs)
    return part.evaluate(parameters).fun, moments
