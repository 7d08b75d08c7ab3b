"""Calibration of probabilities: expected calibration error, and reliability tables by group."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from skfair._groups.events import Events
from skfair._groups.samples import check_metric_input, to_pandas_index
from skfair._statistics.estimates import Rates, check_level
from skfair._utils.api import Label, MatrixLike
from skfair._utils.checks import argument_error, check_choice, check_column
from skfair._utils.parameters import CONFIDENCE_LEVEL
from skfair._utils.sklearn import check_sample_weight
from skfair.metrics._docstrings import classification_docs
from skfair.metrics._rates import find_positive

if TYPE_CHECKING:
    from skfair._groups.groups import Groups
    from skfair._utils.tables import Table, TableLike


def expected_calibration_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
) -> float:
    r"""Mean distance of observed and predicted frequency over bins of the probabilities.

    .. math:: \sum_b \frac{W_b}{W} \lvert \bar y_b - \bar p_b \rvert

    with :math:`W_b` the weight, :math:`\bar y_b` the share of positives, and :math:`\bar p_b` the
    mean probability of the samples in bin b [1]_. It is above 0 for a calibrated model too, by
    about the sampling noise of the shares: compare groups of equal size, or look at
    :func:`reliability_table`. As a metric of groups its lower limit allows for this noise: it is 0
    for calibrated probabilities as often as stated.

    Read more in the :ref:`guide <audit_calibration>`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 or True for samples of the positive class, else 0.
    y_proba : array-like of shape (n_samples,)
        Probability of the positive class.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width in [0, 1], or of equal weight.

    Returns
    -------
    error : float
        In [0, 1], 0 is best.

    Raises
    ------
    ValueError
        If probabilities are outside [0, 1], ``y_true`` holds other numbers than 0 and 1, lengths
        differ, or the bins are not a positive number of a known strategy.

    See Also
    --------
    reliability_table : The terms of the sum by group, with intervals.

    References
    ----------
    .. [1] M. P. Naeini, G. F. Cooper and M. Hauskrecht, "Obtaining well calibrated probabilities
       using Bayesian binning", AAAI 2015.

    Examples
    --------
    >>> from skfair.metrics import expected_calibration_error
    >>> round(expected_calibration_error([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9]), 3)
    0.2
    """
    is_true, probabilities = check_probabilities(y_true, y_proba)
    weights = check_sample_weight(sample_weight, is_true, dtype=float)
    edges = make_bin_edges(probabilities, weights, n_bins, strategy)
    codes = np.searchsorted(edges[1:-1], probabilities)
    gaps = np.bincount(codes, weights * (is_true - probabilities), len(edges) - 1)
    return float(np.abs(gaps).sum() / weights.sum())


def check_probabilities(y_true: TableLike, y_proba: TableLike) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes as 0.0 and 1.0, and probabilities in [0, 1]."""
    check_column("y_true", y_true)
    check_column("y_proba", y_proba)
    is_true, probabilities = (
        column_or_1d(check_array(column, ensure_2d=False, dtype=float, input_name=name))
        for name, column in (("y_true", y_true), ("y_proba", y_proba))
    )
    check_consistent_length(is_true, probabilities)
    if not np.isin(is_true, (0.0, 1.0)).all():
        raise argument_error(
            "y_true must hold 0 and 1, or booleans, of the positive class; got "
            f"{is_true[~np.isin(is_true, (0.0, 1.0))][0]:g}. Pass y_true == label."
        )
    return is_true, check_unit_range(probabilities)


def check_unit_range(probabilities: np.ndarray, name: str = "y_proba") -> np.ndarray:
    """Probabilities, clipped to [0, 1]; a ValueError if one is outside by more than rounding."""
    clipped = np.clip(probabilities, 0.0, 1.0)
    # Largest excess over [0, 1] that the rounding of single precision explains.
    is_wrong = ~(np.abs(probabilities - clipped) <= 1e-6)
    if is_wrong.any():
        wrong = float(probabilities[is_wrong][0])
        advice = "pass scores on another scale as y_score"
        if name != "y_proba":
            advice = "calibrate scores on another scale first"
        raise ValueError(
            f"{name} must be probabilities in [0, 1], but {wrong!r} was passed; {advice}."
        )
    return clipped


_STRATEGIES = ("uniform", "quantile")


def make_bin_edges(
    probabilities: np.ndarray, weights: np.ndarray, n_bins: int, strategy: str
) -> np.ndarray:
    """Ascending ends of the bins; equal quantiles make one bin."""
    check_choice("strategy", strategy, _STRATEGIES)
    if not isinstance(n_bins, Integral) or isinstance(n_bins, bool) or n_bins < 1:
        raise argument_error(f"n_bins must be a positive whole number, such as 10; got {n_bins!r}.")
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "uniform":
        return edges
    # Inverse of the cumulative distribution. A sum of weights that reaches a level up to rounding
    # counts as reaching it, so that no unit of the weights moves an edge.
    values, codes = np.unique(probabilities, return_inverse=True)
    reached = np.cumsum(np.bincount(codes, weights))
    places = np.searchsorted(reached, edges[1:-1] * (1.0 - 1e-12) * reached[-1])
    return np.concatenate(([0.0], np.unique(values[places]), [1.0]))


