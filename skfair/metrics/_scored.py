"""Scores of people in groups, ranked within them: what the partial metrics share."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import check_array

from skfair.metrics._people import check_people
from skfair.utils._percentiles import check_interval, tabulate_scores


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
        return self.table().select(self.intervals, self.weights)

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


def check_scored(sensitive_features, sample_weight, interval, **columns):
    """Check the input of a partial metric; samples of zero weight are absent.

    Parameters
    ----------
    sensitive_features, sample_weight
        As in `check_people`.
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
    people, arrays = check_people(sensitive_features, sample_weight, **columns)
    members = dict(zip(columns, (array[people.rows] for array in arrays), strict=True))
    y_score = members.pop("y_score")
    scored = Scored(
        y_score=check_array(y_score, ensure_2d=False, dtype=np.float64, input_name="y_score"),
        codes=people.codes,
        weights=people.weights[people.rows],
        names=people.names,
        intervals=check_interval(interval, people),
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
    if len(names) > 1 and not known.all():
        unknown = [repr(names[group]) for group in np.flatnonzero(~known)]
        shown = ", ".join(unknown[:10]) + (", ..." if len(unknown) > 10 else "")
        rest = "The others are compared." if known.sum() > 1 else "That leaves no two to compare."
        warnings.warn(
            f"{len(unknown)} of {len(known)} groups have nobody with {condition}: {shown}. {rest} "
            "Tied scores have one rank, so an interval may miss a whole group: widen it, or use "
            "scores with fewer ties.",
            UndefinedMetricWarning,
            stacklevel=4,
        )
    return known


def check_option(name, value, options):
    """Refuse a value that is not among the options."""
    if value not in options:
        shown = " or ".join(f'"{option}"' for option in options)
        raise ValueError(f"{name} must be {shown}; got {value!r}.")
