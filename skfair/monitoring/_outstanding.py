"""Samples whose outcome is not known yet, or whose cohort is not complete."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skfair.groups import Groups, Samples, check_groups
from skfair.monitoring._times import end_of_delay, to_point
from skfair.utils._messages import join_names, warn

_TIME, _TARGET = 0, 3
"""Positions in the record of a sample: time, score, weight, target (None: not known) and labels."""


class Cohort(NamedTuple):
    """Samples that were decided on at one time and are counted together."""

    time: Any
    samples: Samples
    scores: np.ndarray


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
    """Records of samples that are counted later, by id, in the order of their times.

    Changes make a new table, which shares the records.
    """

    records: dict

    def __init__(self, records=None):
        self.records = records or {}

    def __len__(self):
        return len(self.records)

    def add_samples(self, ids, cohort, is_known):
        """The table with a cohort; raise if an id occurs twice or is outstanding already."""
        counts = Counter(ids)
        repeated = [one for one, count in counts.items() if count > 1 or one in self.records]
        if repeated:
            raise ValueError(
                "ids must be different for all samples whose outcome is outstanding, but "
                f"{join_names(map(repr, repeated))} came twice. Nothing of this "
                "batch was counted."
            )
        samples = cohort.samples
        targets = samples.target.tolist() if is_known else [None] * len(ids)
        labels = samples.groups.labels[samples.groups.codes].tolist()
        columns = cohort.scores.tolist(), samples.weights.tolist(), targets, labels
        added = {one: [cohort.time, *record] for one, *record in zip(ids, *columns, strict=True)}
        return Outstanding(self.records | added)

    def add_outcomes(self, ids, target):
        """The table with outcomes of samples that it holds."""
        records = dict(self.records)
        for one, value in zip(ids, target, strict=True):
            records[one] = [*records[one]]
            records[one][_TARGET] = value
        return Outstanding(records)

    def check_ids(self, ids):
        """Raise unless these are different samples whose outcome has not come."""
        unknown = [one for one in ids if one not in self.records]
        if unknown:
            raise ValueError(
                f"ids must be of samples whose outcome is outstanding, but "
                f"{join_names(map(repr, unknown))} are not: they were never passed, or their "
                "outcome has come before. Nothing was counted; leave them out."
            )
        counts = Counter(ids)
        repeated = [
            one
            for one, count in counts.items()
            if count > 1 or self.records[one][_TARGET] is not None
        ]
        if repeated:
            raise ValueError(
                f"Each outcome must come once, but that of {join_names(map(repr, repeated))} came "
                "twice. Nothing was counted; leave the repetition out."
            )

    def cohorts(self, ids, attributes):
        """Samples whose outcome has come, as cohorts by the time of their decisions."""
        records = [self.records[one] for one in ids]
        if records and records[0][_TIME] is not None:
            records.sort(key=lambda one: to_point(one[_TIME]))
        for time, of_time in groupby(records, key=lambda one: one[_TIME]):
            _, scores, weights, target, rows = zip(*of_time, strict=True)
            labels = np.empty((len(rows), len(attributes)), dtype=object)
            for label, row in zip(labels, rows, strict=True):
                label[:] = row
            groups = check_groups(labels, len(rows))
            groups = Groups.disjoint(groups.codes, groups.labels, attributes)
            yield Cohort(
                time, Samples(np.array(target), groups, np.array(weights)), np.array(scores)
            )

    def without(self, ids):
        """The table without some samples."""
        records = dict(self.records)
        for one in ids:
            del records[one]
        return Outstanding(records)

    def ids_over(self, delay, now):
        """Ids of the samples whose delay is over; at its last moment only of complete cohorts."""
        ids = []
        for time, items in groupby(self.records.items(), key=lambda item: item[1][_TIME]):
            cohort, end = dict(items), end_of_delay(time, delay)
            is_complete = all(one[_TARGET] is not None for one in cohort.values())
            if end > to_point(now) or (end == to_point(now) and not is_complete):
                break
            ids += cohort
        return ids

    def ids_without_outcome(self):
        """Ids of the samples whose outcome has not come."""
        return [one for one, record in self.records.items() if record[_TARGET] is None]

    def known_ids(self, ids):
        """Those of the samples whose outcome has come; warn that the others are left out."""
        known = [one for one in ids if self.records[one][_TARGET] is not None]
        if len(known) < len(ids):
            warn(
                f"{len(ids) - len(known)} samples have no outcome although the longest delay has "
                "passed. They are left out. If that depends on the decision, as with applicants "
                "who were refused, the rates of the others are not those of all."
            )
        return known