@classification_docs
def reliability_table(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sensitive_features: MatrixLike,
    n_bins: int = 10,
    strategy: Literal["uniform", "quantile"] = "uniform",
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> pd.DataFrame:
    """Predicted and observed frequency of the positive class by group and bin of probabilities.

    ``table.attrs["confidence_level"]`` is the level of the intervals.

    Read more in the :ref:`guide <audit_calibration>`.

    Parameters
    ----------
    {y_true}
    y_proba : array-like of shape (n_samples,)
        Probability of the positive class.
    {sensitive_features}
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width in [0, 1], or of equal weight among all samples. Groups have the same
        bins.
    {sample_weight, pos_label}
    confidence_level : float, default=0.95
        Probability with which each interval contains the frequency of the population.

    Returns
    -------
    table : pandas.DataFrame
        One row for each group and bin (level ``bin`` of the index) that holds samples of it, and
        bins of all samples under "overall". Columns are the ends ``bin_low`` and ``bin_high``, of
        which the upper one belongs to the bin, the number ``n`` of samples, ``mean_probability``,
        the ``estimate``, the observed share of positives, the ends of its interval, ``low`` and
        ``high``, as in :func:`group_report`, and ``band_low`` and ``band_high``, ends that hold
        with the same level for all bins of the group together (Bonferroni).

    Raises
    ------
    {ValueError}
        Also if probabilities are outside [0, 1], or the bins or the level are invalid.

    See Also
    --------
    expected_calibration_error : The mean distance of both frequencies.
    skfair.plotting.GroupCalibrationDisplay : Draws the table.

    Examples
    --------
    >>> from skfair.metrics import reliability_table
    >>> y_true = [0, 1, 1, 1, 0, 0, 1, 0]
    >>> y_proba = [0.2, 0.2, 0.9, 0.9, 0.2, 0.2, 0.9, 0.9]
    >>> table = reliability_table(y_true, y_proba, sensitive_features=[*"aaaabbbb"], n_bins=2)
    >>> table.loc[["a", "b"], ["n", "mean_probability", "estimate"]]
             n  mean_probability  estimate
      bin
    a 0    2.0               0.2       0.5
      1    2.0               0.9       1.0
    b 0    2.0               0.2       0.0
      1    2.0               0.9       0.5
    """
    level = (1.0 + check_level(confidence_level)) / 2.0
    samples, (truth, probabilities) = check_metric_input(
        sensitive_features, sample_weight, y_true=y_true, y_proba=y_proba
    )
    is_true = truth == find_positive(truth, pos_label=pos_label)
    probabilities = check_unit_range(probabilities.astype(float))
    edges = make_bin_edges(probabilities, samples.weights, n_bins, strategy)
    table = bin_frequencies(samples.groups, samples.weights, is_true, probabilities, edges, level)
    # One row per group and bin, named as the columns of attributes are.
    labels = samples.groups.labels
    last = ["overall"] + [""] * (labels.shape[1] - 1)
    codes = table.pop("group")
    bins = table.pop("bin")
    table.index = to_pandas_index(np.vstack((labels, last))[codes], sensitive_features)
    table = table.set_index(pd.Index(bins, name="bin"), append=True)
    table.attrs["confidence_level"] = confidence_level
    return table


def bin_frequencies(
    groups: Groups,
    weights: np.ndarray,
    is_true: Table,
    probabilities: np.ndarray,
    edges: np.ndarray,
    level: float,
) -> pd.DataFrame:
    """Table of predicted and observed frequencies by code of the group and bin.

    All samples come last, as one more group.
    """
    bins = np.searchsorted(edges[1:-1], probabilities)
    rows, codes = groups.memberships
    n_samples = len(weights)
    n_groups = len(groups.labels)
    n_bins = len(edges) - 1
    rows = np.concatenate((rows, np.arange(n_samples)))
    codes = np.concatenate((codes, np.full(n_samples, n_groups)))
    cell_of_row = codes * n_bins + bins[rows]
    is_present = np.bincount(cell_of_row) > 0
    cells = np.flatnonzero(is_present)
    places = np.cumsum(is_present)[cell_of_row] - 1
    events = Events.disjoint(places, len(cells), weights[rows])
    events = events.copy_with_multiplicity(groups.row_counts[rows])
    rates = Rates(events, is_true[rows].astype(float))
    low, high = rates.limits(level)
    group, bin_ = np.divmod(cells, n_bins)
    # Of the bins of a group each has an equal part of the error.
    n_in_group = np.bincount(group)[group]
    band_low, band_high = rates.limits(1.0 - (1.0 - level) / n_in_group)
    return pd.DataFrame(
        {
            "group": group,
            "bin": bin_,
            "bin_low": edges[bin_],
            "bin_high": edges[bin_ + 1],
            "n": rates.counts.astype(float),
            "mean_probability": events.means(probabilities[rows]),
            "estimate": rates.values,
            "low": low,
            "high": high,
            "band_low": band_low,
            "band_high": band_high,
        }
    )
