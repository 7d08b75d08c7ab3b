"""Samples whose outcome is not known yet, or whose cohort is not complete."""

from collections import Counter

import numpy as np
import pandas as pd

from skfair.groups import Groups, Samples, check_groups
from skfair.monitoring._times import end_of_delay, to_point
from skfair.utils._messages import join_names, warn

_COLUMNS = ("id", "time", "score", "weight", "target", "labels")


def check_column(values, name):
    """Ids or late outcomes as an array, without missing values."""
    column = np.asarray(values)
    if column.ndim != 1 or pd.isna(column).any():
        raise ValueError(
            f"{name} must be one number or string per sample, but are of shape {column.shape} and "
            f"type {column.dtype}, or hold missing values."
        )
    return column


class Outstanding:
    """A table of samples that are counted later; one list per column.

    A target of None is an outcome that has not come.
    """

    def __init__(self, columns=None):
        self.columns = columns or {name: [] for name in _COLUMNS}

    def __len__(self):
        return len(self.columns["id"])

    @property
    def n_unknown(self):
        """Number of samples whose outcome has not come."""
        return sum(target is None for target in self.columns["target"])

    def check_new(self, ids):
        """Refuse ids that occur twice or are outstanding already."""
        counts = Counter(ids) + Counter(set(ids).intersection(self.columns["id"]))
        repeated = [one for one, count in counts.items() if count > 1]
        if repeated:
            raise ValueError(
                "ids must be different for all samples whose outcome is outstanding, but "
                f"{join_names(map(repr, repeated))} came twice. Nothing of this "
                "batch was counted."
            )

    def add_samples(self, ids, time, samples, scores, target):
        """The table with samples of one batch; `target` is None or has one entry per sample."""
        labels = samples.groups.labels[samples.groups.codes]
        added = (
            ids,
            [time] * len(ids),
            scores.tolist(),
            samples.weights.tolist(),
            [None] * len(ids) if target is None else target.tolist(),
            [list(row) for row in labels],
        )
        return Outstanding(
            {name: self.columns[name] + one for name, one in zip(_COLUMNS, added, strict=True)}
        )

    def positions(self, ids):
        """Positions of samples whose outcome has not come, by id; others are refused."""
        known = dict(zip(self.columns["id"], range(len(self)), strict=True))
        unknown = [one for one in ids if one not in known]
        if unknown:
            raise ValueError(
                f"ids must be of samples whose outcome is outstanding, but "
                f"{join_names(map(repr, unknown))} are not: they were never passed, or their "
                "outcome has come before. Nothing was counted; leave them out."
            )
        is_set = [self.columns["target"][known[one]] is not None for one in ids]
        counts = Counter(ids)
        repeated = [one for one, again in zip(ids, is_set, strict=True) if again or counts[one] > 1]
        if repeated:
            names = join_names(map(repr, dict.fromkeys(repeated)))
            raise ValueError(
                f"Each outcome must come once, but that of {names} came twice. Nothing was "
                "counted; leave the repetition out."
            )
        return [known[one] for one in ids]

    def add_targets(self, positions, target):
        """The table with outcomes of samples that stay in it."""
        targets = list(self.columns["target"])
        for position, value in zip(positions, target, strict=True):
            targets[position] = value
        return Outstanding(self.columns | {"target": targets})

    def remove(self, positions):
        """The table without the samples at these positions."""
        gone = set(positions)
        return Outstanding(
            {
                name: [value for i, value in enumerate(column) if i not in gone]
                for name, column in self.columns.items()
            }
        )

    def samples(self, positions, attributes):
        """Samples and scores at these positions, of which the outcome has come."""
        taken = {name: [column[i] for i in positions] for name, column in self.columns.items()}
        labels = np.empty((len(positions), len(attributes)), dtype=object)
        for row, values in zip(labels, taken["labels"], strict=True):
            row[:] = values
        groups = check_groups(labels, len(positions))
        groups = Groups.disjoint(groups.codes, groups.labels, attributes)
        target, weights, scores = (
            np.array(taken[name], dtype=np.float64) for name in ("target", "weight", "score")
        )
        return Samples(target, groups, weights), scores

    def cohorts_over(self, delay, now):
        """Pairs of a time and the positions of its samples, where the delay is over."""
        times = self.columns["time"]
        for time in dict.fromkeys(times):
            if end_of_delay(time, delay) <= to_point(now):
                yield time, [i for i, other in enumerate(times) if other == time]


def known_outcomes(outstanding, positions):
    """Those positions whose outcome has come, with a warning that counts the others."""
    known = [i for i in positions if outstanding.columns["target"][i] is not None]
    if len(known) < len(positions):
        warn(
            f"{len(positions) - len(known)} samples have no outcome although the longest delay has "
            "passed. They are left out. If that depends on the decision, as with applicants who "
            "were refused, the rates of the others are not those of all."
        )
    return known
