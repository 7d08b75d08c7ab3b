"""Losses of pairs of a positive and a negative: the area under the ROC curve, full or partial."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

from skfair.losses._pointwise import Pointwise
from skfair.utils._sklearn import Interval, StrOptions, validate_parameter_constraints
from skfair.utils._sorted_scores import SortedScores, taper_length, top_shares

_ROUNDING_WIDTH = 0.1
"""Length over which the hinge is rounded."""

_HINGES = {
    "squared_hinge": ((1.0, 1.0),),
    "hinge": ((1.0 / _ROUNDING_WIDTH, 1.0), (-1.0 / _ROUNDING_WIDTH, 1.0 - _ROUNDING_WIDTH)),
}
r"""Losses of a difference d as sums of :math:`factor \max(0, margin - d)^2 / 2`."""

_UNSORTED = ("squared", "logistic")
"""Losses that are not such sums."""

_PAIRS = 1 << 20
"""Pairs whose logistic losses are in memory at a time."""


def over_pairs(loss):
    """Whether a loss compares samples; it then also takes their weights in the mean."""
    return getattr(loss, "compares_pairs", False)


class AUCLoss(BaseEstimator):
    r"""Loss of pairs of a positive and a negative, a surrogate of 1 minus the area under the ROC.

    With the loss :math:`\ell` of a difference of scores, and negatives [j] in descending order,
    it is ([1]_, (81) and (83))

    .. math::

        \frac{1}{n_+ (n_-^\beta - n_-^\alpha)} \sum_{i=1}^{n_+} \sum_{j=n_-^\alpha + 1}^{n_-^\beta}
        \ell(s_i^+ - s_{[j]}^-), \qquad n_-^\alpha = \alpha n_-, \; n_-^\beta = \beta n_-,

    the mean over positives and those negatives whose rank among the negatives, a false positive
    rate, is in an interval. As :math:`\ell` decreases, the sums over the first
    :math:`n_-^\beta` and over the first :math:`n_-^\alpha` are convex in the scores, and the loss
    is their difference; :class:`skfair.solvers.IDCA` linearises the second one. Both take
    :math:`O(n \log n)` by sorting, except for the logistic loss.

    It depends on the order of samples and has no threshold: adding a constant to all scores changes
    nothing. So it can be minimised under criteria on ranks, but not under those on decisions. If
    for any model the best negatives of an interval score above the average positive, equal scores
    are optimal.

    Parameters
    ----------
    interval : pair of floats, default=(0.0, 1.0)
        False positive rates :math:`(\alpha, \beta)` between which the area is taken. (0.0, 0.1) is
        the tenth of the negatives with the highest scores.
    loss : {"squared_hinge", "hinge", "squared", "logistic"}, default="squared_hinge"
        :math:`\ell(d) = \tfrac12 \max(0, 1 - d)^2`; :math:`\max(0, 1 - d)`, rounded as by
        :class:`HingeLoss`; :math:`\tfrac12 (1 - d)^2`, which increases beyond 1 and is therefore
        refused on a proper interval, where it is not a difference of convex functions unless scores
        are bounded; or :math:`\log(1 + e^{-d})`, whose time grows with the number of pairs.
    taper : float in [0, 1], default=0.1
        Length over which the weights of negatives decrease to 0 at the ends of the interval,
        relative to it, so that a swap of two ranks there changes the loss by little. 0 is (83) as
        printed, which is not differentiable there.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026, Example D.2.

    Examples
    --------
    One of the two pairs has difference 2, the other -1:

    >>> import numpy as np
    >>> from skfair.losses import AUCLoss
    >>> scores, target, weights = np.array([0.0, 1.0, -2.0]), np.array([1, -1, -1]), np.ones(3) / 3
    >>> round(float(weights @ AUCLoss()(scores, target, weights).value), 6)
    1.0

    The half of the negatives with the higher scores is ranked wrongly:

    >>> worst = AUCLoss((0.0, 0.5), taper=0.0)
    >>> round(float(weights @ worst(scores, target, weights).value), 6)
    2.0
    """

    compares_pairs = True

    _parameter_constraints = {
        "interval": ["array-like"],
        "loss": [StrOptions({*_HINGES, *_UNSORTED})],
        "taper": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        interval: tuple[float, float] = (0.0, 1.0),
        loss: str = "squared_hinge",
        taper: float = 0.1,
    ):
        self.interval = interval
        self.loss = loss
        self.taper = taper

    def __call__(self, scores: np.ndarray, target: np.ndarray, weights: np.ndarray) -> Any:
        r"""Losses of samples with classes -1 and +1 and weights in the mean, as `Pointwise`.

        Their mean is the loss of pairs, and likewise the derivatives: the loss of a pair is
        assigned to its negative. Curvatures are by single scores; by
        :math:`(a - b)^2 \le 2 a^2 + 2 b^2` they bound those of differences, and are never negative.
        A parameter that is out of range raises a ValueError.
        """
        convex, concave = self.parts(scores, target, weights)
        # The difference of two convex functions is not convex: negative curvatures are cut off.
        value, slope, curvature = (up - down for up, down in zip(convex, concave, strict=True))
        return Pointwise(value, slope, np.maximum(0.0, curvature))

    def parts(
        self, scores: np.ndarray, target: np.ndarray, weights: np.ndarray
    ) -> tuple[Pointwise, ...]:
        """Two functions, convex in the scores, whose difference is the loss.

        Parameters
        ----------
        scores, target, weights : ndarray of shape (n_samples,)
            As in `__call__`.

        Returns
        -------
        convex, concave : Pointwise
            Of the negatives up to the end of the interval, and up to its beginning.
        """
        begin, end = self._check_interval()
        # Negatives up to the end of the interval, less those up to its beginning.
        sides, width = _ClassScores(scores, target, weights), end - begin
        length = self.taper * width
        return tuple(sides.first_negatives(rank, length, self.loss, width) for rank in (end, begin))

    def majorant(self, scores: np.ndarray, target: np.ndarray, weights: np.ndarray) -> Callable:
        """A convex majorant of the loss, equal at the scores passed.

        Parameters
        ----------
        scores, target, weights : ndarray of shape (n_samples,)
            As in `__call__`.

        Returns
        -------
        loss : callable
            With the arguments of this loss.
        """
        _, concave = self.parts(scores, target, weights)
        return _Majorant(self, scores, concave)

    def _check_interval(self):
        """Both ends of the interval, validated."""
        parameters = self.get_params(deep=False)
        validate_parameter_constraints(self._parameter_constraints, parameters, "AUCLoss")
        interval = np.asarray(self.interval, dtype=np.float64)
        if interval.shape != (2,) or not 0.0 <= interval[0] < interval[1] <= 1.0:
            raise ValueError(
                "interval must be a pair 0 <= alpha < beta <= 1 of false positive rates, such as "
                f"(0.0, 0.1); got {self.interval!r}."
            )
        if self.loss == "squared" and interval.tolist() != [0.0, 1.0]:
            raise ValueError(
                "loss='squared' increases for differences above 1, so that on an interval it is no "
                f"difference of convex functions; got interval={self.interval!r}. Use "
                "loss='squared_hinge', or interval=(0.0, 1.0)."
            )
        return interval.tolist()


class _Majorant:
    """An `AUCLoss` with its concave part replaced by the tangent."""

    compares_pairs = True

    def __init__(self, loss, scores, concave):
        self.loss = loss
        self.scores = scores
        self.concave = concave

    def __call__(self, scores, target, weights):
        convex, _ = self.loss.parts(scores, target, weights)
        value, slope, _ = self.concave
        line = value + slope * (scores - self.scores)
        return Pointwise(convex.value - line, convex.slope - slope, convex.curvature)


class _ClassScores:
    """Positives by ascending and negatives by descending score."""

    def __init__(self, scores, target, weights):
        # Samples of weight 0 are left out, as in a mini-batch.
        positive = np.flatnonzero((target > 0) & (weights > 0))
        negative = np.flatnonzero((target <= 0) & (weights > 0))
        self.n_samples = len(scores)
        self.positives = positive[np.argsort(scores[positive], kind="stable")]
        self.negatives = negative[np.argsort(-scores[negative], kind="stable")]
        self.positive_scores, self.negative_scores = scores[self.positives], scores[self.negatives]
        self.weights = weights[self.positives].sum(), weights[self.negatives].sum()
        # Shares within the class; a class without samples has none.
        self.positive_shares, self.negative_shares = (
            weights[members] / max(weight, np.finfo(float).tiny)
            for members, weight in zip((self.positives, self.negatives), self.weights, strict=True)
        )

    def first_negatives(self, rank, length, loss, width):
        """The loss of all positives and the negatives up to a rank, as `Pointwise`."""
        derivatives, length = np.zeros((3, self.n_samples)), taper_length(rank, length)
        if not (len(self.positives) and len(self.negatives)):  # possible in a mini-batch
            return Pointwise(*derivatives)
        # Weights of the negatives, sums over pairs, and the mean per sample.
        counts = self._average_ties(top_shares(self.negative_shares, rank, length)) / width
        positive_weight, negative_weight = self.weights
        charge, pull = self._pair_sums(loss, counts)
        derivatives[1:, self.positives] = pull / positive_weight
        derivatives[:, self.negatives] = charge * counts / self.negative_shares / negative_weight
        # Curvature of the weights at the end of the interval, where ranks may swap.
        tapering, spread = self._taper(rank, length)
        if spread > 0.0:
            curvature = 2.0 * charge[1, tapering] / (width * spread * negative_weight)
            derivatives[2, self.negatives[tapering]] += curvature
        return Pointwise(*derivatives)

    def _pair_sums(self, loss, counts):
        """Loss, slope and 2 curvature (3, n_negatives) and slope and 2 curvature (2, n_positives).

        The first are means over the positives, the second sums over the weighted negatives.
        """
        if loss == "squared":
            return self._squared_sums(counts)
        if loss == "logistic":
            return self._logistic_sums(counts)
        positives = SortedScores(self.positive_scores, self.positive_shares)
        negatives = SortedScores(-self.negative_scores, counts)
        charge, pull = np.zeros((3, len(self.negatives))), np.zeros((2, len(self.positives)))
        # By one search of each side in the other: sums over the pairs closer than the margin.
        for factor, margin in _HINGES[loss]:
            near, excess, square = positives.sums_below(self.negative_scores + margin)
            charge += factor * np.array([square, excess, 2.0 * near])
            near, excess, _ = negatives.sums_below(margin - self.positive_scores)
            pull += factor * np.array([-excess, 2.0 * near])
        return charge, pull

    def _squared_sums(self, counts):
        """`_pair_sums` of (1 - d)^2 / 2, from the mean and the variance of the positives."""
        mean = self.positive_shares @ self.positive_scores
        variance = self.positive_shares @ (self.positive_scores - mean) ** 2
        # The mean over positives of (1 - d)^2 is the squared mean plus the variance.
        short = 1.0 - mean + self.negative_scores
        charge = np.array([(short**2 + variance) / 2.0, short, np.full(len(short), 2.0)])
        total = counts.sum()
        slopes = -total * (1.0 - self.positive_scores) - counts @ self.negative_scores
        return charge, np.array([slopes, np.full(len(slopes), 2.0 * total)])

    def _logistic_sums(self, counts):
        """`_pair_sums` of log(1 + exp(-d)), in blocks of negatives with all positives."""
        charge, pull = np.zeros((3, len(self.negatives))), np.zeros((2, len(self.positives)))
        length = max(1, _PAIRS // len(self.positives))
        for start in range(0, np.count_nonzero(counts), length):
            # Only the first negatives have a weight.
            block = slice(start, start + length)
            differences = self.positive_scores[:, np.newaxis] - self.negative_scores[block]
            wrong = expit(-differences)
            curvature = 2.0 * wrong * (1.0 - wrong)
            terms = np.logaddexp(0.0, -differences), wrong, curvature
            charge[:, block] = [self.positive_shares @ term for term in terms]
            pull += [-wrong @ counts[block], curvature @ counts[block]]
        return charge, pull

    def _average_ties(self, counts):
        """Counts averaged over negatives of equal score, in proportion to their shares."""
        # The order of equal scores is arbitrary, so each of them has the same count per weight.
        _, ties = np.unique(self.negative_scores, return_inverse=True)
        tie_counts, shares = np.bincount(ties, counts), np.bincount(ties, self.negative_shares)
        return self.negative_shares * (tie_counts / shares)[ties]

    def _taper(self, rank, length):
        """Negatives whose weights decrease around a rank, and the range of their scores.

        Swaps of ranks add curvature there: for evenly spread scores the slope of the weights.
        """
        # Each negative ranks at the middle of its weight.
        ranks = np.cumsum(self.negative_shares) - self.negative_shares / 2.0
        ends = np.searchsorted(ranks, [rank - length / 2.0, rank + length / 2.0])
        tapering = slice(*ends)
        return tapering, float(np.ptp(self.negative_scores[tapering])) if np.ptp(ends) else 0.0
