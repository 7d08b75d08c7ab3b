"""Losses of pairs: whether positives score above negatives, all of them or some."""

from numbers import Real

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

from skfair.losses._pointwise import Pointwise
from skfair.utils._sklearn import Interval, StrOptions, validate_parameter_constraints
from skfair.utils._sorted_scores import SortedScores, taper_length, top_shares

_ROUNDED = 0.1
"""Length over which the kink of the hinge is rounded."""

_HINGES = {
    "squared_hinge": ((1.0, 1.0),),
    "hinge": ((1.0 / _ROUNDED, 1.0), (-1.0 / _ROUNDED, 1.0 - _ROUNDED)),
}
r"""Losses of a difference d as sums of :math:`factor \max(0, margin - d)^2 / 2`."""

_OTHERS = ("squared", "logistic")
"""Losses that are no such sums."""

_PAIRS = 1 << 20
"""Pairs whose logistic losses are held at a time."""


def over_pairs(loss):
    """Whether a loss compares samples: it is then called with their shares of the mean besides."""
    return getattr(loss, "compares_pairs", False)


class AUCLoss(BaseEstimator):
    r"""Loss of pairs of a positive and a negative, which stands for one minus the area under a ROC.

    With the loss :math:`\ell` of a difference of scores, and negatives [j] in descending order,
    it is ([1]_, (81) and (83))

    .. math::

        \frac{1}{n_+ (n_-^\beta - n_-^\alpha)} \sum_{i=1}^{n_+} \sum_{j=n_-^\alpha + 1}^{n_-^\beta}
        \ell(s_i^+ - s_{[j]}^-), \qquad n_-^\alpha = \alpha n_-, \; n_-^\beta = \beta n_-,

    the mean over positives and those negatives whose rank among the negatives, which is a false
    positive rate, lies in an interval. As :math:`\ell` falls, the sums over the first
    :math:`n_-^\beta` and over the first :math:`n_-^\alpha` are convex in the scores, and the loss
    is their difference; :class:`skfair.solvers.IDCA` makes a line of the second one. Both take
    :math:`O(n \log n)`, by sorting, but for the logistic loss.

    It orders people and knows no cut-off: adding to all scores changes nothing. So it can be
    minimised under criteria on ranks, but not under those on decisions. Where the best negatives
    of an interval score above the average positive, whatever the model, equal scores are the least.

    Parameters
    ----------
    interval : pair of floats, default=(0.0, 1.0)
        False positive rates :math:`(\alpha, \beta)` between which the area is taken; (0.0, 0.1) is
        about the best tenth of the negatives.
    loss : {"squared_hinge", "hinge", "squared", "logistic"}, default="squared_hinge"
        :math:`\ell(d) = \tfrac12 \max(0, 1 - d)^2`; :math:`\max(0, 1 - d)` with its kink rounded
        as by :class:`HingeLoss`; :math:`\tfrac12 (1 - d)^2`, which rises beyond 1 and is therefore
        refused on a part of the false positive rates, where it is not a difference of convex
        functions unless scores are bounded; or :math:`\log(1 + e^{-d})`, whose time grows with
        the number of pairs.
    taper : float in [0, 1], default=0.1
        Length over which negatives cease to count at the ends of the interval, relative to it, so
        that two who change places there change the loss by little. 0 is (83) as printed, which has
        kinks there.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026, Example D.2.

    Examples
    --------
    One of the two pairs is right by more than 1, the other wrong by 1:

    >>> import numpy as np
    >>> from skfair.losses import AUCLoss
    >>> scores, target, share = np.array([0.0, 1.0, -2.0]), np.array([1, -1, -1]), np.ones(3) / 3
    >>> round(float(share @ AUCLoss()(scores, target, share).value), 6)
    1.0

    The best half of the negatives is wrong:

    >>> worst = AUCLoss((0.0, 0.5), taper=0.0)
    >>> round(float(share @ worst(scores, target, share).value), 6)
    2.0
    """

    compares_pairs = True

    _parameter_constraints = {
        "interval": ["array-like"],
        "loss": [StrOptions({*_HINGES, *_OTHERS})],
        "taper": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(self, interval=(0.0, 1.0), loss="squared_hinge", taper=0.1):
        self.interval = interval
        self.loss = loss
        self.taper = taper

    def __call__(self, scores, target, share):
        r"""Evaluate at the scores.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,)
            Scores.
        target : ndarray of shape (n_samples,)
            Classes -1 and +1.
        share : ndarray of shape (n_samples,)
            Share of each sample in the mean.

        Returns
        -------
        pointwise : Pointwise
            A loss for each sample, of which the loss of pairs is the mean, as its derivatives are
            of theirs: negatives are charged for their pairs. Curvatures are of single scores; by
            :math:`(a - b)^2 \le 2 a^2 + 2 b^2` they lie above those of differences, and are never
            negative.

        Raises
        ------
        ValueError
            If a parameter is out of range.
        """
        convex, concave = self.parts(scores, target, share)
        value, slope, curvature = (up - down for up, down in zip(convex, concave, strict=True))
        return Pointwise(value, slope, np.maximum(0.0, curvature))

    def parts(self, scores, target, share):
        """The two functions whose difference the loss is, convex in the scores.

        Parameters
        ----------
        scores, target, share : ndarray of shape (n_samples,)
            As in `__call__`.

        Returns
        -------
        convex, concave : Pointwise
            Of the negatives up to the end of the interval, and up to its beginning.
        """
        begin, end = self._checked()
        sides, width = _Sides(scores, target, share), end - begin
        length = self.taper * width
        return tuple(sides.up_to(rank, length, self.loss, width) for rank in (end, begin))

    def majorant(self, scores, target, share):
        """A convex loss that is nowhere less, and equal at the given scores.

        Parameters
        ----------
        scores, target, share : ndarray of shape (n_samples,)
            As in `__call__`.

        Returns
        -------
        loss : callable
            Like this one.
        """
        _, concave = self.parts(scores, target, share)
        return _Majorant(self, scores, concave)

    def _checked(self):
        """Both ends of the interval."""
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
                "loss='squared' rises for pairs that are right by more than 1, so that on an "
                f"interval it is no difference of convex functions; got interval={self.interval!r}."
                " Use loss='squared_hinge', or interval=(0.0, 1.0)."
            )
        return interval.tolist()


