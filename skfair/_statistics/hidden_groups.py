"""Gaps between groups that are recorded for some samples only, or known as probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import sparse, special
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_array, check_consistent_length

from skfair._statistics.estimates import Rates
from skfair._utils.checks import argument_error, warn

if TYPE_CHECKING:
    from collections.abc import Collection

    from skfair._utils.api import GroupName
    from skfair._utils.tables import Table, TableLike


# Rates of groups from pseudo-memberships, which may be negative or above 1.


MIN_RECORDED = 30
"""Recorded samples of a group below which it is not compared: limits hold in .78 with ten."""


class HiddenRates(Rates):
    r"""Rates of groups whose members are not all known.

    With the weight :math:`\xi_{ig}` with which sample i counts in group g, the rate is
    :math:`\mu_g = \sum_i \xi_{ig} v_i / \sum_i \xi_{ig}`. The variance of its influence values
    gives an effective size :math:`\mu (1 - \mu) / \sigma^2`, with which the limits are those of a
    rate, by Student's quantile for the recorded samples unless all are recorded.

    `values` has shape (n_groups,), `influence` has shape (n_samples, n_groups), and `counts` has
    the number of recorded samples of each group.
    """

    def __init__(
        self,
        values: np.ndarray,
        influence: np.ndarray,
        counts: np.ndarray,
        is_complete: bool = False,
    ) -> None:
        self.values = np.clip(values, 0.0, 1.0)
        self.counts = counts
        self.is_weighted = not is_complete
        self.n_units = counts
        # Groups that are all recorded share no samples.
        self._unit_contributions = None
        if not is_complete:
            self._unit_contributions = sparse.csr_array(influence.T / len(influence))
        self._error_variances = (influence**2).sum(axis=0) / len(influence) ** 2
        variances = self.values * (1.0 - self.values)
        known = (variances > 0.0) & (self._error_variances > 0.0)
        self.sizes = np.divide(
            variances, self._error_variances, out=counts.astype(float), where=known
        )

    def _quantile(self, level: np.ndarray | float) -> np.ndarray | float:
        """Student's quantile for the recorded samples, the normal one if all are."""
        if not self.is_weighted:
            return special.ndtri(level)
        return special.stdtrit(np.maximum(self.counts - 1.0, 1.0), level)


