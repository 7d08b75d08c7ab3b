"""Representatives of partitioned samples: one sample per cell, to which constraints are bound.

A cell is a group and a class; of a real target it is a group. Apart from scores and real targets,
constraints compare nothing else, so one sample of each cell stands for all of its samples.
"""

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from skfair.groups import (
    EncodedBlock,
    Groups,
    Samples,
    check_equal_label_types,
    check_one_label_type,
    check_partition,
    partition_error,
    unique_inverse,
)
from skfair.training._input import Training, Unit, find_positive
from skfair.utils._features import check_finite_squares
from skfair.utils._messages import join_names


def encode_cells(block, name, is_real):
    """Samples of positive weight of a block with their cells, or what is wrong with the block.

    Errors are returned, so that all partitions are known when the first one is raised.
    """
    try:
        X, weights, groups = check_partition(block, name)
        y = _check_numbers(block["y"], name) if is_real else _check_labels(block["y"])
    except (TypeError, ValueError) as error:
        return partition_error(error, block.number)
    weights = np.ones(len(y)) if weights is None else weights
    present = weights > 0
    if not present.all():
        X, y, weights, groups = X[present], y[present], weights[present], groups.take(present)
    # Cells of the block: pairs of a group's labels and a class, 0 of real targets.
    classes, class_codes = unique_inverse(np.zeros(len(y)) if is_real else y)
    cells, codes = unique_inverse(groups.codes * len(classes) + class_codes)
    labels = map(tuple, groups.labels[cells // len(classes)].tolist())
    cells = list(zip(labels, classes[cells % len(classes)].tolist(), strict=True))
    return EncodedBlock(
        X,
        cells,
        codes,
        None if (weights == 1.0).all() else weights,
        (block.number, block.start),
        target=y if is_real else None,
        attributes=groups.attributes if len(y) else (),
    )


def check_cells(cells):
    """Refuse labels of groups or classes that cannot be compared."""
    check_equal_label_types([group for group, _ in cells])
    check_one_label_type([label for _, label in cells], "y")


def sort_key(cell):
    """Key that orders cells, whatever labels are."""
    group, label = cell
    return [(str(type(name)), name) for name in (*group, label)]


def represent(summary, estimator, is_real, is_compared):
    """Training data with one sample per cell, which weighs as much as the cell.

    Real targets are 0, in units of their spread; classes need two, one of them positive if groups
    are compared.
    """
    number = {}
    codes = np.array([number.setdefault(group, len(number)) for group, _ in summary.cells])
    labels = np.array([*number], dtype=object)
    groups = Groups.disjoint(codes, labels, summary.attributes)
    # Counts of all samples, not of their representatives.
    vars(groups)["counts"] = np.bincount(codes, summary.counts).astype(np.intp)
    samples = Samples(
        np.zeros(len(codes)),
        groups,
        summary.weights,
        multiplicity=summary.counts,
        min_group_size=estimator.min_group_size,
    ).largest_first()
    if is_real:
        center = float(summary.mean[-1]) * estimator.fit_intercept
        spread = float(np.sqrt(summary.variance[-1] + (summary.mean[-1] - center) ** 2))
        return Training(None, None, samples, unit=Unit(center, spread or 1.0))
    class_labels = [label for _, label in summary.cells]
    classes = np.unique(class_labels)
    if len(classes) != 2:
        raise ValueError(
            f"{type(estimator).__name__} needs 2 classes among samples of positive sample_weight, "
            f"but partitions have {len(classes)}: {join_names(map(repr, classes.tolist()))}."
        )
    positive = find_positive(classes, estimator.pos_label, is_compared)
    target = np.where(classes[np.searchsorted(classes, class_labels)] == positive, 1.0, -1.0)
    unit = Unit(spread=1.0 if positive == classes[1] else -1.0)
    return Training(None, classes, samples._replace(target=target), positive, unit)


def _check_numbers(y, name):
    y = check_array(
        y, dtype=np.float64, ensure_2d=False, ensure_min_samples=0, estimator=name, input_name="y"
    )
    y = column_or_1d(y)
    check_finite_squares(y, "y")
    return y


def _check_labels(y):
    y = column_or_1d(y)
    if len(y) and (y != y).any():
        raise ValueError("Input y contains NaN.")
    return y
