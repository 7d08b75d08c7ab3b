"""The numbers of a report: every measure of every group, with limits, and the gaps."""

import numpy as np
import pandas as pd
from scipy import sparse

from skfair.groups import Events, Groups
from skfair.inference import (
    AUCs,
    Estimates,
    Interval,
    LogRates,
    Rates,
    all_pairs,
    contrast_interval,
    estimates_of,
)

EVERYBODY = "everybody"
"""What the grouping of all people is called."""

MANY_GROUPS = 1000
"""Groups of one grouping up to which a report is one."""


def groupings(groups):
    """Groups by every single attribute, and by all of them together.

    Parameters
    ----------
    groups : Groups
        The combinations that occur, or overlapping groups.

    Returns
    -------
    found : dict of str to Groups
        What the grouping is called -> the groups.
    """
    if not groups.is_disjoint:
        return {"group": groups}
    names = [_title(name, number) for number, name in enumerate(groups.attributes)]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"Attributes of sensitive_features must differ in name as text, but {len(repeated)} of "
            f"{list(groups.attributes)} are called {repeated[0]!r}; rename the columns."
        )
    found = {}
    for name, column in zip(names, groups.labels.T, strict=True):
        values, codes = np.unique(column, return_inverse=True)
        found[name] = Groups.disjoint(codes[groups.codes], values[:, np.newaxis])
    if len(names) > 1:
        found[shown(tuple(names))] = groups
    for name, one in found.items():
        if len(one.labels) > MANY_GROUPS:
            raise ValueError(
                f"A report shows every group, but by {name} there are {len(one.labels)}, more than "
                f"{MANY_GROUPS}. Leave the column out if it is an id; make bands of numbers, as in "
                "pd.cut(values, 5)."
            )
    return found


def _title(name, number):
    """An attribute as text: columns without names are numbered from 1 on."""
    return f"attribute {number + 1}" if isinstance(name, (int, np.integer)) else name_as_text(name)


def name_as_text(name):
    """A name of an attribute as text, in quotes if all samples together are called so."""
    return repr(name) if name == EVERYBODY else str(name)


def shown(group):
    """A group as text; other groups of the same attributes have other texts.

    Parameters
    ----------
    group : label or tuple of labels
        One label per attribute.

    Returns
    -------
    text : str
        As in "f × old". Of several labels those that hold the sign, or begin like a quotation, are
        in quotes.
    """
    return _SIGN.join(map(_quoted, group)) if isinstance(group, tuple) else str(group)


_SIGN = " × "


def _quoted(label):
    text = str(label)
    return repr(text) if _SIGN.strip() in text or text[:1] in ("'", '"') else text


def estimate(measure, groups, weights):
    """Means of a measure.

    Parameters
    ----------
    measure : tuple of ndarray and (ndarray of bool or None)
        A value of each person, and who counts.
    groups : Groups
        The groups.
    weights : ndarray of shape (n_samples,)
        Sample weights.

    Returns
    -------
    estimates : Rates, Means or None
        Of the groups with a sample that counts; None if there is none.
    present : ndarray of int
        Which groups these are.
    """
    values, inside = measure
    if inside is not None and not inside.any():
        return None, np.empty(0, dtype=np.intp)
    n_groups = len(groups.labels)
    if groups.is_disjoint:
        codes = groups.codes if inside is None else np.where(inside, groups.codes, n_groups)
        present = np.flatnonzero(np.bincount(codes, minlength=n_groups + 1)[:n_groups])
        place = np.full(n_groups + 1, -1)
        place[present] = np.arange(len(present))
        events = Events.disjoint(place[codes], len(present), weights)
    else:
        kept = groups.matrix
        if inside is not None:
            kept = sparse.csr_array(sparse.diags_array(inside.astype(float)) @ kept)
            kept.eliminate_zeros()
        present = np.flatnonzero(np.bincount(kept.indices, minlength=n_groups))
        events = Events.overlapping(kept[:, present], weights)
    return estimates_of(events, values), present


def areas(is_true, scores, groups, weights):
    """Areas under the curves of the groups with both classes, as `estimate` has means."""
    members = groups.members()
    both = [g for g, rows in enumerate(members) if 0 < is_true[rows].sum() < len(rows)]
    if not both:
        return None, np.empty(0, dtype=np.intp)
    return AUCs(is_true, scores, [members[g] for g in both], weights), np.array(both)


class _Unlimited(Estimates):
    """Numbers of which no limits are known."""

    def __init__(self, values, counts):
        self.values, self.sizes, self.counts = values, counts, counts

    def limits(self, level):
        nothing = np.full(len(self.values), np.nan)
        return nothing, nothing


def own_metric(metric, y_true, y_pred, groups, weights):
    """A metric of one's own in every group, as `estimate` has means."""
    members = groups.members()
    columns = (y_pred,) if y_true is None else (y_true, y_pred)
    values = np.array([float(metric(*(c[rows] for c in columns))) for rows in members])
    return _Unlimited(values, groups.counts), np.arange(len(members))