def _membership_means(
    memberships: np.ndarray, within: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means of the values in groups of these memberships, and their influence values."""
    weights = within[:, np.newaxis] * memberships
    totals = weights.mean(axis=0)
    means = (weights * values[:, np.newaxis]).mean(axis=0) / totals
    return means, weights * (values[:, np.newaxis] - means) / totals


# Groups whose members are not all known.


class HiddenGroups(ABC):
    """Groups whose members are not all known, with what is assumed of them.

    `names` are those of the groups.
    """

    def __init__(self, names: list[GroupName]) -> None:
        self.names = names

    @abstractmethod
    def count(self, within: TableLike) -> np.ndarray:
        """Number of samples of each group, (n_groups,): those recorded, or those expected."""

    @abstractmethod
    def _extreme_means(
        self, values: np.ndarray, within: np.ndarray, sign: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Largest possible means, or for a negative sign smallest ones, and influence values."""

    @property
    def is_complete(self) -> bool:
        """Whether all members are known."""
        return False

    def to_identified_groups(self) -> HiddenGroups:
        """The same groups under an assumption that gives estimates, if there is one."""
        return self

    def rates(
        self, values: np.ndarray, within: np.ndarray, groups: np.ndarray | list[int]
    ) -> HiddenRates:
        """Estimated `HiddenRates` of the groups at these positions."""
        means, influence = self.to_identified_groups()._extreme_means(values, within, 1)
        counts = self.count(within)[groups]
        return HiddenRates(means[groups], influence[:, groups], counts, self.is_complete)

    def extreme_rates(
        self, values: np.ndarray, cells: Collection[tuple[np.ndarray, Any]]
    ) -> HiddenRates:
        """Largest possible `HiddenRates` of all events, followed by the smallest possible ones.

        `cells` are pairs of a mask of samples and of positions of groups, which are its events.
        """
        means = []
        influences = []
        for sign in (1, -1):
            for within, groups in cells:
                mean, influence = self._extreme_means(values, within, sign)
                means.append(mean[groups])
                influences.append(influence[:, groups])
        counts = np.concatenate([self.count(within)[groups] for within, groups in cells])
        return HiddenRates(
            np.concatenate(means), np.hstack(influences), np.tile(counts, 2), self.is_complete
        )


# Groups that are missing for some samples: models of the group, and of whether it is recorded.


_INVERSE_PENALTY = 0.1
"""C of both logistic models."""

_N_FOLDS = 5
"""Folds without which models of groups are fitted."""


class RecordedGroups(HiddenGroups):
    """Groups that are recorded for some samples, and models of those of the others.

    `codes` have the group of each sample, -1 if it is not recorded, and `features`, (n_samples,
    n_features), what the group and its being recorded may depend on. Samples without a record have
    odds of a group within `odds_ratio`, and 1 over it, of those of equal samples with one (Z. Tan,
    Journal of the American Statistical Association 101, 2006).
    """

    def __init__(
        self,
        names: list[GroupName],
        codes: np.ndarray,
        features: np.ndarray,
        odds_ratio: float = 1.0,
    ) -> None:
        super().__init__(names)
        self.is_recorded = codes >= 0
        self.odds_ratio = odds_ratio
        self.members = (codes[:, np.newaxis] == np.arange(len(names))).astype(float)
        self.probabilities = predict_group_probabilities(features, codes, len(names))
        self.recording_probabilities = _predict_recording(features, self.is_recorded)

    @property
    def is_complete(self) -> bool:
        return bool(self.is_recorded.all())

    def replace_odds_ratio(self, odds_ratio: float) -> RecordedGroups:
        """The same groups under another assumption; an infinite ratio assumes nothing."""
        other = copy(self)
        other.odds_ratio = odds_ratio
        return other

    def to_identified_groups(self) -> RecordedGroups:
        """The same groups, if missing at random.

        Their rates are augmented inverse probability weighted means (J. M. Robins, A. Rotnitzky and
        L. P. Zhao, Journal of the American Statistical Association 89, 1994): they are right if one
        of the two models is.
        """
        return self.replace_odds_ratio(1.0)

    def count(self, within: TableLike) -> np.ndarray:
        return self.members[within].sum(axis=0).astype(np.intp)

    def _extreme_means(
        self, values: np.ndarray, within: np.ndarray, sign: int
    ) -> tuple[np.ndarray, np.ndarray]:
        # The odds of samples of value 1 are multiplied by the odds ratio, and those of value 0
        # divided by it, or the reverse for a negative sign.
        ratio = float(self.odds_ratio)
        factors = np.where(values > 0.0, ratio**sign, ratio**-sign)
        tilted, slopes = _tilt_odds(self.probabilities, factors[:, np.newaxis])
        odds = ((1.0 - self.recording_probabilities) / self.recording_probabilities)[:, np.newaxis]
        corrected = self.members + odds * slopes * (self.members - self.probabilities)
        memberships = np.where(self.is_recorded[:, np.newaxis], corrected, tilted)
        return _membership_means(memberships, within, values)


def _tilt_odds(probabilities: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities whose odds are multiplied by factors from 0 to infinity, and their slopes."""
    with np.errstate(invalid="ignore"):
        totals = 1.0 - probabilities + factors * probabilities
        tilted = factors * probabilities / totals
        slopes = factors / totals**2
    is_end = np.isinf(factors) | (factors == 0.0)
    limit = np.where(factors > 1.0, 1.0, 0.0)
    return np.where(is_end, limit, tilted), np.where(is_end, 0.0, slopes)


def predict_group_probabilities(
    features: np.ndarray, codes: np.ndarray, n_groups: int
) -> np.ndarray:
    """Probability of each group by models of the recorded samples of the other folds.

    `features`, (n_samples, n_features), may be sparse; `codes` are -1 where a group is missing.
    """
    features = _standardize(features)
    is_recorded = codes >= 0
    if is_recorded.all():
        return (codes[:, np.newaxis] == np.arange(n_groups)).astype(float)
    from sklearn.linear_model import LogisticRegression  # takes long to import
    from sklearn.model_selection import KFold

    probabilities = np.zeros((len(codes), n_groups))
    for train, test in KFold(_N_FOLDS, shuffle=True, random_state=0).split(codes):
        train = train[is_recorded[train]]
        if len(np.unique(codes[train])) < 2:
            probabilities[np.ix_(test, np.unique(codes[train]))] = 1.0
            continue
        model = LogisticRegression(C=_INVERSE_PENALTY, max_iter=200).fit(
            features[train], codes[train]
        )
        probabilities[np.ix_(test, model.classes_)] = model.predict_proba(features[test])
    return probabilities


def unmix_group_probabilities(features: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Probability of each group given features, if probabilities depend on the group alone.

    The expectation of the probabilities given the features is then that given the groups, averaged
    by the probabilities that are sought: a system of as many equations as there are groups.
    """
    _invert_moments(probabilities)
    expected = _predict_probabilities(features, probabilities)
    mixing = probabilities.T @ probabilities / probabilities.sum(axis=0)
    members = np.maximum(np.linalg.solve(mixing, expected.T).T, 0.0)
    return members / members.sum(axis=1, keepdims=True)


def _predict_probabilities(features: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Out-of-fold expectation of the probabilities of groups given features."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # takes long to import
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold, cross_val_predict

    model = HistGradientBoostingRegressor(random_state=0)
    if sparse.issparse(features):
        model = Ridge()
    folds = KFold(_N_FOLDS, shuffle=True, random_state=0)
    columns = [cross_val_predict(model, features, one, cv=folds) for one in probabilities.T]
    return np.column_stack(columns)


def _standardize(features: np.ndarray) -> np.ndarray:
    """Features of mean 0, unless they are sparse, and of standard deviation 1."""
    return StandardScaler(with_mean=not sparse.issparse(features)).fit_transform(features)


def _predict_recording(features: np.ndarray, is_recorded: np.ndarray) -> np.ndarray:
    """Probability that the group of each sample is recorded."""
    if is_recorded.all():
        return np.ones(len(is_recorded))
    from sklearn.linear_model import LogisticRegression  # takes long to import

    features = _standardize(features)
    model = LogisticRegression(C=_INVERSE_PENALTY, max_iter=200).fit(features, is_recorded)
    # No probability is below a tenth of the mean one.
    least = 0.1 * is_recorded.mean()
    return np.clip(model.predict_proba(features)[:, 1], least, 1.0)


# Groups that are known as probabilities: bounds without an assumption, and two estimates.


class ProbabilisticGroups(HiddenGroups):
    """Groups that are known as probabilities, a DataFrame of shape (n_samples, n_groups).

    `missing` is a name in `ASSUMPTIONS`, or "error": then rates have bounds only.
    """

    def __init__(self, probabilities: pd.DataFrame, missing: str = "error") -> None:
        super().__init__([*probabilities.columns])
        self.probabilities = probabilities.to_numpy()
        self.missing = missing

    def count(self, within: TableLike) -> np.ndarray:
        return (within @ self.probabilities).round().astype(np.intp)

    def _extreme_means(
        self, values: np.ndarray, within: np.ndarray, sign: int
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.missing != "error":
            estimate, _ = ASSUMPTIONS[self.missing]
            return estimate(self.probabilities, within, values)
        hits = within * values
        misses = within * (1.0 - values)
        if sign < 0:  # the smallest mean is 1 minus the largest share of misses
            hits, misses = misses, hits
        bounds = [_frechet_bound(one, hits, misses) for one in self.probabilities.T]
        means, influence = zip(*bounds, strict=True)
        means = np.array(means)
        influence = np.column_stack(influence)
        return (means, influence) if sign > 0 else (1.0 - means, -influence)


_N_BINS = 20  # of equal numbers of samples, within which rates are bounded


def _frechet_bound(
    probability: np.ndarray, hits: np.ndarray, misses: np.ndarray
) -> tuple[float, np.ndarray]:
    """Largest possible rate of one group, and its influence values.

    In bins of the group's probability at most the smaller of the shares of the group and of the
    samples of value 1 are both (N. Kallus, X. Mao and A. Zhou, "Assessing algorithmic fairness with
    unobserved protected class using data combination", Management Science 68, 2022). The ends are
    sharp for two groups, and valid for more.
    """
    edges = np.quantile(probability, np.linspace(0.0, 1.0, _N_BINS + 1)[1:-1])
    bins = np.searchsorted(edges, probability)
    sizes = np.maximum(np.bincount(bins, minlength=_N_BINS), 1)
    share, hit, miss = (
        (np.bincount(bins, column, _N_BINS) / sizes)[bins] for column in (probability, hits, misses)
    )
    # As many hits and as few misses as possible are of the group.
    most = np.minimum(share, hit) + (hit < share) * (hits - hit)
    least = np.maximum(0.0, share + miss - 1.0) + (share + miss > 1.0) * (misses - miss)
    total = most.mean() + least.mean()
    rate = most.mean() / total
    return rate, (most - rate * (most + least)) / total


def _regress_means(
    probabilities: np.ndarray, within: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means by regressing hits and membership on the probabilities, and influence values.

    C. McCartan, R. Fisher, J. Goldin, D. E. Ho and K. Imai, "Estimating racial disparities when
    race is not observed", NBER working paper 32373, 2024.
    """
    inverse = _invert_moments(probabilities)
    means = []
    influences = []
    for column in (within * values, within):
        coefficients = inverse @ (probabilities.T @ column) / len(values)
        residuals = column - probabilities @ coefficients
        means.append(coefficients)
        influences.append(probabilities * residuals[:, np.newaxis] @ inverse)
    rates = means[0] / means[1]
    return rates, (influences[0] - rates * influences[1]) / means[1]


def _invert_moments(probabilities: np.ndarray) -> np.ndarray:
    """Inverse of the matrix of means of products of two probabilities."""
    moments = probabilities.T @ probabilities / len(probabilities)
    if np.linalg.cond(moments) > 1e8:
        raise ValueError(
            "missing='independent' needs probabilities that differ between samples in as many ways "
            "as there are groups, but those of group_probabilities are nearly collinear. Merge "
            "groups, or pass missing='error' to an audit for bounds."
        )
    return np.linalg.inv(moments)


ASSUMPTIONS = {
    "sufficient": (
        _membership_means,
        "if values and groups are uncorrelated among samples of equal probabilities",
    ),
    "independent": (
        _regress_means,
        "if the probabilities do not depend on values among samples of one group",
    ),
}
"""What `missing` may assume of probabilities: the estimates that it makes right, as a sentence."""


def describe_probability_assumption(missing: str) -> str:
    """What is assumed of probabilities of groups, as a clause."""
    return ASSUMPTIONS.get(missing, (None, "however group and value are linked"))[1]


def describe_missing_assumption(odds_ratio: float, features: str) -> str:
    """What is assumed of missing groups, as a clause; `features` names what it is given."""
    if np.isinf(odds_ratio):
        return "whatever the missing groups are"
    if odds_ratio == 1.0:
        return f"if groups are missing at random given {features}"
    return (
        "if the odds of a group differ between samples with and without a record, of equal "
        f"{features}, by a factor of at most {odds_ratio:g}"
    )


def extreme_contrasts(forms: sparse.csr_array) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Forms of rates as forms of their ends: where they are largest, and where smallest.

    `forms` is a csr_array over n rates. Ends are the largest possible n rates, followed by the
    smallest possible ones.
    """
    n_rates = forms.shape[1]
    largest = np.where(forms.data > 0.0, 0, n_rates)
    return tuple(
        sparse.csr_array(
            (forms.data, forms.indices + end, forms.indptr), shape=(forms.shape[0], 2 * n_rates)
        )
        for end in (largest, n_rates - largest)
    )


def to_log_odds(probabilities: np.ndarray) -> np.ndarray:
    """Log-odds of probabilities of groups, as features of models, (n_samples, n_groups)."""
    return special.logit(np.clip(probabilities, 1e-4, 1.0 - 1e-4))


def stack_features(
    X: Table | None, columns: list[np.ndarray], probabilities: pd.DataFrame | None = None
) -> np.ndarray:
    """Features of the models of groups and records: columns, X and probabilities, if passed."""
    if probabilities is not None:
        columns = [*columns, to_log_odds(probabilities.to_numpy())]
    if X is None:
        warn(
            "Without X groups are assumed to be missing at random among samples of equal "
            "predictions and outcomes. Pass X, the features on which a record may depend."
        )
        return np.column_stack(columns)
    X = pd.get_dummies(X, dtype=float) if isinstance(X, pd.DataFrame) else X
    X = check_array(X, dtype=float, input_name="X")
    check_consistent_length(columns[0], X)
    return np.column_stack([*columns, X])


def check_odds_ratio(odds_ratio: float) -> float:
    """A number from 1 on."""
    if not isinstance(odds_ratio, Real) or isinstance(odds_ratio, bool) or not odds_ratio >= 1.0:
        raise argument_error(
            "odds_ratio must be a number from 1 on, such as 1 for groups that are missing at "
            f"random, or np.inf; got {odds_ratio!r}."
        )
    return float(odds_ratio)
