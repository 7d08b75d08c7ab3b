"""Populations from which statements with a stated probability are drawn again."""

from typing import NamedTuple

import numpy as np

from skfair.audit import Audit
from skfair.audit._certify import bind_audit
from skfair.audit._predictions import resolve_constraint

HOUSEHOLD = 4
"""Consecutive samples of a household."""

N_OF_GROUP = 4_000
"""Samples that represent a group of a population."""


class Population(NamedTuple):
    """Columns of a finite population, from which samples are drawn with replacement.

    Each has a value per sample. A sample is drawn with a probability proportional to 1 / `weight`.
    Consecutive samples of equal `household` are drawn together. A column that is None does not
    exist.
    """

    group: np.ndarray
    outcome: np.ndarray | None = None
    decision: np.ndarray | None = None
    score: np.ndarray | None = None
    weight: np.ndarray | None = None
    household: np.ndarray | None = None

    def draw(self, sizes, rng):
        """Draw so many samples of each group, in the order of the groups' names."""
        names = np.unique(self.group)
        rows = [
            self._draw_rows(np.flatnonzero(self.group == name), size, rng)
            for name, size in zip(names, sizes, strict=True)
        ]
        drawn = self.take(np.concatenate(rows))
        if self.household is None:
            return drawn
        # A household that is drawn twice counts as two.
        return drawn._replace(household=np.arange(len(drawn.group)) // HOUSEHOLD)

    def _draw_rows(self, members, size, rng):
        """Draw rows of a group, whose rows are `members`."""
        if self.household is not None:
            first = members[::HOUSEHOLD][rng.integers(len(members) // HOUSEHOLD, size=size)]
            return (first[: size // HOUSEHOLD, np.newaxis] + np.arange(HOUSEHOLD)).ravel()
        if self.weight is None:
            return members[rng.integers(len(members), size=size)]
        chances = 1.0 / self.weight[members]
        return rng.choice(members, size, p=chances / chances.sum())

    def take(self, rows):
        """The samples in these rows."""
        return Population(*(None if one is None else one[rows] for one in self))

    def audit(self, **columns):
        """The audit of these samples, with other columns in place of some."""
        predictions = {"y_true": self.outcome, "y_pred": self.decision} | columns
        return Audit.from_predictions(
            predictions["y_true"],
            predictions["y_pred"],
            y_score=self.score,
            sensitive_features=self.group,
            sample_weight=self.weight,
            groups=self.household,
            min_group_size=2,
        )

    def find_gap(self, constraint):
        """The gap of the population in a constraint; the smallest ratio of one with a ratio.

        All samples of the population count equally.
        """
        audit = self._replace(weight=None, household=None).audit()
        bounds = bind_audit(audit, resolve_constraint(constraint, None, takes_all=True))
        gaps = [one.gap for one in bounds]
        return min(gaps) if bounds[0].bound.gap.is_ratio else max(gaps)


def make_decisions(rates, *, size=N_OF_GROUP, seed=0):
    """Groups a, b, ... with these selection rates; outcomes and scores are unrelated to decisions.

    Scores are probabilities of a positive outcome, calibrated and higher where the rate is.
    """
    rng = np.random.default_rng(seed)
    rates = np.asarray(rates)
    codes = np.repeat(np.arange(len(rates)), size)
    ranks = np.tile(np.arange(size), len(rates))
    decision = (ranks < np.round(rates * size)[codes]).astype(int)
    shifts = (rates - rates.mean())[codes]
    score = np.clip(rng.beta(2.0, 2.0, len(codes)) + shifts, 0.01, 0.99)
    outcome = (rng.random(len(codes)) < score).astype(int)
    return Population(_name_groups(codes), outcome, decision, score)


def make_errors(positives, negatives=None, *, size=N_OF_GROUP, seed=0):
    """Groups whose decisions about positives and negatives are wrong at these rates.

    None stands for equal rates of both. Scores are log odds that say more where errors are fewer.
    """
    rng = np.random.default_rng(seed)
    by_class = np.array([positives if negatives is None else negatives, positives])  # (2, n_groups)
    codes = np.repeat(np.arange(len(positives)), size)
    ranks = np.tile(np.arange(size), len(positives))
    outcome = ranks % 2
    rates = by_class[outcome, codes]
    is_wrong = (ranks // 2 < np.round(rates * size / 2)).astype(int)
    signal = (1.0 - 2.0 * rates) * (2.0 * outcome - 1.0)
    score = 2.0 * signal + rng.normal(size=len(codes))
    return Population(_name_groups(codes), outcome, outcome ^ is_wrong, score)


def make_households(rates, size=N_OF_GROUP, seed=0):
    """Groups with these selection rates, whose households tend to be selected together."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(rates)), size)
    household = np.arange(len(codes)) // HOUSEHOLD
    # A household is selected with a probability of Beta(rate, 1 - rate): correlation 1 / 2.
    rate = np.asarray(rates)[codes[::HOUSEHOLD]]
    chances = rng.beta(rate, 1.0 - rate)[household]
    decision = (rng.random(len(codes)) < chances).astype(int)
    return Population(_name_groups(codes), decision=decision, household=household)


def add_weights(population, sigma=0.8, seed=1):
    """The population with sampling weights, higher where a decision or outcome is positive."""
    rng = np.random.default_rng(seed)
    is_positive = population.outcome if population.decision is None else population.decision
    weights = np.exp(sigma * rng.normal(size=len(is_positive)) + 0.3 * is_positive)
    return population._replace(weight=weights)


def make_numbers(errors, *, spread=0.15, size=N_OF_GROUP, seed=0):
    """Real outcomes in groups, whose predictions have these mean errors."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(errors)), size)
    outcome = rng.normal(size=len(codes))
    decision = outcome + np.asarray(errors)[codes] + spread * rng.gamma(2.0, size=len(codes))
    return Population(_name_groups(codes), outcome, decision)


def make_probabilities(first, second, *, size=20_000, seed=0):
    """Two groups of probabilities of outcomes; each group is drawn by a function of rng and size.

    The functions return the stated probabilities and those with which outcomes are positive.
    """
    rng = np.random.default_rng(seed)
    drawn = [draw(rng, size) for draw in (first, second)]
    score, chance = (np.concatenate(one) for one in zip(*drawn, strict=True))
    outcome = (rng.random(2 * size) < chance).astype(int)
    return Population(np.repeat(["a", "b"], size), outcome, score=score)


def cluster_probabilities(population):
    """The population with households of equal outcomes and probabilities, each copied once."""
    rows = np.repeat(np.arange(0, len(population.group), HOUSEHOLD), HOUSEHOLD)
    return population.take(rows)._replace(household=np.arange(len(rows)) // HOUSEHOLD)


def _name_groups(codes):
    """Names a, b, ... of the groups of samples."""
    return np.array(list("abcdefghij"))[codes]
