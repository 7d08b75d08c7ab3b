"""Solvers of constrained problems; :mod:`skfair.solvers.literature` has more, for comparisons."""

from typing import Annotated

from skfair._utils.sklearn import StrOptions
from skfair.solvers._check import check_solver
from skfair.solvers._solver import Iterate, Solver
from skfair.solvers._sqp import SQP, AugmentedLagrangian, make_sqp_lbfgs
from skfair.solvers._stochastic import SGD, AdamPrimalDual, StochasticSolver
from skfair.solvers.literature import (
    GDA,
    IPPSSG,
    SPBM,
    IPPConEx,
    MultiplierModel,
    ProxyLagrangian,
    StochasticIDCA,
    StochasticPLADA,
)
from skfair.solvers.literature._descent import SwitchingSubgradient
from skfair.solvers.literature._proximal import IDCA, PLADA
from skfair.solvers.literature._stochastic_constrained import (
    SSLALM,
    StochasticGhost,
    StochasticSwitching,
    make_alm,
)

SOLVERS = {
    "sqp": SQP,
    "sqp-lbfgs": make_sqp_lbfgs,
    "augmented-lagrangian": AugmentedLagrangian,
    "plada": PLADA,
    "gda": GDA,
    "proxy-lagrangian": ProxyLagrangian,
    "switching-subgradient": SwitchingSubgradient,
    "ipp-ssg": IPPSSG,
    "ipp-conex": IPPConEx,
    "idca": IDCA,
    "adam-pd": AdamPrimalDual,
    "sgd": SGD,
    "spbm": SPBM,
    "ssl-alm": SSLALM,
    "alm": make_alm,
    "ghost": StochasticGhost,
    "stochastic-switching": StochasticSwitching,
    "stochastic-plada": StochasticPLADA,
    "stochastic-idca": StochasticIDCA,
    "multiplier-model": MultiplierModel,
}
"""Classes of solvers by name, or functions that make one."""

SolverName = Annotated[str, StrOptions(SOLVERS)]

__all__ = [
    "IDCA",
    "PLADA",
    "SGD",
    "SOLVERS",
    "SQP",
    "SSLALM",
    "AdamPrimalDual",
    "AugmentedLagrangian",
    "Iterate",
    "Solver",
    "StochasticGhost",
    "StochasticSwitching",
    "SwitchingSubgradient",
    "check_solver",
]
