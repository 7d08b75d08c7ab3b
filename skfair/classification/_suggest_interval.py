"""An interval of percentiles for people who have none in mind."""

from typing import NamedTuple

import numpy as np

from skfair.groups import check_columns
from skfair.metrics import partial_statistical_parity_difference

_GUARD = 1e-9
"""How far multiples of the step may miss p by rounding: 3 * 0.1 must not be above 0.3."""


class IntervalSuggestion(NamedTuple):
    """The interval that `suggest_interval` chose, and those among which it chose.

    Attributes
    ----------
    interval : pair of floats
        The candidate with the largest difference between groups.
    positive_rate : float
        Share of positive decisions, which every candidate covers.
    candidates : DataFrame
        One row per candidate: ``alpha`` and ``beta``; the ``difference`` of partial statistical
        parity, relative to whole groups; and its ``noise``, the standard deviation that it has at
        one threshold between groups of the same distribution, for the two smallest groups and the
        threshold where it is largest. A difference below about twice the noise shows nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skfair.classification import suggest_interval
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat(["a", "b"], 500)
    >>> score = rng.normal(size=1000) - 1.0 + (group == "b")
    >>> suggestion = suggest_interval(score, sensitive_features=group)
    >>> suggestion.candidates.columns.tolist()
    ['alpha', 'beta', 'difference', 'noise']
    """

    interval: tuple
    positive_rate: float
    candidates: object


def suggest_interval(
    y_score,
    *,
    sensitive_features,
    width=0.25,
    step=0.05,
    threshold=0.0,
    positive_rate=None,
    sample_weight=None,
):
    r"""Suggest an interval of percentiles: that around the decision where groups differ most.

    Those whose fate is most contested are ranked around the share p of positive decisions. Among
    the intervals of a given width that cover p, this takes the one on which the scores of a
    classifier, trained without a fairness constraint, have the largest partial difference in
    statistical parity (Appendix B of [1]_). The difference is relative to whole groups
    (``scale="raw"``): relative to the interval it is often 1 for several candidates, whose groups
    do not overlap at all. Of equal candidates, it takes the one in whose middle p lies most nearly.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Scores of a classifier trained without a constraint; the higher, the more positive.
    sensitive_features : array-like or sparse matrix
        Group of each sample, as in `skfair.metrics.partial_statistical_parity_difference`.
    width : float, default=0.25
        Width of the interval, in (0, 1]. Differences on intervals of other widths do not compare:
        the narrower, the noisier.
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
    suggestion : IntervalSuggestion
        The interval, p, and a table of all candidates.

    Raises
    ------
    ValueError
        If width, step or positive_rate is out of its range, or for what
        `skfair.metrics.partial_statistical_parity_difference` refuses.

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
    >>> suggest_interval(score, sensitive_features=group, positive_rate=0.3).interval
    (0.15, 0.4)
    """
    if not (0 < step <= width <= 1):
        raise ValueError(f"0 < step <= width <= 1 must hold; got step={step!r}, width={width!r}.")
    people, (scores,) = check_columns(sensitive_features, sample_weight, y_score=y_score)
    if positive_rate is None:
        positive_rate = float(people.weights @ (scores > threshold) / people.weights.sum())
    if not 0 <= positive_rate <= 1:
        raise ValueError(
            f"positive_rate is a share of all samples, in [0, 1]; got {positive_rate!r}."
        )
    alpha = _candidates(positive_rate, width, step)
    beta = np.minimum(1.0, np.round(alpha + width, 9))
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
    off_middle = np.abs((alpha + beta) / 2 - positive_rate)
    chosen = np.lexsort((off_middle, -np.array(difference)))[0]
    return IntervalSuggestion(
        (float(alpha[chosen]), float(beta[chosen])),
        positive_rate,
        _table(alpha, beta, difference, people),
    )


def _candidates(positive_rate, width, step):
    """Where intervals of a width that cover the positive rate begin."""
    lowest = max(0.0, positive_rate - width)
    highest = min(positive_rate, 1.0 - width)
    multiples = step * np.arange(np.ceil((lowest - _GUARD) / step), highest / step + _GUARD + 1)
    begins = multiples[multiples <= highest + _GUARD]
    if positive_rate >= 1.0 - width:
        begins = np.append(begins, 1.0 - width)
    return np.unique(np.round(begins, 9))


def _table(alpha, beta, difference, people):
    import pandas as pd

    # The sum of squared shares of a group is one over its effective number of samples.
    rows, codes = people.groups.memberships
    weights = people.weights[rows]
    squares = np.bincount(codes, weights**2) / np.bincount(codes, weights) ** 2
    variances = np.sort(squares)[-2:].sum() if len(squares) > 1 else 0.0
    rate = np.clip(0.5, alpha, beta)  # where a share varies most
    noise = np.sqrt(rate * (1 - rate) * variances)
    columns = {"alpha": alpha, "beta": beta, "difference": difference, "noise": noise}
    return pd.DataFrame(columns)
