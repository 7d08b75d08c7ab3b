"""Aggregate the rates of the groups into one number: the gap between them."""

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skfair.utils._messages import join_names, spelling_hint, warn

_AGGREGATES = {
    "groups": ("max", "sum"),
    "overall": ("max", "mean", "signed_mean"),
}
"""Aggregates that go with each reference, as in `skfair.constraints.Constraint`."""


def gap(cells, reference="groups", aggregate="max"):
    """Gap within cells, each a pair of the groups' rates (nan: unknown) and the overall rate.

    It is nan if a cell has fewer than two known rates, or with ``reference="overall"`` none.
    """
    if reference not in _AGGREGATES:
        raise ValueError(
            f"reference must be one of {list(_AGGREGATES)}; got {reference!r}."
            + spelling_hint(reference, _AGGREGATES)
        )
    if aggregate not in _AGGREGATES[reference]:
        raise ValueError(
            f"With reference={reference!r}, aggregate must be one of "
            f"{list(_AGGREGATES[reference])}; got {aggregate!r}."
            + spelling_hint(aggregate, _AGGREGATES[reference])
        )
    # Differences within each cell, or excesses over the overall rate in all cells.
    if reference == "groups":
        ranges = [_range(rates) for rates, _ in cells]
        return float(np.sum(ranges) if aggregate == "sum" else np.max(ranges))
    excesses = np.concatenate([rates[~np.isnan(rates)] - overall for rates, overall in cells])
    # No group has a known rate.
    if not len(excesses):
        return float("nan")
    if aggregate == "max":
        return float(excesses.max(initial=0.0))
    return float(np.mean(excesses if aggregate == "signed_mean" else np.maximum(0.0, excesses)))


def _range(rates):
    """Largest minus smallest known rate: 0 for one group, nan if fewer than two are known."""
    known = rates[~np.isnan(rates)]
    if len(rates) == 1:
        return 0.0
    return np.ptp(known) if len(known) > 1 else np.nan


def ratio(rates):
    """Smallest over largest known rate: 1 for one group and where all are 0, else nan for fewer."""
    if len(rates) == 1:
        return 1.0
    known = rates[~np.isnan(rates)]
    if len(known) < 2:
        return np.nan
    return float(known.min() / known.max()) if known.max() > 0 else 1.0


def warn_of_unknown(known, names, message, advice=""):
    """Warn "{message}: {names}" of the groups that are not in the mask of known rates."""
    if known.all():
        return
    unknown = join_names(repr(names[group]) for group in np.flatnonzero(~known))
    consequence = (
        "The others are compared." if known.sum() > 1 else "Fewer than two groups remain: nan."
    )
    warn(f"{message}: {unknown}. {consequence}{advice}", UndefinedMetricWarning)
