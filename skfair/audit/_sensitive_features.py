"""What is known of the groups of samples, and what is assumed of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from skfair._groups import Groups, check_groups
from skfair._groups.known import (
    MISSING,
    check_group_probabilities,
    fill_missing,
    make_probable_groups,
)
from skfair._statistics.hidden_groups import (
    HiddenGroups,
    ProbabilisticGroups,
    RecordedGroups,
    check_odds_ratio,
    describe_missing_assumption,
    describe_probability_assumption,
    stack_features,
)
from skfair._utils.api import Label, MatrixLike
from skfair._utils.checks import argument_error, join_names
from skfair._utils.sklearn import count_samples
from skfair._utils.tables import TableLike
from skfair.audit._bins import bin_groups, find_group_bins

_OF_LABELS = ("error", "exclude", "group", "at_random")
_OF_PROBABILITIES = ("error", "sufficient", "independent")
"""Values of `missing` where labels of groups are recorded, and where probabilities alone are."""


class SensitiveFeatures:
    """Groups of which some are not known, to be passed as ``sensitive_features`` of an audit.

    Where the group of every sample is known, pass the labels themselves.

    Read more in the :ref:`guide <missing_groups>`.

    Parameters
    ----------
    labels : array-like, str or list of str, default=None
        Group of each sample, one column per attribute, some of which may be missing. Of a table of
        counts or a file, the names of these columns. None if only probabilities are known.
    unknown : list of labels, default=None
        Labels that stand for an unknown group, such as ``["Unknown", "Decline to state"]``, in any
        attribute. They count as missing, and are excluded where `missing` is "error". Text is
        compared without regard to case and surrounding spaces.
    missing : str, default="error"
        What happens to samples whose group is missing.

        - "error" raises an error. Of probabilities alone nothing is assumed: a claim must
          hold for every way in which groups and decisions may be linked.
        - "exclude" leaves them out of the groups of the attribute and of its combinations, and out
          of claims.
        - "group" compares them as the group "(missing)".
        - "at_random" estimates rates of decisions. Of samples with equal `X`, predictions and
          outcomes, those with a record are assumed to be as the others. The estimates combine a
          model of the group with one of the record, and are right if one of them is ([1]_).
        - "sufficient" and "independent" say what is assumed of probabilities alone. With
          "sufficient" decisions and groups are uncorrelated among samples of equal probabilities,
          as if the probabilities were made of all that the decisions are made of ([2]_). With
          "independent" probabilities do not depend on decisions among samples of one group ([3]_).
          Errors of both have opposite signs in many applications, and each may be large. With
          "error" a claim has bounds, which are sharp for two groups ([4]_).
    X : array-like of shape (n_samples, n_features), default=None
        Features that model the groups that are missing, with "at_random".
    probabilities : array-like of shape (n_samples, n_groups), default=None
        Probability of each group, such as that by names and places; a DataFrame names the groups.
        With "at_random" they are further features of the models.
    odds_ratio : float, default=1.0
        With "at_random", the largest factor by which odds of a group may differ between equal
        samples with and without a record ([5]_). ``np.inf`` assumes nothing. For claims.
    bins : dict, default=None
        Ascending numbers at which an attribute is divided, by its name, such as
        ``{"age": [40, 65]}`` for under 40, 40 to under 65, and 65 or older; of arrays by its
        position. An attribute that is not named, and has more than 30 numbers, of which some have
        decimals, is divided into four bins of equally many samples. Whole numbers are labels, with
        a warning if there are more than 30. Metrics and fits refuse more than 30 numbers: pass
        them :meth:`bin_labels`.

    Raises
    ------
    ValueError
        If there are neither labels nor probabilities, or arguments contradict each other. Bins
        that are not ascending, or of no attribute, are an error where labels are read.
    TypeError
        If `unknown` is not a list.

    References
    ----------
    .. [1] J. M. Robins, A. Rotnitzky and L. P. Zhao, "Estimation of regression coefficients when
       some regressors are not always observed", Journal of the American Statistical Association
       89, 1994.
    .. [2] J. Chen, N. Kallus, X. Mao, G. Svacha and M. Udell, "Fairness under unawareness:
       assessing disparity when protected class is unobserved", FAT* 2019.
    .. [3] C. McCartan, R. Fisher, J. Goldin, D. E. Ho and K. Imai, "Estimating racial disparities
       when race is not observed", NBER working paper 32373, 2024.
    .. [4] N. Kallus, X. Mao and A. Zhou, "Assessing algorithmic fairness with unobserved protected
       class using data combination", Management Science 68, 2022.
    .. [5] Z. Tan, "A distributional approach for causal inference using propensity scores",
       Journal of the American Statistical Association 101, 2006.

    Examples
    --------
    >>> from skfair.audit import Audit, SensitiveFeatures
    >>> sex = SensitiveFeatures(["f", "m", "n/a"] * 100, unknown=["n/a"])
    >>> audit = Audit.from_predictions(None, [1, 0, 1] * 100, sensitive_features=sex)
    >>> audit.report().n_missing
    {'attribute 1': 100}

    A quarter of the groups is recorded, more often where the decision was positive. Claims have
    limits if groups are missing at random, and limits that hold whatever the missing groups are:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.choice(["f", "m"], size=8000)
    >>> income = rng.normal(size=8000) + (sex == "m")
    >>> accepted = (income + rng.normal(size=8000) > 0.5).astype(int)
    >>> is_recorded = rng.random(8000) < np.where(accepted, 0.3, 0.2)
    >>> recorded, X = np.where(is_recorded, sex, None), income[:, np.newaxis]
    >>> true = accepted[sex == "m"].mean() - accepted[sex == "f"].mean()
    >>> print(f"the gap is {true:.2f}")
    the gap is 0.28
    >>> for ratio in (1.0, np.inf):
    ...     known = SensitiveFeatures(recorded, missing="at_random", X=X, odds_ratio=ratio)
    ...     audit = Audit.from_predictions(None, accepted, sensitive_features=known)
    ...     claim = audit.certify("demographic_parity", 0.4)
    ...     print(f"{claim.low:.2f} to {claim.high:.2f} {claim.assumption}")
    0.28 to 0.35 if groups are missing at random given X, predictions and outcomes
    0.00 to 0.84 whatever the missing groups are
    """

    def __init__(
        self,
        labels: Any = None,
        *,
        unknown: Sequence[Label] | None = None,
        missing: str = "error",
        X: MatrixLike | None = None,
        probabilities: MatrixLike | None = None,
        odds_ratio: float = 1.0,
        bins: Mapping[Label, Sequence[float]] | None = None,
    ):
        if isinstance(unknown, str) or (unknown is not None and not isinstance(unknown, Iterable)):
            raise TypeError(
                f"unknown must be a list of labels, such as ['Unknown']; got {unknown!r}."
            )
        self.labels, self.missing, self.X = labels, missing, X
        self.unknown = [] if unknown is None else list(unknown)
        self.probabilities, self.odds_ratio = probabilities, check_odds_ratio(odds_ratio)
        self.bins = dict(bins or {})
        self._check()

    def __repr__(self) -> str:
        known = "labels" if self.probabilities is None else "probabilities"
        return f"<SensitiveFeatures of {known}: missing={self.missing!r}, unknown={self.unknown!r}>"

    def _check(self) -> None:
        """Raise for arguments that contradict each other."""
        if self.labels is None and self.probabilities is None:
            raise ValueError(
                "Groups are compared: pass sensitive_features, or SensitiveFeatures of "
                "probabilities; got neither."
            )
        values = _OF_PROBABILITIES if self.labels is None else _OF_LABELS
        if self.missing not in values:
            known = "are known as probabilities alone" if self.labels is None else "have labels"
            raise argument_error(
                f"missing must be one of {join_names(map(repr, values))} where groups {known}; got "
                f"{self.missing!r}."
            )
        unused = {"X": self.X, "probabilities": None if self.labels is None else self.probabilities}
        unused |= {"odds_ratio": None if self.odds_ratio == 1.0 else self.odds_ratio}
        for name, value in unused.items():
            if value is not None and self.missing != "at_random":
                raise argument_error(
                    f"{name} is about samples whose group is missing, and is used with "
                    f"missing='at_random' only; got missing={self.missing!r}. Pass that, or leave "
                    f"{name} out."
                )

    @property
    def is_modelled(self) -> bool:
        """Whether groups are not all known, but modelled."""
        return self.labels is None or self.missing == "at_random"

    @property
    def treatment(self) -> str:
        """What happens to samples whose group is missing or unknown."""
        return "exclude" if self.unknown and self.missing == "error" else self.missing

    @property
    def argument(self) -> str:
        """The argument by which groups are modelled, as messages name it."""
        known = "a table of probabilities of groups"
        return known if self.labels is None else "missing='at_random'"

    def describe_assumption(self) -> str:
        """What is assumed, as a clause; empty if nothing is modelled.

        Returns
        -------
        assumption : str
        """
        if not self.is_modelled:
            return ""
        if self.labels is None:
            return describe_probability_assumption(self.missing)
        return describe_missing_assumption(self.odds_ratio, "X, predictions and outcomes")

    def replace_labels(self, labels: Any) -> SensitiveFeatures:
        """A copy with other labels, such as the columns that these name.

        Parameters
        ----------
        labels : array-like or None
            As in the constructor.

        Returns
        -------
        sensitive_features : SensitiveFeatures
        """
        copied = copy(self)
        copied.labels = labels
        return copied

    def replace_features(self, X: MatrixLike) -> SensitiveFeatures:
        """A copy with features that model missing groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in the constructor.

        Returns
        -------
        sensitive_features : SensitiveFeatures
        """
        copied = copy(self)
        copied.X = X
        return copied

    def fill(self, n_samples: int) -> TableLike:
        """Labels of all samples, where missing ones are named "(missing)" unless that is an error.

        Of probabilities alone all samples are one group.

        Parameters
        ----------
        n_samples : int
            Number of samples.

        Returns
        -------
        labels : array-like of shape (n_samples,) or (n_samples, n_attributes)
        """
        if self.labels is None:
            return np.zeros(n_samples, dtype=int)
        return fill_missing(self.labels, self.unknown) if self.treatment != "error" else self.labels

    def bin_labels(self) -> pd.DataFrame:
        """Labels as audits read them, with the bins of their numbers, for metrics and fits.

        Returns
        -------
        labels : DataFrame of shape (n_samples, n_attributes)
            Missing ones are named "(missing)" unless that is an error.

        Examples
        --------
        >>> from skfair.audit import SensitiveFeatures
        >>> SensitiveFeatures([39, 40, 70], bins={0: [40, 65]}).bin_labels()[0].tolist()
        ['attribute 1 < 40', '40 <= attribute 1 < 65', 'attribute 1 >= 65']
        """
        n_samples = count_samples(self.labels)
        groups = check_groups(self.fill(n_samples), n_samples)
        groups = bin_groups(groups, find_group_bins(groups, self.labels, self.bins))
        index = self.labels.index if hasattr(self.labels, "iloc") else None
        return pd.DataFrame(groups.labels[groups.codes], index, groups.attributes)

    def select_known(self, groups: Groups) -> Groups:
        """The groups that are compared where groups are modelled.

        Parameters
        ----------
        groups : Groups
            Those of the labels, of which one may be "(missing)".

        Returns
        -------
        groups : Groups
        """
        if self.labels is None:
            rows = np.arange(len(groups.codes))
            return make_probable_groups(check_group_probabilities(self.probabilities, rows))
        known = np.flatnonzero(~(groups.labels == MISSING).any(axis=1))
        if not len(known):
            raise argument_error(
                "sensitive_features must have the group of some samples, but all of them are "
                "missing. Record the group of random samples, or pass probabilities alone."
            )
        return groups.select(known)

    def make_modeller(self, columns: list[np.ndarray]) -> Callable[[Groups], HiddenGroups]:
        """Function that models the members of groups, which some samples may be in none of.

        Parameters
        ----------
        columns : list of ndarray of shape (n_samples,)
            What a record may depend on, besides X: decisions and outcomes.

        Returns
        -------
        model : callable
            From `Groups` to `HiddenGroups`.
        """
        if self.labels is None:
            return cache(partial(_model_probable_groups, self.missing))
        probabilities = self.probabilities
        if probabilities is not None:
            probabilities = check_group_probabilities(probabilities, columns[0])
        features = stack_features(self.X, columns, probabilities)
        return cache(partial(_model_recorded_groups, features, self.odds_ratio))


def _model_recorded_groups(
    features: np.ndarray, odds_ratio: float, groups: Groups
) -> RecordedGroups:
    """`RecordedGroups` of groups that some samples are in none of."""
    members, codes_of_members = groups.memberships
    codes = np.full(len(features), -1)
    codes[members] = codes_of_members
    return RecordedGroups(groups.names, codes, features, odds_ratio)


def _model_probable_groups(missing: str, groups: Groups) -> ProbabilisticGroups:
    """`ProbabilisticGroups` of groups whose memberships are probabilities."""
    table = pd.DataFrame(groups.matrix.toarray(), columns=[str(name) for name in groups.names])
    return ProbabilisticGroups(table, missing)


def as_sensitive_features(
    sensitive_features: TableLike | SensitiveFeatures | None,
) -> SensitiveFeatures:
    """What is known of groups: the object itself, or labels that are all known."""
    if isinstance(sensitive_features, SensitiveFeatures):
        return sensitive_features
    return SensitiveFeatures(sensitive_features)
