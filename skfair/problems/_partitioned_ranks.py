"""A partitioned problem that compares ranks: gaps follow from a few samples near thresholds."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from skfair.problems._partitioned import PartitionedProblem
from skfair.utils._types import RandomState


class PartitionedRankProblem(PartitionedProblem):
    """A partitioned problem with the gaps of its constraints at the thresholds of all scores.

    Passes count bins of scores, and one more gathers the samples that determine the gap. These are
    few, and their gap is that of all samples.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.constraints import ConstraintSystem, PartialStatisticalParity
    >>> from skfair.losses import LogisticLoss
    >>> from skfair.models import LinearModel
    >>> from skfair.partitions import blocks, make_partitions
    >>> from skfair.groups import Samples, check_groups
    >>> from skfair.problems import ConstrainedProblem, PartitionedRankProblem
    >>> X, weights = np.arange(80.0)[:, np.newaxis], np.ones(80)
    >>> y, groups = np.where(X[:, 0] > 40, 1.0, -1.0), check_groups(X[:, 0] > 39, 80)
    >>> samples, loss = Samples(y, groups, weights), LogisticLoss()
    >>> parity = PartialStatisticalParity().bind(samples, None, loss, tolerance=0.1)
    >>> model = LinearModel.from_features(X, weights)
    >>> problem = ConstrainedProblem(model, loss, y, weights, 0.0, ConstraintSystem((parity,)))
    >>> partitions = make_partitions([problem.subset(rows) for rows in blocks(80, size=50)])
    >>> problem = PartitionedRankProblem.from_problem(problem, partitions)
    >>> constraint, scores = problem.condense(0, np.array([1.0, 0.0]))
    >>> constraint.gap(scores)
    1.0
    """

    def condense(self, number: int, parameters: np.ndarray) -> Any:
        """A constraint on few samples, and their scores, with the gap of all samples."""
        key = number, parameters.tobytes()
        if key not in self._latest_condensed:
            self._latest_condensed.clear()
            count = partial(self.partitions.reduce, _count_scores, number, parameters)
            gather = partial(self.partitions.gather, _gather_samples, number, parameters)
            guess = (
                np.zeros(1) if self.subsample is None else self.subsample.predict_scores(parameters)
            )
            constraint = self.constraint[number]
            self._latest_condensed[key] = constraint.partition_sums.condense(guess, count, gather)
        return self._latest_condensed[key]

    @cached_property
    def _latest_condensed(self):
        return {}  # the result of a fit is usually the model that was counted last

    def initial_point(
        self, parameters: np.ndarray | None = None, random_state: RandomState = None
    ) -> np.ndarray:
        """Parameters, followed by auxiliary unknowns at which the rows are smallest."""
        parameters = self.model.initial(random_state) if parameters is None else parameters
        condensed = self.condense_all(parameters)
        return np.concatenate(
            [parameters, *(one.rows.initial_aux(scores) for one, scores in condensed)]
        )

    def condense_all(self, parameters: np.ndarray) -> list:
        """Each constraint on few samples, and their scores."""
        return [self.condense(number, parameters) for number in range(len(self.constraint))]


def _count_scores(block, number, parameters, cuts):
    """Share of a block in the bins of scores of one constraint's events."""
    partitioned = block.constraint[number].partition_sums
    return partitioned.count(predict_block(block, parameters), cuts)


def _gather_samples(block, number, parameters, cuts, bins):
    """Samples of a block that are in one of the bins."""
    partitioned = block.constraint[number].partition_sums
    return partitioned.gather(predict_block(block, parameters), cuts, bins)


def predict_block(block, parameters):
    """Scores of a block as predictions will have them."""
    scores = block.compiled and block.compiled.predict_scores(parameters)
    return block.predict_scores(parameters) if scores is None else scores
