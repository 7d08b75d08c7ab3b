"""From predictions to the values that are averaged, and to counts by cell and group."""

from hashlib import blake2b

import numpy as np
from sklearn.utils import check_consistent_length

from skfair.groups import Groups, check_columns, check_equal_label_types
from skfair.losses import LogisticLoss
from skfair.metrics import find_positive
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


def check_batch(columns, sensitive_features, sample_weight, X, attributes):
    """The present samples of a batch without target, their columns, and X of these rows.

    `columns` is a dict of y_pred and so on. `attributes` are the names that the first batch had, or
    None: the columns of sensitive_features may come in another order.
    """
    if X is not None:
        n_samples = len(columns["y_pred"])
        columns = columns | {"rows": np.arange(n_samples)}
    samples, arrays = check_columns(sensitive_features, sample_weight, **columns)
    columns = dict(zip(columns, arrays, strict=True))
    if not samples.groups.is_disjoint:
        raise ValueError(
            "sensitive_features must have one column per attribute, but a sparse matrix of "
            "overlapping groups was passed. To compare the values of each attribute, pass the "
            'columns and attributes="each" to the constraint.'
        )
    if X is not None and len(columns["rows"]) < n_samples:
        X = safe_indexing(X, columns["rows"])
    return samples._replace(groups=_order_attributes(samples.groups, attributes), X=X), columns


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


def outcome_use(constraint, samples, scores):
    """What of a constraint depends on the outcome: "nothing", its "cells" or its "values"."""
    evaluations = [
        evaluate(constraint, samples._replace(target=np.full(len(scores), outcome)), scores)
        for outcome in (1.0, -1.0)
    ]
    (cells, values), (other_cells, other_values) = evaluations
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
