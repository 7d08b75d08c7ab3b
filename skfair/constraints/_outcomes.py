"""Values that a constraint averages, and what of them depends on the outcome."""

import numpy as np

from skfair.losses import LogisticLoss, step_function
from skfair.metrics._rates import counted_values, is_share


def evaluate_cells(constraint, samples, scores):
    """Masks of the constraint's cells, and the value that it averages for each sample.

    A share is averaged over the samples that its denominator counts: these are the cells then.
    """
    cells = {name: np.asarray(mask) for name, mask in constraint.cells(samples).items()}
    if sum(mask.astype(int) for mask in cells.values()).max(initial=0) > 1:
        raise ValueError(
            f"The cells of {constraint} must be disjoint to be monitored together, but one sample "
            "is in several of them. Use one monitor per cell."
        )
    values, *sizes = (
        np.broadcast_to(np.asarray(term(scores, samples.target).value, np.float64), scores.shape)
        for term in constraint.terms(step_function, LogisticLoss())
    )
    if not sizes or not is_share(values, sizes[0]):
        return cells, values
    cells = {name: mask & (sizes[0] > 0) for name, mask in cells.items()}
    return cells, counted_values(values, sizes[0])


def outcome_use(constraint, samples):
    """What of a constraint depends on the outcome: "nothing", its "cells" or its "values"."""
    scores = np.linspace(-1.3, 1.7, len(samples.weights))  # 0 may have equal losses
    (cells, values), (other_cells, other_values) = (
        evaluate_cells(constraint, samples._replace(target=np.full(len(scores), outcome)), scores)
        for outcome in (1.0, -1.0)
    )
    if not np.array_equal(values, other_values):
        return "values"
    same = cells.keys() == other_cells.keys() and all(
        np.array_equal(cells[name], other_cells[name]) for name in cells
    )
    return "nothing" if same else "cells"
