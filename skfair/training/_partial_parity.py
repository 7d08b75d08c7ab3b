"""What classifiers and regressors under a constraint on an interval of percentiles share."""

from numbers import Real

from skfair.constraints import PARTIAL_CRITERIA, PartialStatisticalParity
from skfair.solvers import SOLVERS, Solver
from skfair.utils._sklearn import Interval, StrOptions

_SOLVERS = {
    name for name, make in SOLVERS.items() if not {"batches", "decisions"} & set(make().requires)
}
"""Solvers of constraints that count no decisions, on all samples at once."""


def make_criterion(criterion, interval):
    """The constraint on an interval that a criterion is, by name or as an object."""
    if isinstance(criterion, str):
        return PARTIAL_CRITERIA[criterion]((0.0, 1.0) if interval is None else interval)
    if interval is not None:
        raise ValueError(
            f"interval can be set only for a criterion chosen by name, but criterion is "
            f"{criterion}, which has its own; set it there, or leave interval=None."
        )
    return criterion


class PartialParityModel:
    """Mixin of linear estimators with the parameters `criterion` and `interval`."""

    _parameter_constraints = {
        "interval": ["array-like", dict, None],
        "tolerance": [Interval(Real, 0, 1, closed="both")],
        "enforcement": [StrOptions({"auto", "calibration"}), None],
        "solver": [StrOptions(_SOLVERS), Solver],
    }

    _solver_defaults = {"tol": 1e-4}

    _partitioned_enforcements = ("auto", "calibration", None)

    @property
    def _request(self):
        return f"criterion={self.criterion!r} compares groups"

    def _outcome(self, fitter, guarantee, training):
        # The auxiliary unknowns of statistical parity are its thresholds.
        thresholds = guarantee.candidate.result.x[fitter.problem.n_parameters :]
        criterion = make_criterion(self.criterion, self.interval)
        if not isinstance(criterion, PartialStatisticalParity):
            thresholds = thresholds[:0]
        thresholds = {"thresholds_": training.unit.from_unit(thresholds)}
        return super()._outcome(fitter, guarantee, training) | thresholds
