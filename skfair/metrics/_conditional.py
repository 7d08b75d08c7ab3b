"""Rates compared among people who are alike in something legitimate."""

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair.groups import check_columns, check_groups, merge_duplicate_rows
from skfair.metrics._gaps import gap
from skfair.metrics._rates import find_positive
from skfair.utils._messages import join_names, warn


def conditional_demographic_parity_difference(
    y_true,
    y_pred,
    *,
    sensitive_features,
    strata,
    reference="groups",
    aggregate="max",
    sample_weight=None,
    pos_label=None,
):
    r"""Largest difference of the groups' selection rates among people of one stratum.

    .. math::

        \max_l \bigl( \max_g s_{g l} - \min_g s_{g l} \bigr), \quad
        s_{g l} = \Pr(\hat{y} = 1 \mid g, l)

    Strata are levels of something that may explain a difference, such as education or a band of
    income: groups are compared within each of them ([1]_, "conditional statistical parity").

    Parameters
    ----------
    y_true, y_pred, sensitive_features
        As in :func:`demographic_parity_difference`.
    strata : array-like of shape (n_samples,)
        Stratum of each sample. Those in which only one group occurs have nothing to compare.
    reference, aggregate
        As in :func:`demographic_parity_difference`; "sum" adds up over the strata.
    sample_weight, pos_label
        As in :func:`demographic_parity_difference`.

    Returns
    -------
    difference : float
        In [0, 1], 0 is fair; 0 with a single group, and where no stratum has two groups.

    Raises
    ------
    ValueError
        As in :func:`demographic_parity_difference`.

    References
    ----------
    .. [1] S. Corbett-Davies, E. Pierson, A. Feller, S. Goel and A. Huq, "Algorithmic decision
       making and the cost of fairness", KDD 2017.

    Examples
    --------
    >>> from skfair.metrics import conditional_demographic_parity_difference
    >>> y_true = [1, 1, 0, 0, 1, 1, 0, 0]
    >>> y_pred = [1, 1, 1, 0, 1, 1, 0, 0]
    >>> group = ["a", "a", "a", "b", "a", "b", "b", "b"]
    >>> level = ["high", "high", "high", "high", "low", "low", "low", "low"]
    >>> conditional_demographic_parity_difference(
    ...     y_true, y_pred, sensitive_features=group, strata=level
    ... )  # high: 3/3 - 0/1, low: 1/1 - 1/3
    1.0
    """
    groups, weights, columns = merge_duplicate_rows(
        sensitive_features, sample_weight, y_true=y_true, y_pred=y_pred, strata=strata
    )
    people, (truth, predicted, levels) = check_columns(groups, weights, **columns)
    selected = predicted == find_positive(truth, predicted, pos_label=pos_label)
    cells = _selection_rates(people, selected, check_groups(levels, len(levels)))
    if reference == "groups":
        cells = [cell for cell in cells if (~np.isnan(cell[0])).sum() > 1]
    return gap(cells, reference, aggregate) if cells else 0.0


def _selection_rates(people, selected, strata):
    """Selection rates of the groups, and of everybody, in each stratum."""
    rows, codes = people.groups.memberships
    shape = len(strata.labels), len(people.groups.labels)
    cells = strata.codes[rows] * shape[1] + codes
    weights = people.weights[rows]
    totals = np.bincount(cells, weights, np.prod(shape)).reshape(shape)
    hits = np.bincount(cells, weights * selected[rows], np.prod(shape)).reshape(shape)
    rates = np.divide(hits, totals, out=np.full(shape, np.nan), where=totals > 0)
    everybody = np.bincount(strata.codes, people.weights)
    overall = np.bincount(strata.codes, people.weights * selected) / everybody
    empty = [(strata.names[s], people.groups.names[g]) for s, g in np.argwhere(totals == 0)]
    if empty and len(people.groups.names) > 1:
        named = join_names(f"{group!r} in {stratum!r}" for stratum, group in empty)
        warn(
            f"{len(empty)} of {totals.size} groups within strata have nobody: {named}. The others "
            "are compared.",
            UndefinedMetricWarning,
        )
    return list(zip(rates, overall, strict=True))
