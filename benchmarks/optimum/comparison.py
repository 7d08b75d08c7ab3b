"""How far fits are from the optimum of small problems, and how often their status is wrong."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

ROUNDING = 1e-6
"""A difference of costs below this is rounding, or the tolerance of a solver."""


class Outcome(NamedTuple):
    """A fit and the optimum of its problem."""

    cost: float
    optimum: float  # the minimum of the answers that keep what the fit keeps; nan if none does
    trivial: float  # minimum of the trivial answers that keep the requirement; inf if none does
    meets_limits: bool  # whether the fit keeps the requirement
    status: str
    is_possible: bool = True  # whether an answer keeps the requirement

    @property
    def has_wrong_status(self):
        """Whether the status says more, or less, than is true."""
        if self.status == "optimal" and self.cost > self.optimum + ROUNDING:
            return True
        if self.status == "infeasible":
            return self.meets_limits or self.is_possible
        return not self.meets_limits and self.status in ("optimal", "feasible")


class Case(NamedTuple):
    """Problems of one estimator under one requirement."""

    estimator: str
    requirement: str
    optimum: str  # how it is found
    compare: Callable  # seed -> the `Outcome` list of its problems
    covers: tuple = ()  # names of the constraints that are compared
    is_share: bool = False  # whether costs are shares of samples: their differences are shown

    def excess(self, outcome):
        """What a fit costs above the optimum: a share of samples, or relative to the optimum."""
        difference = outcome.cost - outcome.optimum
        return difference if self.is_share else difference / outcome.optimum


def summarise(case, n_seeds):
    """The record of a case."""
    outcomes = [outcome for seed in range(n_seeds) for outcome in case.compare(seed)]
    excess = [case.excess(one) for one in outcomes if one.meets_limits and np.isfinite(one.optimum)]
    return {
        "estimator": case.estimator,
        "requirement": case.requirement,
        "optimum by": case.optimum,
        "unit": "share" if case.is_share else "relative",
        "fits": len(outcomes),
        "kept": sum(bool(one.meets_limits) for one in outcomes),
        "possible": sum(bool(one.is_possible) for one in outcomes),
        "mean above": float(np.mean(excess)) if excess else np.nan,
        "worst above": float(np.max(excess)) if excess else np.nan,
        "worse than trivial": sum(
            bool(one.meets_limits and one.cost > one.trivial + ROUNDING) for one in outcomes
        ),
        "wrong status": sum(bool(one.has_wrong_status) for one in outcomes),
    }
