"""Solvers of constrained problems; :mod:`skfair.solvers.literature` has more, for comparisons."""

from skfair.solvers._augmented_lagrangian import AugmentedLagrangian
from skfair.solvers._certificate import estimate_multipliers as estimate_multipliers
from skfair.solvers._certificate import kkt_residual as kkt_residual
from skfair.solvers._check import check_solver
from skfair.solvers._solver import Iterate as Iterate
from skfair.solvers._solver import Progress as Progress
from skfair.solvers._solver import Result as Result
from skfair.solvers._solver import Solver
from skfair.solvers._sqp import SQP, sqp_lbfgs
from skfair.solvers.literature import GDA, IPPSSG, IPPConEx, MultiplierModel, ProxyLagrangian
from skfair.solvers.literature import sa2gd as sa2gd
from skfair.solvers.literature._idca import IDCA
from skfair.solvers.literature._plada import PLADA
from skfair.solvers.literature._switching_subgradient import GeometricDecay as GeometricDecay
from skfair.solvers.literature._switching_subgradient import Harmonic as Harmonic
from skfair.solvers.literature._switching_subgradient import SwitchingSubgradient
from skfair.solvers.stochastic._adam_primal_dual import AdamPrimalDual
from skfair.solvers.stochastic._ghost import StochasticGhost
from skfair.solvers.stochastic._idca import StochasticIDCA
from skfair.solvers.stochastic._plada import StochasticPLADA
from skfair.solvers.stochastic._sgd import SGD
from skfair.solvers.stochastic._ssl_alm import SSLALM, alm
from skfair.solvers.stochastic._stochastic import StochasticSolver
from skfair.solvers.stochastic._switching import StochasticSwitching

SOLVERS = {
    "sqp": SQP,
    "sqp-lbfgs": sqp_lbfgs,
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
    "ssl-alm": SSLALM,
    "alm": alm,
    "ghost": StochasticGhost,
    "stochastic-switching": StochasticSwitching,
    "stochastic-plada": StochasticPLADA,
    "stochastic-idca": StochasticIDCA,
    "multiplier-model": MultiplierModel,
}
"""Classes of solvers by name, or functions that make one."""

__all__ = [
    "IDCA",
    "PLADA",
    "SGD",
    "SOLVERS",
    "SQP",
    "SSLALM",
    "AdamPrimalDual",
    "AugmentedLagrangian",
    "Solver",
    "StochasticGhost",
    "StochasticIDCA",
    "StochasticPLADA",
    "StochasticSolver",
    "StochasticSwitching",
    "SwitchingSubgradient",
    "check_solver",
]
