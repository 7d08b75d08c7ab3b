"""Tables of a report: every measure of every group, with limits, and the gaps."""

import numpy as np
import pandas as pd
from scipy import sparse

from skfair.groups import MISSING, Events, Groups, is_like_unknown
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

OVERALL = "overall"
"""Name of the grouping of all samples."""

OUTCOMES = ("selection_rate", "mean_prediction", "scoring_rate")
"""Measures of outcomes; the first that a report has is its main measure."""

MAX_GROUPS = 1000
"""Maximum number of groups of one grouping in a report."""


def groupings(groups):
    """Groups by every single attribute, and by all of them together: name -> Groups."""
    if not groups.is_disjoint:
        return {"group": groups}
    # Names as text; they must remain distinct.
    names = [_title(name, number) for number, name in enumerate(groups.attributes)]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(
            f"Attributes of sensitive_features must differ in name as text, but {len(repeated)} of "
            f"{list(groups.attributes)} are called {repeated[0]!r}; rename the columns."
        )
    # Groups by each attribute, then by the combinations of all.
    by_name = {}
    for name, column in zip(names, groups.labels.T, strict=True):
        values, codes = np.unique(column, return_inverse=True)
        by_name[name] = Groups.disjoint(codes[groups.codes], values[:, np.newaxis])
    if len(names) > 1:
        by_name[group_text(tuple(names))] = groups
    for name, one in by_name.items():
        if len(one.labels) > MAX_GROUPS:
            raise ValueError(
                f"A report shows every group, but by {name} there are {len(one.labels)}, more than "
                f"{MAX_GROUPS}. Leave the column out if it is an id; bin numbers, as in "
                "pd.cut(values, 5)."
            )
    return by_name


def exclude_missing(by_name):
    """The same groupings without the groups of missing values."""
    return {name: _select_known(name, groups) for name, groups in by_name.items()}


def _select_known(name, groups):
    """Groups whose attributes are all known; other samples are in none."""
    is_known = ~has_missing(groups)
    if is_known.all():
        return groups
    if not is_known.any():
        raise ValueError(
            f"No sample has a known group by {name}, so there is nothing to report. Leave the "
            'attribute out, or pass missing="group".'
        )
    return groups.select(np.flatnonzero(is_known))


def has_missing(groups):
    """Mask of the groups with a missing value of an attribute."""
    return (groups.labels == MISSING).any(axis=1)


def is_missing_group(name):
    """Whether a group, as text, has a missing value of an attribute."""
    return MISSING in name.split(_SIGN)


def count_missing(by_name):
    """Number of samples with a missing value, by grouping."""
    return {name: int(groups.counts[has_missing(groups)].sum()) for name, groups in by_name.items()}


def groups_like_unknown(frame):
    """Attribute, group and number of samples of labels that look like an unknown group.

    Combinations of attributes are left out, because they repeat the labels.
    """
    attributes = [name for name in frame["attribute"].unique() if name != OVERALL]
    single = attributes[:-1] or attributes
    rows = frame[frame["attribute"].isin(single) & frame["group"].map(is_like_unknown)]
    sizes = rows.groupby(["attribute", "group"], sort=False)["n"].max()
    return [(attribute, group, int(n)) for (attribute, group), n in sizes.items()]


def _title(name, number):
    """An attribute as text: columns without names are numbered from 1 on."""
    return f"attribute {number + 1}" if isinstance(name, (int, np.integer)) else name_as_text(name)


def name_as_text(name):
    """Name of an attribute as text, in quotes if it is that of all samples."""
    return repr(name) if name == OVERALL else str(name)


def group_text(group):
    """A group as text, as in "f × old"; other groups of the same attributes have other texts.

    Of several labels, those with the sign × or an initial quotation mark are in quotes.
    """
    return _SIGN.join(map(_quote_label, group)) if isinstance(group, tuple) else str(group)


_SIGN = " × "


def _quote_label(label):
    text = str(label)
    return repr(text) if _SIGN.strip() in text or text[:1] in ("'", '"') else text


def estimate_means(measure, groups, weights):
    """Means of a measure in groups, and which groups have samples that count.

    The measure is a pair of a value of each sample and a mask of those that count, or None. The
    estimates are None if there are no such samples.
    """
    values, counts = measure
    if counts is not None and not counts.any():
        return None, np.empty(0, dtype=np.intp)
    # Events are the groups that have samples which count.
    n_groups = len(groups.labels)
    if groups.is_disjoint:
        codes = groups.codes if counts is None else np.where(counts, groups.codes, n_groups)
        present = np.flatnonzero(np.bincount(codes, minlength=n_groups + 1)[:n_groups])
        place = np.full(n_groups + 1, -1)
        place[present] = np.arange(len(present))
        events = Events.disjoint(place[codes], len(present), weights)
    else:
        matrix = groups.matrix
        if counts is not None:
            matrix = sparse.csr_array(sparse.diags_array(counts.astype(float)) @ matrix)
            matrix.eliminate_zeros()
        present = np.flatnonzero(np.bincount(matrix.indices, minlength=n_groups))
        events = Events.overlapping(matrix[:, present], weights)
    return estimates_of(events, values), present


