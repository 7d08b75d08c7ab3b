"""From predictions to the values that are averaged, and to counts by cell and group."""

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_consistent_length

from skfair.groups import Groups, check_columns, check_equal_label_types
from skfair.losses import LogisticLoss
from skfair.metrics import find_positive
from skfair.monitoring._outstanding import Cohort, check_column
from skfair.surrogates import Step
from skfair.utils._messages import join_names
from skfair.utils._sklearn import safe_indexing

MIN_BLOCK = 20
"""Samples of a block at least: one of m samples has 1 - 1 / m of their evidence on a difference."""


def is_empty(y_pred, sensitive_features, sample_weight):
    """Whether a batch has no samples, or none of positive weight."""
    has_weight = sample_weight is None or np.any(sample_weight)
    if np.shape(y_pred)[:1] != (0,) and has_weight:
        return False
    check_consistent_length(y_pred, sensitive_features, sample_weight)
    return True


class Batch(NamedTuple):
    """Predictions as the constraint uses them.

    `late_ids` are those of samples that are counted later, or None. `is_known` is whether the
    cohort has its outcomes.
    """

    late_ids: list | None
    cohort: Cohort
    is_known: bool


def read_batch(settings, row, attributes, y_pred, y_true, sensitive_features, weights, ids, X):
    """Check a batch, of which at least one sample has a positive weight.

    `attributes` are the names that the first batch had, or None: the columns of sensitive_features
    may come in another order.
    """
    columns = {"y_true": y_true, "ids": ids}
    columns = {name: column for name, column in columns.items() if column is not None}
    columns = {"y_pred": y_pred} | columns
    if X is not None:
        check_consistent_length(y_pred, X)
        columns["rows"] = np.arange(len(y_pred))
    samples, arrays = check_columns(sensitive_features, weights, **columns)
    columns = dict(zip(columns, arrays, strict=True))
    if not samples.groups.is_disjoint:
        raise ValueError(
            "sensitive_features must have one column per attribute, but a sparse matrix of "
            "overlapping groups was passed. To compare the values of each attribute, pass the "
            'columns and attributes="each" to the constraint.'
        )
    # Scores and target of the present samples, in groups by the attributes of the first batch.
    constraint, y_true = settings.constraint, columns.get("y_true")
    scores = to_scores(constraint, columns["y_pred"], y_true, settings.pos_label)
    is_known, target = y_true is not None, np.ones(len(scores))
    if is_known:
        target = to_target(constraint, y_true, settings.pos_label)
    samples = samples._replace(
        target=target,
        groups=_order_attributes(samples.groups, attributes),
        weights=_scale_weights(samples.weights, settings.max_weight),
        X=None if X is None else safe_indexing(X, columns["rows"]),
    )
    cohort = Cohort(row.time, samples, scores)
    late_ids = None
    if not (is_known and settings.delay is None):
        use = outcome_use(constraint, samples)
        if use != "nothing":
            late_ids = _late_ids(settings, row, use, columns.get("ids"), X, cohort, is_known)
    if late_ids is not None and is_known:
        evaluate_cohort(settings, cohort)  # raises if a value is out of range
    return Batch(late_ids, cohort, is_known)


def _scale_weights(weights, max_weight):
    """Weights as probabilities of being drawn."""
    if (weights > max_weight).any():
        raise ValueError(
            f"sample_weight must be at most max_weight={max_weight:g}, since weights are "
            f"compared with the largest that can occur, but one is {weights.max():g}. Create "
            "the monitor with a larger max_weight."
        )
    return weights / max_weight


def _late_ids(settings, row, use, ids, X, cohort, is_known):
    """The ids of samples that are counted later; without a way to count them, an error."""
    name = type(settings.constraint).__name__
    if ids is None and not is_known:
        raise ValueError(
            f"{name} depends on the outcome, so that y_true is needed. If outcomes come later, "
            "pass ids now and call update_labels then."
        )
    if use == "values" and settings.delay is None:
        raise ValueError(
            f"{name} averages a function of the outcome, and outcomes that come early are not a "
            "random sample of all. Create the monitor with delay, the longest time until an "
            "outcome is known: then whole cohorts are counted."
        )
    if X is not None:
        raise ValueError(
            "X cannot be passed with outcomes that come later, since features are not kept; "
            "call update when the outcomes are known."
        )
    if ids is None:  # outcomes are known, but the cohort is not complete
        return [f"batch {row.number}, sample {i}" for i in range(len(cohort.scores))]
    return check_column(ids, "ids").tolist()


def evaluate_cohort(settings, cohort):
    """Cells of a cohort, and the values that are averaged, as numbers between 0 and 1."""
    cells, values = evaluate(settings.constraint, cohort.samples, cohort.scores)
    inside = np.any(list(cells.values()), axis=0)
    # What is outside of all cells is not averaged, and need not be in range.
    scaled = np.zeros(len(values))
    scaled[inside] = scale_values(values[inside], settings.range)
    return cells, scaled


def _order_attributes(groups, attributes):
    """Groups with their attributes in the order of the first batch."""
    if attributes is None or groups.attributes == attributes:
        return groups
    if len(groups.attributes) != len(attributes) or (
        set(groups.attributes) != set(attributes) and _are_named(groups.attributes, attributes)
    ):
        raise ValueError(
            f"sensitive_features must have the attributes of the first batch, "
            f"{join_names(map(repr, attributes))}, but this batch has "
            f"{join_names(map(repr, groups.attributes))}. Pass the same columns, in any order."
        )
    if set(groups.attributes) != set(attributes):
        return Groups.disjoint(groups.codes, groups.labels, attributes)
    labels = groups.labels[:, [groups.attributes.index(name) for name in attributes]]
    return Groups.disjoint(groups.codes, labels, attributes)


