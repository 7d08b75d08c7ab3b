"""One number from the rates of the groups: how far they lie apart."""

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair.utils._messages import join_names, spelling_hint, warn

_KINDS = {
    "groups": ("max", "sum"),
    "overall": ("max", "mean", "signed_mean"),
}
"""Aggregates that go with each reference, as in `skfair.constraints.Constraint`."""


def gap(cells, reference="groups", aggregate="max"):
    """How far rates lie apart, within cells of people who are compared with one another.

    Parameters
    ----------
    cells : list of (ndarray of shape (n_groups,), float)
        Rate of each group in the cell, nan where it is unknown, and of everybody in it.
    reference : {"groups", "overall"}, default="groups"
        "groups": the gap of a cell is its largest minus its smallest rate. "overall": it is the
        excess of a group over everybody.
    aggregate : {"max", "sum", "mean", "signed_mean"}, default="max"
        The largest gap of all cells, or their sum; with ``reference="overall"`` the largest excess
        (0 at least), the mean of the positive parts of the excesses, or that of the excesses.

    Returns
    -------
    gap : float
        nan if a cell has fewer than two known rates of groups, or with ``reference="overall"`` if
        none is known.
    """
    if reference not in _KINDS:
        raise ValueError(
            f"reference must be one of {list(_KINDS)}; got {reference!r}."
            + spelling_hint(reference, _KINDS)
        )
    if aggregate not in _KINDS[reference]:
        raise ValueError(
            f"With reference={reference!r}, aggregate must be one of {list(_KINDS[reference])}; "
            f"got {aggregate!r}." + spelling_hint(aggregate, _KINDS[reference])
        )
    if reference == "groups":
        ranges = [_range(rates) for rates, _ in cells]
        return float(np.sum(ranges) if aggregate == "sum" else np.max(ranges))
    excesses = np.concatenate([rates[~np.isnan(rates)] - overall for rates, overall in cells])
    if not len(excesses):
        return float("nan")
    if aggregate == "max":
        return float(excesses.max(initial=0.0))
    return float(np.mean(excesses if aggregate == "signed_mean" else np.maximum(0.0, excesses)))


def _range(rates):
    known = rates[~np.isnan(rates)]
    if len(rates) == 1:
        return 0.0
    return np.ptp(known) if len(known) > 1 else np.nan


def report_unknown(known, names, what, advice=""):
    """Warn of groups that cannot be compared, by name.

    Parameters
    ----------
    known : ndarray of bool, shape (n_groups,)
        Groups that can.
    names : list of length n_groups
        What each group is called.
    what : str
        What they lack, for a message "{what} {their names}".
    advice : str
        What may be done.
    """
    if known.all():
        return
    unknown = join_names(repr(names[group]) for group in np.flatnonzero(~known))
    rest = "The others are compared." if known.sum() > 1 else "That leaves no two to compare."
    warn(f"{what}: {unknown}. {rest}{advice}", UndefinedMetricWarning)
