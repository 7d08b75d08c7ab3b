"""Suggestion of an interval of percentiles."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from skfair.groups import check_columns
from skfair.metrics import partial_statistical_parity_difference
from skfair.utils._types import MatrixLike

_ROUNDING = 1e-9
"""Difference between multiples of the step and p that is rounding: 3 * 0.1 is not above 0.3."""


def suggest_interval(
    y_score: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    width: float = 0.25,
    step: float = 0.05,
    threshold: float = 0.0,
    positive_rate: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> Bunch:
    r"""Suggest an interval of percentiles: that around the decision where groups differ most.

    The most contested decisions are those about samples ranked near the share p of positive
    decisions. Among the intervals of a given width that cover p, this takes the one on which the
    scores of a classifier, trained without a fairness constraint, have the largest partial
    difference in statistical parity (Appendix B of [1]_). The difference is relative to whole
    groups (``scale="raw"``): relative to the interval it is often 1 for several candidates, whose
    groups do not overlap at all. Of equal candidates, it takes the one whose middle is closest
    to p.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Scores of a classifier trained without a constraint; the higher, the more positive.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in `skfair.metrics.partial_statistical_parity_difference`.
    width : float, default=0.25
        Width of the interval, in (0, 1]. Differences on intervals of different widths are not
        comparable: the narrower, the noisier.
    step : float, default=0.05
        Candidates begin at multiples of it, in (0, width]; another one ends at 1.
    threshold : float, default=0.0
        Decision threshold; 0.5 for probabilities.
    positive_rate : float, default=None
        The share p of positive decisions, in [0, 1], such as a past admission rate. None counts
        the scores above the threshold.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.

    Returns
    -------
    suggestion : Bunch
        With the attributes ``interval``, a pair of floats, the candidate with the largest
        difference between groups; ``positive_rate``, the share p that every candidate covers; and
        ``candidates``, a DataFrame with one row per candidate: ``alpha`` and ``beta``; the
        ``difference`` of partial statistical parity, relative to whole groups; and its ``noise``,
        the standard deviation that it has at one threshold between groups of the same distribution,
        for the two smallest groups and the threshold where it is largest. A difference below about
        twice the noise shows nothing.

    Raises
    ------
    ValueError
        If width, step or positive_rate is out of its range, or for the reasons of
        `skfair.metrics.partial_statistical_parity_difference`.

    See Also
    --------
    PartialParityPostprocessor : Makes scores fair on the interval.

    Notes
    -----
    An interval chosen as the most unfair of several looks more unfair than it is; a difference on
    data that did not choose it has no such bias.

    References
    ----------
    .. [1] Y. He, Y. Huang, Y. Yao and Q. Lin, "Enforcing fair predicted scores on intervals of
       percentiles by difference-of-convex constraints", arXiv:2505.12530, 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import suggest_interval
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(["a", "b"], 500)
    >>> score = rng.normal(size=1000) - 1.0 + (group == "b")
    >>> suggestion = suggest_interval(score, sensitive_features=group, positive_rate=0.3)
    >>> suggestion.interval
    (0.15, 0.4)
    >>> suggestion.candidates.columns.tolist()
    ['alpha', 'beta', 'difference', 'noise']
    """
    if not (0 < step <= width <= 1):
        raise ValueError(f"0 < step <= width <= 1 must hold; got step={step!r}, width={width!r}.")
    samples, (scores,) = check_columns(sensitive_features, sample_weight, y_score=y_score)
    if positive_rate is None:
        positive_rate = float(samples.weights @ (scores > threshold) / samples.weights.sum())
    if not 0 <= positive_rate <= 1:
        raise ValueError(
            f"positive_rate is a share of all samples, in [0, 1]; got {positive_rate!r}."
        )
    # Candidates: intervals of the width, on a grid of the step, that contain the positive rate.
    alpha = _candidate_starts(positive_rate, width, step)
    beta = np.minimum(1.0, np.round(alpha + width, 9))
    # Raw differences: all intervals are of one width, so that no normalisation is needed.
    difference = [
        partial_statistical_parity_difference(
            y_score,
            sensitive_features=sensitive_features,
            interval=interval,
            scale="raw",
            sample_weight=sample_weight,
        )
        for interval in zip(alpha, beta, strict=True)
    ]
    # The most unfair one; of equals, the one whose centre is nearest to the positive rate.
    distance = np.abs((alpha + beta) / 2 - positive_rate)
    best = np.lexsort((distance, -np.array(difference)))[0]
    return Bunch(
        interval=(float(alpha[best]), float(beta[best])),
        positive_rate=positive_rate,
        candidates=_make_table(alpha, beta, difference, samples),
    )


def _candidate_starts(positive_rate, width, step):
    """Starts of the intervals of a width that cover the positive rate."""
    lowest = max(0.0, positive_rate - width)
    highest = min(positive_rate, 1.0 - width)
    multiples = step * np.arange(
        np.ceil((lowest - _ROUNDING) / step), highest / step + _ROUNDING + 1
    )
    starts = multiples[multiples <= highest + _ROUNDING]
    # The last interval ends at 1, wherever the grid ends.
    if positive_rate >= 1.0 - width:
        starts = np.append(starts, 1.0 - width)
    return np.unique(np.round(starts, 9))


def _make_table(alpha, beta, difference, samples):
    """Table of the candidates and of the noise of their differences."""
    import pandas as pd

    # The sum of squared shares of a group is one over its effective number of samples.
    rows, codes = samples.groups.memberships
    weights = samples.weights[rows]
    squares = np.bincount(codes, weights**2) / np.bincount(codes, weights) ** 2
    variances = np.sort(squares)[-2:].sum() if len(squares) > 1 else 0.0
    rate = np.clip(0.5, alpha, beta)  # where the variance of a share is largest
    noise = np.sqrt(rate * (1 - rate) * variances)
    columns = {"alpha": alpha, "beta": beta, "difference": difference, "noise": noise}
    return pd.DataFrame(columns)
