"""What a fit reports of the shares that partial fairness compares."""

import numpy as np

from skfair.constraints._percentile_rows import at_percentiles


def percentile_report(task, found, tolerance):
    """One row per group and threshold.

    Parameters
    ----------
    task : PartialTask
        What was trained.
    found : Candidate
        The model that is taken.
    tolerance : float
        Largest difference allowed.

    Returns
    -------
    report : DataFrame
        Columns cell, group, n (samples), threshold, rate (of those in the interval, the share that
        scores higher), standard_error (of the rate, as if the samples were drawn anew), gap (by
        the public metric) and tolerance. Criteria at one threshold have that one; others have
        thresholds midway between the groups' own percentiles.
    """
    import pandas as pd

    parity, table = task.parity, task.parity.table(task.people)
    compared = parity.compared(task.people, found.scores, tolerance)
    if parity.at_one_threshold:
        thresholds = np.array([parity.threshold])
    else:
        rows = at_percentiles(compared, parity.grid_of(compared.tolerances), parity.width)
        thresholds = rows.initial_aux(found.scores)
    frames = []
    for event, ((cell, group), n) in enumerate(zip(table.names, table.counts, strict=True)):
        samples, shares = compared.members.of_event(event)
        position = compared.positions[event]
        above = (found.scores[samples] > thresholds[:, np.newaxis]) @ shares
        # The sum of squared shares is one over the effective number of samples.
        errors = np.sqrt(np.maximum(0.0, above * (1.0 - above)) * (shares @ shares))
        frames.append(
            pd.DataFrame(
                {
                    "cell": cell,
                    "group": [group] * len(thresholds),  # it may be a tuple of attributes
                    "n": int(n),
                    "threshold": thresholds,
                    "rate": position.of(above),
                    "standard_error": errors / position.width,
                    "gap": found.gap,
                    "tolerance": tolerance,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
