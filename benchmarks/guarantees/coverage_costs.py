"""Coverage of limits of mean costs: certificates, fits, reports and changes at the true value.

False positives are 10 % of all samples and cost 1. False negatives are rarer and cost more, so that
some samples have none. Every certificate of these draws is false.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from skfair._bound.bound import make_posterior
from skfair._groups import check_groups
from skfair._groups.events import Events
from skfair._statistics.bounded_means import make_estimates
from skfair._statistics.estimates import Means
from skfair.audit import Audit
from skfair.constraints import MaximumRate, RateParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.metrics import Rate, group_report
from skfair.surrogates import Sigmoid

LEVEL = 0.95


class Cost(NamedTuple):
    """The cost of a false negative, and the shares of these in two groups."""

    of_negative: float
    shares: tuple

    @property
    def rate(self):
        """The mean cost as a rate."""
        return Rate("cost", {"fp": 1, "fn": self.of_negative})

    @property
    def means(self):
        """The mean costs of both groups in the population."""
        return 0.1 + self.of_negative * np.asarray(self.shares)

    def constraint(self, is_parity):
        """The constraint that the population just keeps."""
        if is_parity:
            return RateParity(self.rate, tolerance=float(np.ptp(self.means)))
        return MaximumRate(self.rate, float(self.means.max()))


CERTIFIED = (
    (False, Cost(5, (0.02, 0.0)), 50),
    (False, Cost(10, (0.01, 0.0)), 100),
    (False, Cost(20, (0.005, 0.0)), 200),
    (False, Cost(50, (0.004, 0.0)), 150),
    (True, Cost(10, (0.01, 0.0)), 100),
    (True, Cost(20, (0.005, 0.001)), 200),
    (True, Cost(50, (0.004, 0.001)), 250),
)
REPORTED = ((Cost(20, (0.01, 0.01)), 100), (Cost(20, (0.005, 0.005)), 200))
CHANGED = (
    (False, Cost(20, (0.0, 0.0)), Cost(20, (0.01, 0.0)), 100),
    (True, Cost(20, (0.0, 0.0)), Cost(20, (0.01, 0.0)), 100),
)
"""Whether two models are compared, and costs before and after."""
COMMON = ((2, 0.15, 200), (3, 0.1, 200), (5, 0.05, 500))
"""Cost, share and samples where the outcome is not rare."""


def draw_outcomes(cost, n, rng, households=1):
    """Truths, decisions and groups of n samples a group; false negatives are those of households.

    Parameters
    ----------
    cost : Cost
        Costs and shares of false negatives.
    n : int
        Samples of each group, or households.
    rng : Generator
        Source of the outcomes.
    households : int
        Samples of each household.

    Returns
    -------
    outcomes : tuple of three ndarray, each of shape (2 * n * households,)
    """
    truth = rng.random(2 * n) < 0.3
    groups = np.repeat([0, 1], n)
    is_rejected = rng.random(2 * n) < np.asarray(cost.shares)[groups] / 0.3
    truth, is_rejected, groups = (
        np.repeat(one, households) for one in (truth, is_rejected, groups)
    )
    return truth, np.where(truth, ~is_rejected, rng.random(len(truth)) < 1 / 7), groups


def _certifies_nothing(cost, is_parity, weighted, n, rng):
    truth, decisions, groups = draw_outcomes(cost, n, rng)
    weights = rng.choice([1.0, 3.0], size=len(groups)) if weighted else None
    audit = Audit.from_predictions(
        truth, decisions, sensitive_features=groups, sample_weight=weights
    )
    return not audit.certify(cost.constraint(is_parity)).is_shown


def _guarantees_nothing(cost, is_parity, households, n, rng):
    truth, decisions, groups = draw_outcomes(cost, n, rng, households)
    samples = Samples(
        np.where(truth, 1.0, -1.0), check_groups(groups, len(groups)), np.ones(len(groups)), None
    )
    constraint = cost.constraint(is_parity)
    tolerance = constraint.tolerance if is_parity else 0.0
    bound = constraint.bind(samples, Sigmoid(), LogisticLoss(), tolerance)
    clusters = np.arange(len(groups)) // households if households > 1 else None
    return make_posterior(bound, np.where(decisions, 1.0, -1.0), clusters).probability() < LEVEL


def _reports_mean(cost, weighted, n, rng):
    truth, decisions, _ = draw_outcomes(cost, n, rng)
    row = group_report(
        truth[:n],
        decisions[:n],
        sensitive_features=np.zeros(n),
        metrics=[cost.rate],
        confidence_level=LEVEL,
        sample_weight=rng.choice([1.0, 3.0], size=n) if weighted else None,
    ).iloc[0]
    return row["cost_low"] <= cost.means[0] <= row["cost_high"]


def _reports_change(before, after, is_paired, n, rng):
    truth, first, groups = draw_outcomes(before, n, rng)
    other, second, _ = draw_outcomes(after, n, rng)
    if is_paired:
        # The second model has other false negatives, and most of the false positives.
        is_rejected = rng.random(2 * n) < np.asarray(after.shares)[groups] / 0.3
        second = np.where(truth, ~is_rejected, first & (rng.random(2 * n) < 0.8))
        second |= ~truth & (rng.random(2 * n) < 0.2 / 7)
        later = second
    else:
        later = Audit.from_predictions(other, second, sensitive_features=groups)
    audit = Audit.from_predictions(truth, first, sensitive_features=groups)
    report = audit.compare(later, metrics=[before.rate])
    row = report.gaps.set_index("metric").loc["cost"]
    true = np.ptp(after.means) - np.ptp(before.means)
    return row["change_low"] - 1e-9 <= true <= row["change_high"] + 1e-9


def list_costs():
    """Draws and numbers of samples of each group, by name."""
    kinds = {}
    for is_parity, cost, n in CERTIFIED:
        name = f"{'parity' if is_parity else 'largest'} cost of {cost.of_negative}"
        for judge, settings in (
            (_certifies_nothing, {"certificate": False, "certificate, weights": True}),
            (_guarantees_nothing, {"fit": 1, "fit, households": 3}),
        ):
            for label, setting in settings.items():
                kinds[f"{name}, {label}"] = partial(judge, cost, is_parity, setting), (n,)
    for (cost, n), weighted in ((one, flag) for one in REPORTED for flag in (False, True)):
        name = f"mean cost, share {cost.shares[0]}{', weights' if weighted else ''}"
        kinds[name] = partial(_reports_mean, cost, weighted), (n,)
    for is_paired, before, after, n in CHANGED:
        name = f"change of a mean cost, {'two models' if is_paired else 'two periods'}"
        kinds[name] = partial(_reports_change, before, after, is_paired), (n,)
    return kinds


def compare_widths(n_draws):
    """Yield mean widths of limits of common costs, relative to those of means of any values.

    Parameters
    ----------
    n_draws : int
        Draws of each case.

    Yields
    ------
    record : dict
    """
    for of_negative, share, n in COMMON:
        rng = np.random.default_rng(n)
        widths = []
        events = Events.disjoint(np.zeros(n, dtype=np.intp), 1)
        known = np.array([0.0, 1.0, of_negative])
        shares = [0.9 - share, 0.1, share]
        for _ in range(n_draws):
            x = rng.choice(known, size=n, p=shares)
            pair = make_estimates(events, x, known=known), Means(events, x)
            widths.append([np.ptp(one.limits((1.0 + LEVEL) / 2.0)) for one in pair])
        ours, hall = np.mean(widths, axis=0)
        yield {"limit": f"common cost of {of_negative}", "n": n, "width / Hall's": ours / hall}
