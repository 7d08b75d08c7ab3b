"""Scores ranked within groups, which the partial metrics share."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair.groups import check_columns, check_interval, is_in_intervals, tabulate_scores
from skfair.metrics._gaps import warn_of_unknown


class Scored(NamedTuple):
    """Scores, group codes and positive weights of members: one row for each group of a sample.

    `names` and `intervals` have one entry per group; an interval is an array of shape (n_pairs, 2).
    """

    y_score: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    names: list
    intervals: list

    def take(self, rows):
        """Subset of the members, with all groups."""
        y_score, codes, weights = self.y_score[rows], self.codes[rows], self.weights[rows]
        return self._replace(y_score=y_score, codes=codes, weights=weights)

    def table(self):
        """`ScoreTable` of the members at the distinct scores."""
        return tabulate_scores(self.y_score, self.codes, len(self.names))

    def select(self):
        """Mask of the members with a rank in the interval of the group, (n_members,)."""
        selected = np.zeros(len(self.codes), dtype=bool)
        for members, pairs in zip(self._members(), self.intervals, strict=True):
            if len(members):
                scores = self.y_score[members]
                values, _, ranks = _rank(scores, self.weights[members])
                chosen = (values[_is_inside(ranks, pair)] for pair in pairs)
                # Each pair selects a range of scores, from its highest to its lowest value.
                masks = [(v[-1] <= scores) & (scores <= v[0]) for v in chosen if len(v)]
                selected[members] = np.any(masks, axis=0)
        return selected

    def _members(self):
        """Positions of the members of each group."""
        # A stable sort by code: small integers are sorted by radix, in linear time.
        order = np.argsort(self.codes.astype(np.min_scalar_type(len(self.names))), kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.codes, minlength=len(self.names)))[:-1])

    def selected_rates(self):
        """Share of the selected of each group above every selected score, (n_groups, n_thresholds).

        The last threshold is -inf. The shares of a group without selected members are nan.
        """
        # Selected scores of every group, descending, with the weight at or above each.
        ranked = []
        for members, pairs in zip(self._members(), self.intervals, strict=True):
            values, weight_at, ranks = _rank(self.y_score[members], self.weights[members])
            inside = _is_inside(ranks, pairs)
            ranked.append((values[inside], np.cumsum(weight_at[inside])))
        # Evaluate all groups at the selected scores of all.
        thresholds = np.sort(np.concatenate([[-np.inf], *(values for values, _ in ranked)]))[::-1]
        rates = np.full((len(ranked), len(thresholds)), np.nan)
        for of_group, (values, up_to) in zip(rates, ranked, strict=True):
            if len(values) and up_to[-1] > 0:
                above = np.searchsorted(-values, -thresholds)
                of_group[:] = np.append(0.0, up_to)[above] / up_to[-1]
        return rates

    def rates_above(self, threshold, selected, scale):
        """Share of each group that is selected and above a threshold, (n_groups,).

        It is a share of the selected members or, with ``scale="raw"``, of all members; nan for a
        group without selected members.
        """
        n_groups = len(self.names)
        # Weights of the selected members: above the threshold, and all.
        chosen = self.weights * selected
        above = np.bincount(self.codes, chosen * (self.y_score > threshold), n_groups)
        present = np.bincount(self.codes, chosen, n_groups)
        sizes = np.bincount(self.codes, self.weights, n_groups)
        totals = present if scale == "normalized" else sizes
        return np.divide(above, totals, out=np.full(n_groups, np.nan), where=present > 0)


def _rank(scores, weights):
    """Distinct scores of a group, descending, with the weight at each and the share above each."""
    # Equal weights need no argsort, which is slower than a sort.
    if np.ptp(weights) > 0:
        descending = np.argsort(-scores)
        scores, weights = scores[descending], weights[descending]
    else:
        scores = -np.sort(-scores)
    # Tied scores are one value with one rank: the share of the group strictly above it.
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    weight_at = np.add.reduceat(weights, starts)
    up_to = np.cumsum(weight_at)
    return scores[starts], weight_at, np.append(0.0, up_to[:-1]) / up_to[-1]


def _is_inside(ranks, pairs):
    """Mask of the ranks of one group that lie in its interval, or in one pair of it."""
    return is_in_intervals(ranks[np.newaxis], [np.atleast_2d(pairs)])[0]


def check_scored(sensitive_features, sample_weight, interval, **columns):
    """Check the input of a partial metric: `Scored` members, and the columns other than y_score."""
    samples, arrays = check_columns(sensitive_features, sample_weight, **columns)
    # A sample in several groups becomes several members.
    rows, codes = samples.groups.memberships
    members = dict(zip(columns, (array[rows] for array in arrays), strict=True))
    y_score = members.pop("y_score")
    scored = Scored(
        y_score=check_array(y_score, ensure_2d=False, dtype=np.float64, input_name="y_score"),
        codes=codes,
        weights=samples.weights[rows],
        names=samples.groups.names,
        intervals=check_interval(interval, samples.groups),
    )
    return scored, list(members.values())


def largest_difference(rates, names, condition="a rank in the interval"):
    """Largest difference between two groups' rates, at any threshold.

    `rates` has one row per group, nan where they are unknown because no member has the `condition`.
    """
    rates = rates.reshape(len(names), -1)
    # The lowest threshold is -inf, so a group without samples in the interval has nan there.
    known = warn_of_empty(~np.isnan(rates[:, -1]), names, condition)
    if known.sum() < 2:
        return 0.0 if len(names) == 1 else float("nan")
    return float(np.ptp(rates[known], axis=0).max())


def warn_of_empty(known, names, condition):
    """Pass on the mask of the groups that can be compared, with a warning that names the others."""
    if len(names) > 1:
        warn_of_unknown(
            known,
            names,
            f"{(~known).sum()} of {len(known)} groups have no samples with {condition}",
            " Tied scores have one rank, so an interval may miss a whole group: widen it, or use "
            "scores with fewer ties.",
        )
    return known


def check_option(name, value, options):
    """Refuse a value that is not among the options."""
    if value not in options:
        shown = " or ".join(f'"{option}"' for option in options)
        raise ValueError(f"{name} must be {shown}; got {value!r}.")
