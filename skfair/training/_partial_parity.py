"""What classifier and regressor of partial fairness share: a criterion as their one constraint."""

from numbers import Integral, Real

from skfair.constraints import PARTIAL_CRITERIA
from skfair.solvers import IDCA, SOLVERS, Solver
from skfair.utils._sklearn import Interval, StrOptions

PARTIAL_SOLVERS = {
    name for name, make in SOLVERS.items() if not {"batches", "decisions"} & set(make().requires)
}
"""Solvers that can hold rows which count no decisions, and look at all samples at once."""


def published_settings():
    """How the paper on these criteria holds them in its experiments: parameters by name."""
    return {
        "tolerance_scale": "raw",
        "surrogate_width": 1.0,
        "group_interactions": True,
        "enforcement": None,
        "alpha": 0.0,
        "solver": IDCA.from_paper(),
    }


class PartialParityModel:
    """Parameters that make up a constraint on an interval of percentiles."""

    _parameter_constraints = {
        "interval": ["array-like", dict],
        "tolerance": [Interval(Real, 0, 1, closed="both")],
        "tolerance_scale": [StrOptions({"normalized", "raw"})],
        "n_percentiles": [Interval(Integral, 2, None, closed="left")],
        "surrogate_width": [Interval(Real, 0, None, closed="neither"), None],
        "enforcement": [StrOptions({"auto", "calibration"}), None],
        "solver": [StrOptions(PARTIAL_SOLVERS), Solver],
    }

    _solver_defaults = {"tol": 1e-4}

    _enforced_in_parts = ("auto", "calibration", None)

    @property
    def _request(self):
        return f"criterion={self.criterion!r} asks for groups to be alike"

    def _constraint(self, **of_subclass):
        """The criterion as a constraint; settings that it does not have are left out."""
        constraint = PARTIAL_CRITERIA[self.criterion](self.interval)
        given = {
            "scale": self.tolerance_scale,
            "n_percentiles": self.n_percentiles,
            "width": self.surrogate_width or constraint.width,
            **of_subclass,
        }
        known = constraint.get_params()
        return constraint.set_params(**{name: given[name] for name in given if name in known})

    def _fitted(self, problem, found, unit):
        unknowns = found.result.x[problem.n_parameters :]
        are_thresholds = self.criterion == "statistical_parity"
        thresholds = unit.from_unit(unknowns if are_thresholds else unknowns[:0])
        return super()._fitted(problem, found, unit) | {"thresholds_": thresholds}