class _Majorant:
    """An `AUCLoss` whose concave part is replaced by its tangent."""

    compares_pairs = True

    def __init__(self, loss, scores, concave):
        self.loss = loss
        self.scores = scores
        self.concave = concave

    def __call__(self, scores, target, share):
        convex, _ = self.loss.parts(scores, target, share)
        value, slope, _ = self.concave
        line = value + slope * (scores - self.scores)
        return Pointwise(convex.value - line, convex.slope - slope, convex.curvature)


class _Sides:
    """Positives by ascending and negatives by descending score."""

    def __init__(self, scores, target, share):
        positive = np.flatnonzero((target > 0) & (share > 0))
        negative = np.flatnonzero((target <= 0) & (share > 0))
        self.n_samples = len(scores)
        self.won = positive[np.argsort(scores[positive], kind="stable")]
        self.lost = negative[np.argsort(-scores[negative], kind="stable")]
        self.won_scores, self.lost_scores = scores[self.won], scores[self.lost]
        self.weights = share[self.won].sum(), share[self.lost].sum()
        self.won_shares, self.lost_shares = (
            share[own] / max(weight, np.finfo(float).tiny)
            for own, weight in zip((self.won, self.lost), self.weights, strict=True)
        )

    def up_to(self, rank, length, loss, width):
        """The loss of all positives and the first negatives over a width, as `Pointwise`."""
        found, length = np.zeros((3, self.n_samples)), taper_length(rank, length)
        if not (len(self.won) and len(self.lost)):  # as a mini-batch may be
            return Pointwise(*found)
        counts = self._evenly(top_shares(self.lost_shares, rank, length)) / width
        of_won, of_lost = self.weights
        charge, pull = self._of_pairs(loss, counts)
        found[1:, self.won] = pull / of_won
        found[:, self.lost] = charge * counts / self.lost_shares / of_lost
        tapering, spread = self._taper(rank, length)
        if spread > 0.0:
            bend = 2.0 * charge[1, tapering] / (width * spread * of_lost)
            found[2, self.lost[tapering]] += bend
        return Pointwise(*found)

    def _of_pairs(self, loss, counts):
        """Sums over pairs.

        Returns
        -------
        charge : ndarray of shape (3, n_negatives)
            Mean over the positives of loss, slope by the negative's score and twice the curvature.
        pull : ndarray of shape (2, n_positives)
            Sums over the negatives, with these counts, of slope and twice the curvature.
        """
        if loss == "squared":
            return self._squared(counts)
        if loss == "logistic":
            return self._logistic(counts)
        won = SortedScores(self.won_scores, self.won_shares)
        lost = SortedScores(-self.lost_scores, counts)
        charge, pull = np.zeros((3, len(self.lost))), np.zeros((2, len(self.won)))
        for factor, margin in _HINGES[loss]:
            near, excess, square = won.sums_below(self.lost_scores + margin)
            charge += factor * np.array([square, excess, 2.0 * near])
            near, excess, _ = lost.sums_below(margin - self.won_scores)
            pull += factor * np.array([-excess, 2.0 * near])
        return charge, pull

    def _squared(self, counts):
        """Sums of (1 - d)^2 / 2, by the mean and the variance of the positives."""
        mean = self.won_shares @ self.won_scores
        variance = self.won_shares @ (self.won_scores - mean) ** 2
        short = 1.0 - mean + self.lost_scores
        charge = np.array([(short**2 + variance) / 2.0, short, np.full(len(short), 2.0)])
        total = counts.sum()
        slopes = -total * (1.0 - self.won_scores) - counts @ self.lost_scores
        return charge, np.array([slopes, np.full(len(slopes), 2.0 * total)])

    def _logistic(self, counts):
        """Sums of log(1 + exp(-d)), over some of the negatives with all positives at a time."""
        charge, pull = np.zeros((3, len(self.lost))), np.zeros((2, len(self.won)))
        length = max(1, _PAIRS // len(self.won))
        for start in range(0, np.count_nonzero(counts), length):
            # Only the first negatives count.
            some = slice(start, start + length)
            differences = self.won_scores[:, np.newaxis] - self.lost_scores[some]
            wrong = expit(-differences)
            bend = 2.0 * wrong * (1.0 - wrong)
            terms = np.logaddexp(0.0, -differences), wrong, bend
            charge[:, some] = [self.won_shares @ term for term in terms]
            pull += [-wrong @ counts[some], bend @ counts[some]]
        return charge, pull

    def _evenly(self, counts):
        """Counts of which those with the same score have the same part of their shares."""
        _, ties = np.unique(self.lost_scores, return_inverse=True)
        of_tie, shares = np.bincount(ties, counts), np.bincount(ties, self.lost_shares)
        return self.lost_shares * (of_tie / shares)[ties]

    def _taper(self, rank, length):
        """Negatives who cease to count around a rank, and over how many units of score they do.

        There the loss bends as people overtake each other: were scores spread evenly, as fast as
        they cease to count.
        """
        ranks = np.cumsum(self.lost_shares) - self.lost_shares / 2.0
        ends = np.searchsorted(ranks, [rank - length / 2.0, rank + length / 2.0])
        tapering = slice(*ends)
        return tapering, float(np.ptp(self.lost_scores[tapering])) if np.ptp(ends) else 0.0
