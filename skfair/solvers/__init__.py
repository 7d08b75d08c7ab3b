"""Solvers of problems with constraints."""

from skfair.solvers._augmented_lagrangian import AugmentedLagrangian
from skfair.solvers._certificate import kkt_residual, least_squares_multipliers
from skfair.solvers._solver import Iterate, Progress, Result, Solver
from skfair.solvers._sqp import SQP, sqp_lbfgs
from skfair.solvers.literature._gda import GDA
from skfair.solvers.literature._idca import IDCA
from skfair.solvers.literature._ipp import IPPSSG, IPPConEx
from skfair.solvers.literature._plada import PLADA
from skfair.solvers.literature._proxy_lagrangian import ProxyLagrangian
from skfair.solvers.literature._sa2gd import sa2gd
from skfair.solvers.literature._switching_subgradient import (
    GeometricDecay,
    Harmonic,
    SwitchingSubgradient,
)
from skfair.solvers.stochastic._adam_primal_dual import AdamPrimalDual
from skfair.solvers.stochastic._ghost import StochasticGhost
from skfair.solvers.stochastic._idca import StochasticIDCA
from skfair.solvers.stochastic._multiplier_model import MultiplierModel
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
"""Solvers that have a name of their own."""

__all__ = [
    "GDA",
    "IDCA",
    "IPPSSG",
    "PLADA",
    "SGD",
    "SOLVERS",
    "SQP",
    "SSLALM",
    "AdamPrimalDual",
    "AugmentedLagrangian",
    "GeometricDecay",
    "Harmonic",
    "IPPConEx",
    "Iterate",
    "MultiplierModel",
    "Progress",
    "ProxyLagrangian",
    "Result",
    "Solver",
    "StochasticGhost",
    "StochasticIDCA",
    "StochasticPLADA",
    "StochasticSolver",
    "StochasticSwitching",
    "SwitchingSubgradient",
    "sa2gd",
]