def _are_named(*attributes):
    return all(names != list(range(len(names))) for names in attributes)


def to_scores(constraint, y_pred, y_true, pos_label):
    """Scores that the constraint decides on: -1 and +1 for classes, else the numbers themselves."""
    if not constraint.counts_decisions:
        return _to_numbers(y_pred, "y_pred")
    columns = [y_pred] if y_true is None else [y_pred, y_true]
    positive = find_positive(*columns, pos_label=pos_label)
    return np.where(y_pred == positive, 1.0, -1.0)


def to_target(constraint, y_true, pos_label):
    """Classes as -1 and +1; real targets, of losses of numbers, as they are."""
    is_real = "numbers" in constraint.applies_to and getattr(constraint, "loss", None) is not None
    if is_real and pos_label is None:
        return _to_numbers(y_true, "y_true")
    return np.where(y_true == find_positive(y_true, pos_label=pos_label), 1.0, -1.0)


def _to_numbers(column, name):
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, but holds {column.flat[0]!r}.") from None


def evaluate(constraint, samples, scores):
    """Masks of the constraint's cells, and the value that it averages for each sample."""
    cells = {name: np.asarray(mask) for name, mask in constraint.cells(samples).items()}
    if sum(mask.astype(int) for mask in cells.values()).max(initial=0) > 1:
        raise ValueError(
            f"The cells of {constraint} must be disjoint to be monitored together, but one sample "
            "is in several of them. Use one monitor per cell."
        )
    rate = constraint.rate(Step(), LogisticLoss())(scores, samples.target)
    return cells, np.broadcast_to(np.asarray(rate.value, dtype=np.float64), scores.shape)


def outcome_use(constraint, samples):
    """What of a constraint depends on the outcome: "nothing", its "cells" or its "values"."""
    scores = np.linspace(-1.3, 1.7, len(samples.weights))  # 0 may have equal losses
    (cells, values), (other_cells, other_values) = (
        evaluate(constraint, samples._replace(target=np.full(len(scores), outcome)), scores)
        for outcome in (1.0, -1.0)
    )
    if not np.array_equal(values, other_values):
        return "values"
    same = cells.keys() == other_cells.keys() and all(
        np.array_equal(cells[name], other_cells[name]) for name in cells
    )
    return "nothing" if same else "cells"


def scale_values(values, value_range):
    """Values between the ends of their range, as numbers between 0 and 1."""
    low, high = value_range
    if not ((values >= low) & (values <= high)).all():
        wrong = values[~((values >= low) & (values <= high))][0]
        raise ValueError(
            f"Values that are averaged must be in value_range={low, high}, since a mean of "
            f"unbounded values cannot be monitored, but one is {wrong:g}. Pass a wider range, a "
            "bounded loss, or clip the predictions."
        )
    return (values - low) / (high - low)


def attribute_codes(groups, attributes):
    """For each comparison its name, and the code of each sample with the names of the groups.

    `attributes` is the constraint's: "each" compares the values of every attribute separately.
    """
    if attributes == "intersections" or groups.labels.shape[1] == 1:
        name = ", ".join(map(str, groups.attributes)) if groups.attributes != [0] else "group"
        yield name, groups.codes, groups.names
        return
    for name, column in zip(groups.attributes, groups.labels.T, strict=True):
        values = sorted(set(column))
        position = {value: code for code, value in enumerate(values)}
        codes = np.array([position[value] for value in column], dtype=np.intp)
        yield str(name), codes[groups.codes], values


def check_names(known, names):
    """Refuse groups whose labels are of another type than those of earlier batches."""
    labels = [name if isinstance(name, tuple) else (name,) for name in (*known, *names)]
    check_equal_label_types(labels)


def sort_samples(codes, values, weights):
    """The columns in an order that does not depend on that of the batch."""
    order = np.lexsort((weights, values, codes))
    return codes[order], values[order], weights[order]


def generator_of(*key):
    """Random generator of samples: any data have an order of their own, which repeats with them.

    A seed that depended on sizes alone would give all data of equal sizes one order, and the blocks
    of sorted samples would be functions of one count.
    """
    digest = blake2b(digest_size=16)
    for part in key:
        is_array = isinstance(part, np.ndarray)
        digest.update((part + 0.0).astype("<f8").tobytes() if is_array else f"{part!r};".encode())
    return np.random.default_rng(int.from_bytes(digest.digest()))


def tabulate(codes, values, weights, n_groups):
    """Counts, weights and weighted sums of values by group, (3, n_groups)."""
    columns = (None, weights, weights * values)
    return np.array([np.bincount(codes, one, n_groups) for one in columns], dtype=float)


def draw_blocks(codes, values, weights, n_groups, n_known, rng):
    """Counts and sums by group, (2, n_groups), of random blocks of sorted samples.

    A sample of weight w is drawn with probability w: those drawn are a sample without weights of
    the weighted population. The order is random, and no block is larger than the number of samples
    that are known before it, so that a large batch is not spent on the first predictions.
    """
    rows = np.arange(len(codes))
    if not (weights == 1.0).all():
        rows = rows[rng.random(len(rows)) < weights]
    edges, size = [], max(n_known, MIN_BLOCK)
    if size < len(rows):
        rows = rng.permutation(rows)
    while size < len(rows):
        edges.append(size)
        size += n_known + size
    for block in np.split(rows, edges):
        columns = (None, values[block])
        yield np.array([np.bincount(codes[block], one, n_groups) for one in columns], dtype=float)
