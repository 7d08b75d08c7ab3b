"""Parity of mean scores between groups."""

import numpy as np

from skfair.constraints._cells import everybody
from skfair.constraints._constraint import Constraint
from skfair.losses import Pointwise


class MeanParity(Constraint):
    r"""Equal mean scores: :math:`E[s \mid g]` is the same for all groups g.

    For a real target the scores are predictions. Decisions and ranks may differ all the same.

    Parameters
    ----------
    tolerance : float or None, default=None
        Largest gap allowed; None takes the estimator's. In a fit of a classifier it is in units of
        the decision function, in that of a regressor in standard deviations of the training target
        (``target_scale_``). :func:`skfair.audit.certify` reads it in units of the target, and of a
        classifier in units of its predicted probability, if it has one.
    reference, aggregate, attributes, min_group_size
        See :class:`Constraint`.

    Examples
    --------
    >>> from skfair.constraints import MeanParity
    >>> MeanParity(tolerance=0.1)
    MeanParity(tolerance=0.1)
    """

    metric = "mean_score_difference"
    cells = staticmethod(everybody)

    def rate(self, surrogate, loss):
        """The score of each sample.

        Parameters
        ----------
        surrogate, loss : callable
            As in :meth:`Constraint.rate`.

        Returns
        -------
        rate : callable
            (scores, target) -> Pointwise.
        """
        return lambda scores, target: Pointwise(scores, np.ones_like(scores), np.zeros_like(scores))