def joint_level(level, n_groups, n_tables):
    """Level of each comparison at which those of any two groups in all tables hold together.

    That of Bonferroni: whichever group the data choose as reference, its comparisons are among
    these.

    Parameters
    ----------
    level : float
        Probability with which all of them hold.
    n_groups : int
        Groups of the table.
    n_tables : int
        Tables, each of a measure and an attribute, that share the error equally.

    Returns
    -------
    level : float
    """
    return 1.0 - (1.0 - level) / (max(1, n_tables) * max(1, n_groups * (n_groups - 1) // 2))


def group_rows(estimates, level, reference, comparison_level):
    """Numbers of groups beside those of a reference.

    Parameters
    ----------
    estimates : Estimates
        Of the groups.
    level : float
        How often each interval holds.
    reference : int or None
        Which of them the others are compared with.
    comparison_level : float
        How often each interval of a difference or ratio holds.

    Returns
    -------
    columns : dict of str to ndarray of shape (n_groups,)
    """
    n = len(estimates.values)
    low, high = estimates.limits((1.0 + level) / 2.0)
    end = (1.0 + comparison_level) / 2.0
    nothing = np.full(n, np.nan)
    columns = {"value": estimates.values, "low": low, "high": high}
    names = ("difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high")
    columns |= {name: nothing for name in names}
    if reference is None or n < 2:
        return columns
    others, against = _against(n, reference)
    found = _differences(estimates, against, end)
    if isinstance(estimates, Rates):
        found += _ratios(estimates, against, end, others, reference)
    for name, values in zip(names, found, strict=False):
        columns[name] = nothing.copy()
        columns[name][others] = values
    return columns


def _against(n, reference):
    """All numbers but one, and the differences to it as rows +1 and -1."""
    others = np.delete(np.arange(n), reference)
    rows = np.repeat(np.arange(n - 1), 2)
    place = np.column_stack((others, np.full(n - 1, reference))).ravel()
    against = sparse.csr_array((np.tile([1.0, -1.0], n - 1), (rows, place)), shape=(n - 1, n))
    return others, against


def impact_ratios(estimates, level, is_small):
    """Ratios of rates to the largest of a group that is not small, with limits.

    Parameters
    ----------
    estimates : Estimates
        Of the groups.
    level : float
        How often each interval of a ratio holds.
    is_small : ndarray of bool, shape (n_groups,)
        Which groups have few samples; if all have, the largest rate of all counts.

    Returns
    -------
    columns : dict of str to ndarray of shape (n_groups,)
        nan where there are no rates, or all are 0; limits also of the group with the largest rate.
    """
    n, names = len(estimates.values), ("impact_ratio", "impact_ratio_low", "impact_ratio_high")
    columns = {name: np.full(n, np.nan) for name in names}
    if not isinstance(estimates, Rates):
        return columns
    eligible = np.where(is_small & ~is_small.all(), -np.inf, estimates.values)
    best = eligible.argmax()
    columns["impact_ratio"][best] = 1.0 if estimates.values[best] > 0 else np.nan
    if n > 1 and estimates.values[best] > 0:
        others, against = _against(n, best)
        found = _ratios(estimates, against, (1.0 + level) / 2.0, others, best)
        for name, values in zip(names, found, strict=True):
            columns[name][others] = values
    return columns


def _differences(estimates, against, end):
    return (
        against @ estimates.values,
        -estimates.upper(-against, end),
        estimates.upper(against, end),
    )


def _ratios(rates, against, end, others, reference):
    """Ratios to the reference and their limits; nan where nobody of the reference has any."""
    base = rates.values[reference]
    seen = rates.values[others] / base if base > 0 else np.full(len(others), np.nan)
    _, low, high = _differences(LogRates(rates), against, end)
    return seen, np.exp(low), np.exp(high)


def gap_row(estimates, level, compared, names):
    """The gap among groups that are large enough, and the ratio of their rates.

    Parameters
    ----------
    estimates : Estimates
        Of all groups.
    level : float
        How often the intervals hold.
    compared : ndarray of int
        The groups that are large enough.
    names : ndarray of str, shape (n_groups,)
        What all groups are called.

    Returns
    -------
    row : dict
        ``lowest`` and ``highest`` are None where all groups are equal.
    """
    gap = ratio = Interval(np.nan, np.nan, np.nan)
    row = {"lowest": None, "highest": None}
    if len(compared) > 1:
        pairs = _pairs(estimates, compared)
        gap = contrast_interval(estimates, pairs, level)
        values = estimates.values[compared]
        if not values.min() == values.max():
            lowest, highest = names[compared[[values.argmin(), values.argmax()]]]
            row = {"lowest": lowest, "highest": highest}
        if isinstance(estimates, Rates):
            logs = contrast_interval(LogRates(estimates), pairs, level)
            seen = values.min() / values.max() if values.max() > 0 else 1.0
            ratio = Interval(seen, np.exp(-logs.high), np.exp(-logs.low))
    row |= {"gap": gap.estimate, "gap_low": gap.low, "gap_high": gap.high}
    return row | {"ratio": ratio.estimate, "ratio_low": ratio.low, "ratio_high": ratio.high}


def _pairs(estimates, compared):
    """Every ordered pair of the groups compared, as rows +1 and -1 over all groups."""
    pairs = all_pairs(len(compared))
    entries = pairs.data, compared[pairs.indices], pairs.indptr
    return sparse.csr_array(entries, shape=(pairs.shape[0], len(estimates.values)))


def significant_gaps(compared, level):
    """Which of several gaps are above 0, by Holm's procedure ([1]_).

    Parameters
    ----------
    compared : list of (Estimates, ndarray of int)
        Estimates of each gap, and the groups that are large enough.
    level : float
        Probability with which no gap that is 0 in the population is among them.

    Returns
    -------
    is_significant : ndarray of bool, shape (n_gaps,)

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
       of Statistics 6, 1979.
    """
    left = {
        number: (estimates, _pairs(estimates, groups))
        for number, (estimates, groups) in enumerate(compared)
        if len(groups) > 1 and not isinstance(estimates, _Unlimited)
    }
    is_significant = np.zeros(len(compared), dtype=bool)
    while left:
        # The error is divided among the gaps that are not yet shown to be above 0.
        each = 1.0 - (1.0 - level) / len(left)
        found = [number for number, one in left.items() if contrast_interval(*one, each).low > 0.0]
        if not found:
            break
        is_significant[found] = True
        left = {number: one for number, one in left.items() if not is_significant[number]}
    return is_significant


def tabulate(named, groupings, weights, level, min_group_size, chosen):
    """All rows and gaps of a report.

    Parameters
    ----------
    named : dict of str to callable
        Measure -> function of groups and weights, that returns estimates and who is present.
    groupings : dict of str to Groups
        As `groupings` returns them.
    weights : ndarray of shape (n_samples,)
        Sample weights.
    level : float
        Confidence level.
    min_group_size : int
        People below which a number is shown as one of few.
    chosen : dict of str to str
        Reference group of groupings that have one, as text.

    Returns
    -------
    rows, gaps : DataFrame
        Comparisons with a reference group that is not in ``chosen``, and impact ratios, hold for
        all tables together.
    """
    estimated = {
        attribute: {name: of(groups, weights) for name, of in named.items()}
        for attribute, groups in groupings.items()
    }
    n_tables = sum(_is_compared(*one) for found in estimated.values() for one in found.values())
    rows, gaps, compared = [], [], []
    for attribute, groups in groupings.items():
        names = np.array([shown(name) for name in groups.names], dtype=object)
        found = estimated[attribute]
        reference = _reference(names, found, attribute, min_group_size, chosen)
        for name, (estimates, present) in found.items():
            if estimates is None:
                continue
            n = np.asarray(getattr(estimates, "counts", estimates.sizes))
            at = np.flatnonzero(present == reference)
            joint = joint_level(level, len(present), n_tables)
            of_reference = level if attribute in chosen else joint
            columns = group_rows(estimates, level, at[0] if len(at) else None, of_reference)
            by, measure = (np.full(len(n), text, dtype=object) for text in (attribute, name))
            about = {"attribute": by, "group": names[present], "measure": measure, "n": n}
            marks = {"is_small": n < min_group_size, "is_reference": present == reference}
            columns |= impact_ratios(estimates, joint, marks["is_small"])
            rows.append(about | columns | marks)
            if attribute == EVERYBODY:
                continue
            compared.append((estimates, np.flatnonzero(n >= min_group_size)))
            gap = gap_row(estimates, level, compared[-1][1], names[present])
            gaps.append({"attribute": attribute, "measure": name} | gap)
    columns = ["attribute", "measure", "lowest", "highest", "gap", "gap_low", "gap_high"]
    columns += ["ratio", "ratio_low", "ratio_high"]
    gaps = pd.DataFrame(gaps, columns=columns)
    gaps["is_significant"] = significant_gaps(compared, level)
    # One frame of whole columns: one for each table takes longer than all estimates.
    frame = {column: np.concatenate([row[column] for row in rows]) for column in rows[0]}
    return pd.DataFrame(frame), gaps


def _is_compared(estimates, present):
    """Whether a table has intervals of differences between groups."""
    return len(present) > 1 and not isinstance(estimates, _Unlimited)


def _reference(names, found, attribute, min_group_size, chosen):
    """The chosen group, else the one that is favoured most: by selection, prediction or number."""
    if attribute in chosen:
        at = np.flatnonzero(names == shown(chosen[attribute]))
        if not len(at):
            raise ValueError(
                f"reference names the group {chosen[attribute]!r} of {attribute}, but its groups "
                f"are {names.tolist()}."
            )
        return at[0]
    for measure in ("selection_rate", "mean_prediction"):
        if measure in found:
            estimates, present = found[measure]
            large = estimates.counts >= min_group_size
            values = np.where(large, estimates.values, -np.inf) if large.any() else estimates.values
            return present[values.argmax()]
    estimates, present = next(iter(found.values()))
    return present[estimates.counts.argmax()]
