"""Scores of people in groups, ranked within them: what the partial metrics share."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_array

from skfair.groups import check_columns, check_interval, is_in_intervals, tabulate_scores
from skfair.metrics._gaps import report_unknown


class Scored(NamedTuple):
    """Scored members of groups, one row for each group that a sample is in.

    Attributes
    ----------
    y_score : ndarray of float64, shape (n_members,)
        Score of each member.
    codes : ndarray of intp, shape (n_members,)
        Group of each member.
    weights : ndarray of float64, shape (n_members,)
        Weight of each member, positive.
    names : list of length n_groups
        What each group is called.
    intervals : list of ndarray, one per group, each of shape (n_pairs, 2)
        Percentile intervals of the groups.
    """

    y_score: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    names: list
    intervals: list

    def take(self, rows):
        """Keep some of the members, and all of the groups."""
        y_score, codes, weights = self.y_score[rows], self.codes[rows], self.weights[rows]
        return self._replace(y_score=y_score, codes=codes, weights=weights)

    def table(self):
        """The members sorted into the distinct scores, as a `ScoreTable`."""
        return tabulate_scores(self.y_score, self.codes, len(self.names))

    def selected(self):
        """Whether each member's rank lies in the interval of the group, (n_members,)."""
        selected = np.zeros(len(self.codes), dtype=bool)
        for members, pairs in zip(self._members(), self.intervals, strict=True):
            if len(members):
                scores = self.y_score[members]
                values, _, ranks = _ranked(scores, self.weights[members])
                chosen = (values[_inside(ranks, pair)] for pair in pairs)
                ranges = [(own[-1] <= scores) & (scores <= own[0]) for own in chosen if len(own)]
                selected[members] = np.any(ranges, axis=0)
        return selected

    def _members(self):
        """Positions of the members of each group, whose scores are sorted by themselves."""
        order = np.argsort(self.codes.astype(np.min_scalar_type(len(self.names))), kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.codes, minlength=len(self.names)))[:-1])

    def selected_rates(self):
        """Share of the selected of each group above every selected score, (n_groups, n_thresholds).

        The last threshold is -inf. The shares of a group of which nobody is selected are nan.
        """
        ranked = []
        for members, pairs in zip(self._members(), self.intervals, strict=True):
            values, weight_at, ranks = _ranked(self.y_score[members], self.weights[members])
            inside = _inside(ranks, pairs)
            ranked.append((values[inside], np.cumsum(weight_at[inside])))
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
        group of which nobody is selected.
        """
        n_groups = len(self.names)
        chosen = self.weights * selected
        above = np.bincount(self.codes, chosen * (self.y_score > threshold), n_groups)
        present = np.bincount(self.codes, chosen, n_groups)
        everyone = np.bincount(self.codes, self.weights, n_groups)
        totals = present if scale == "normalized" else everyone
        return np.divide(above, totals, out=np.full(n_groups, np.nan), where=present > 0)


def _ranked(scores, weights):
    """The distinct scores of a group, descending.

    Returns
    -------
    values : ndarray of shape (n_values,)
        The scores.
    weight_at : ndarray of shape (n_values,)
        Weight on each of them.
    ranks : ndarray of shape (n_values,)
        Share of the group above each of them.
    """
    if np.ptp(weights) > 0:
        descending = np.argsort(-scores)
        scores, weights = scores[descending], weights[descending]
    else:
        scores = -np.sort(-scores)
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    weight_at = np.add.reduceat(weights, starts)
    up_to = np.cumsum(weight_at)
    return scores[starts], weight_at, np.append(0.0, up_to[:-1]) / up_to[-1]


def _inside(ranks, pairs):
    """Which ranks of one group lie in its interval, or in one pair of it."""
    return is_in_intervals(ranks[np.newaxis], [np.atleast_2d(pairs)])[0]


def check_scored(sensitive_features, sample_weight, interval, **columns):
    """Check the input of a partial metric; samples of zero weight are absent.

    Parameters
    ----------
    sensitive_features, sample_weight
        As in `check_columns`.
    interval : pair of floats, list of pairs, or mapping of a group to either
        As in `check_interval`.
    **columns : array-like of shape (n_samples,)
        ``y_score``, and whatever else is known of the samples.

    Returns
    -------
    scored : Scored
        The members of the groups.
    columns : list of ndarray of shape (n_members,)
        The other columns, in the order given.
    """
    people, arrays = check_columns(sensitive_features, sample_weight, **columns)
    rows, codes = people.groups.memberships
    members = dict(zip(columns, (array[rows] for array in arrays), strict=True))
    y_score = members.pop("y_score")
    scored = Scored(
        y_score=check_array(y_score, ensure_2d=False, dtype=np.float64, input_name="y_score"),
        codes=codes,
        weights=people.weights[rows],
        names=people.groups.names,
        intervals=check_interval(interval, people.groups),
    )
    return scored, list(members.values())


def largest_difference(rates, names, condition="a rank in the interval"):
    """Largest difference between two groups' rates, at any threshold.

    Parameters
    ----------
    rates : ndarray of shape (n_groups,) or (n_groups, n_thresholds)
        Rates of the groups; nan for a group whose rates are unknown.
    names : list of length n_groups
        What each group is called.
    condition : str
        What nobody in a group of unknown rates has, for the warning.

    Returns
    -------
    difference : float
        0 for one group; nan if fewer than two groups' rates are known.
    """
    rates = rates.reshape(len(names), -1)
    known = known_groups(~np.isnan(rates[:, -1]), names, condition)
    if known.sum() < 2:
        return 0.0 if len(names) == 1 else float("nan")
    return float(np.ptp(rates[known], axis=0).max())


def known_groups(known, names, condition):
    """Pass on the mask of the groups that can be compared, with a warning that names the others."""
    if len(names) > 1:
        report_unknown(
            known,
            names,
            f"{(~known).sum()} of {len(known)} groups have nobody with {condition}",
            " Tied scores have one rank, so an interval may miss a whole group: widen it, or use "
            "scores with fewer ties.",
        )
    return known


def check_option(name, value, options):
    """Refuse a value that is not among the options."""
    if value not in options:
        shown = " or ".join(f'"{option}"' for option in options)
        raise ValueError(f"{name} must be {shown}; got {value!r}.")