def estimate_areas(is_true, scores, groups, weights):
    """As `estimate_means`, of areas under the ROC curves of the groups with both classes."""
    members = groups.members()
    complete = [g for g, rows in enumerate(members) if 0 < is_true[rows].sum() < len(rows)]
    if not complete:
        return None, np.empty(0, dtype=np.intp)
    return AUCs(is_true, scores, [members[g] for g in complete], weights), np.array(complete)


class _PointEstimates(Estimates):
    """Values without limits."""

    def __init__(self, values, counts):
        self.values, self.sizes, self.counts = values, counts, counts

    def limits(self, level):
        nothing = np.full(len(self.values), np.nan)
        return nothing, nothing


def evaluate_user_metric(metric, y_true, y_pred, groups, weights):
    """As `estimate_means`, of a metric that the user passed."""
    members = groups.members()
    columns = (y_pred,) if y_true is None else (y_true, y_pred)
    values = np.array([float(metric(*(c[rows] for c in columns))) for rows in members])
    return _PointEstimates(values, groups.counts), np.arange(len(members))


def bonferroni_level(level, n_groups, n_tables):
    """Level of each comparison at which those of any two groups in all tables hold together.

    Whichever group the data choose as reference, its comparisons are among these.
    """
    return 1.0 - (1.0 - level) / (max(1, n_tables) * max(1, n_groups * (n_groups - 1) // 2))


def comparison_columns(estimates, level, reference, comparison_level):
    """Values of groups with limits, and differences and ratios to a reference, or nan, by name."""
    n = len(estimates.values)
    # Values and their limits, each at the level by itself.
    low, high = estimates.limits((1.0 + level) / 2.0)
    end = (1.0 + comparison_level) / 2.0
    nothing = np.full(n, np.nan)
    columns = {"value": estimates.values, "low": low, "high": high}
    names = ("difference", "difference_low", "difference_high", "ratio", "ratio_low", "ratio_high")
    columns |= {name: nothing for name in names}
    if reference is None or n < 2:
        return columns
    # Differences and ratios of the other groups to the reference.
    others, against = _difference_rows(n, reference)
    comparisons = _differences(estimates, against, end)
    if isinstance(estimates, Rates):
        comparisons += _ratios(estimates, against, end, others, reference)
    for name, values in zip(names, comparisons, strict=False):
        columns[name] = nothing.copy()
        columns[name][others] = values
    return columns


def _difference_rows(n, reference):
    """All groups but the reference, and contrasts of +1 and -1 of each to it."""
    others = np.delete(np.arange(n), reference)
    rows = np.repeat(np.arange(n - 1), 2)
    place = np.column_stack((others, np.full(n - 1, reference))).ravel()
    against = sparse.csr_array((np.tile([1.0, -1.0], n - 1), (rows, place)), shape=(n - 1, n))
    return others, against


def impact_ratios(estimates, level, is_left_out):
    """Ratios of rates to the largest of a group that is not left out, with limits.

    They are nan where there are no rates, or all are 0, and so are the limits of the group with
    the largest rate. If all groups are left out, the largest rate of all counts.
    """
    n, names = len(estimates.values), ("impact_ratio", "impact_ratio_low", "impact_ratio_high")
    columns = {name: np.full(n, np.nan) for name in names}
    if not isinstance(estimates, Rates):
        return columns
    # The denominator: the largest rate among groups that are known and not small.
    eligible = np.where(is_left_out & ~is_left_out.all(), -np.inf, estimates.values)
    largest = eligible.argmax()
    columns["impact_ratio"][largest] = 1.0 if estimates.values[largest] > 0 else np.nan
    if n > 1 and estimates.values[largest] > 0:
        others, against = _difference_rows(n, largest)
        ratios = _ratios(estimates, against, (1.0 + level) / 2.0, others, largest)
        for name, values in zip(names, ratios, strict=True):
            columns[name][others] = values
    return columns


def _differences(estimates, against, end):
    """Differences to the reference and their limits."""
    return (
        against @ estimates.values,
        -estimates.upper(-against, end),
        estimates.upper(against, end),
    )


def _ratios(rates, against, end, others, reference):
    """Ratios to the reference and their limits; nan where its rate is 0."""
    base = rates.values[reference]
    ratios = rates.values[others] / base if base > 0 else np.full(len(others), np.nan)
    # Limits of a ratio are those of the difference of log rates.
    _, low, high = _differences(LogRates(rates), against, end)
    return ratios, np.exp(low), np.exp(high)


def gap_row(estimates, level, compared, names):
    """The gap among the compared groups, the ratio of their rates and their limits, as a dict.

    ``lowest`` and ``highest`` name the groups, and are None where all are equal.
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
            shortfall = contrast_interval(LogRates(estimates), pairs, level)  # 1 minus the ratio
            smallest = values.min() / values.max() if values.max() > 0 else 1.0
            ratio = Interval(smallest, 1.0 - shortfall.high, 1.0 - shortfall.low)
    row |= {"gap": gap.estimate, "gap_low": gap.low, "gap_high": gap.high}
    return row | {"ratio": ratio.estimate, "ratio_low": ratio.low, "ratio_high": ratio.high}


def _pairs(estimates, compared):
    """Contrasts of +1 and -1 over all groups, one for each ordered pair of compared ones."""
    pairs = all_pairs(len(compared))
    entries = pairs.data, compared[pairs.indices], pairs.indptr
    return sparse.csr_array(entries, shape=(pairs.shape[0], len(estimates.values)))


def significant_gaps(compared, level):
    """Mask of the gaps that are above 0, by Holm's step-down procedure.

    Each gap is a pair of estimates and of the groups that are large enough. With the level as
    probability, no gap that is 0 in the population is among them.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6, 1979.
    """
    remaining = {
        number: (estimates, _pairs(estimates, groups))
        for number, (estimates, groups) in enumerate(compared)
        if len(groups) > 1 and not isinstance(estimates, _PointEstimates)
    }
    is_significant = np.zeros(len(compared), dtype=bool)
    while remaining:
        # The error is divided among the gaps that are not yet shown to be above 0.
        each = 1.0 - (1.0 - level) / len(remaining)
        above = [n for n, one in remaining.items() if contrast_interval(*one, each).low > 0.0]
        if not above:
            break
        is_significant[above] = True
        remaining = {n: one for n, one in remaining.items() if not is_significant[n]}
    return is_significant


def tabulate(estimators, groupings, weights, level, min_group_size, chosen):
    """DataFrames of all rows and all gaps of a report.

    `estimators` maps measures to functions of groups and weights that return estimates and the
    groups they are of. `chosen` maps groupings to reference groups that the user named; other
    comparisons, and impact ratios, hold for all tables together.
    """
    # Estimate each measure for each grouping, and count the tables that share the error.
    estimated = {
        attribute: {name: estimator(groups, weights) for name, estimator in estimators.items()}
        for attribute, groups in groupings.items()
    }
    tables = [one for measures in estimated.values() for one in measures.values()]
    n_tables = sum(_is_compared(*one) for one in tables)
    rows, gaps, compared = [], [], []
    for attribute, groups in groupings.items():
        names = np.array([group_text(name) for name in groups.names], dtype=object)
        measures = estimated[attribute]
        reference = _reference_group(names, measures, attribute, min_group_size, chosen)
        for name, (estimates, present) in measures.items():
            if estimates is None:
                continue
            # Rows of one measure: values, comparisons with the reference, impact ratios.
            n = np.asarray(getattr(estimates, "counts", estimates.sizes))
            at = np.flatnonzero(present == reference)
            joint = bonferroni_level(level, len(present), n_tables)
            reference_level = level if attribute in chosen else joint
            columns = comparison_columns(
                estimates, level, at[0] if len(at) else None, reference_level
            )
            by, measure = (np.full(len(n), text, dtype=object) for text in (attribute, name))
            about = {"attribute": by, "group": names[present], "measure": measure, "n": n}
            marks = {"is_small": n < min_group_size, "is_reference": present == reference}
            is_missing = np.array([is_missing_group(group) for group in names[present]])
            columns |= impact_ratios(estimates, joint, marks["is_small"] | is_missing)
            rows.append(about | columns | marks)
            if attribute == OVERALL:
                continue
            # Its gap, among the groups that are large enough.
            compared.append((estimates, np.flatnonzero(n >= min_group_size)))
            gap = gap_row(estimates, level, compared[-1][1], names[present])
            gaps.append({"attribute": attribute, "measure": name} | gap)
    columns = ["attribute", "measure", "lowest", "highest", "gap", "gap_low", "gap_high"]
    columns += ["ratio", "ratio_low", "ratio_high"]
    gaps = pd.DataFrame(gaps, columns=columns)
    gaps["is_significant"] = significant_gaps(compared, level)
    # Concatenate columns, not frames, which would take longer than all estimates.
    frame = {column: np.concatenate([row[column] for row in rows]) for column in rows[0]}
    return pd.DataFrame(frame), gaps


def _is_compared(estimates, present):
    """Whether a table has intervals of differences between groups."""
    return len(present) > 1 and not isinstance(estimates, _PointEstimates)


def _reference_group(names, measures, attribute, min_group_size, chosen):
    """The chosen group, else that of the highest selection rate, prediction or number."""
    if attribute in chosen:
        at = np.flatnonzero(names == group_text(chosen[attribute]))
        if not len(at):
            raise ValueError(
                f"reference names the group {chosen[attribute]!r} of {attribute}, but its groups "
                f"are {names.tolist()}."
            )
        return at[0]
    # The group with the best outcome, if the report has one.
    for measure in OUTCOMES:
        if measure in measures:
            estimates, present = measures[measure]
            # A group that is known and not small, if there is one.
            is_missing = np.array([is_missing_group(group) for group in names[present]])
            eligible = (estimates.counts >= min_group_size) & ~is_missing
            eligible |= ~eligible.any()
            return present[np.where(eligible, estimates.values, -np.inf).argmax()]
    estimates, present = next(iter(measures.values()))
    return present[estimates.counts.argmax()]
