"""Solvers of problems with constraints, and of problems with more than one aim."""

from skfair.solvers._augmented_lagrangian import AugmentedLagrangian
from skfair.solvers._damped_sqp import DampedSQP
from skfair.solvers._gda import GDA
from skfair.solvers._idca import IDCA
from skfair.solvers._ipp import IPPSSG, IPPConEx
from skfair.solvers._plada import PLADA
from skfair.solvers._proxy_lagrangian import ProxyLagrangian
from skfair.solvers._sa2gd import BiObjectiveFront, BiObjectiveResult, sa2gd, sa2gd_front
from skfair.solvers._solver import Progress, Result
from skfair.solvers._sqp import SQP
from skfair.solvers._sqp_lbfgs import SQPLBFGS
from skfair.solvers._switching_subgradient import GeometricDecay, Harmonic, SwitchingSubgradient

SOLVERS = {
    "sqp": SQP,
    "sqp-lbfgs": SQPLBFGS,
    "augmented-lagrangian": AugmentedLagrangian,
    "plada": PLADA,
    "gda": GDA,
    "proxy-lagrangian": ProxyLagrangian,
    "switching-subgradient": SwitchingSubgradient,
    "ipp-ssg": IPPSSG,
    "ipp-conex": IPPConEx,
}
"""Solvers that have a name of their own."""

__all__ = [
    "GDA",
    "IDCA",
    "IPPSSG",
    "PLADA",
    "SOLVERS",
    "SQP",
    "SQPLBFGS",
    "AugmentedLagrangian",
    "BiObjectiveFront",
    "BiObjectiveResult",
    "DampedSQP",
    "GeometricDecay",
    "Harmonic",
    "IPPConEx",
    "Progress",
    "ProxyLagrangian",
    "Result",
    "SwitchingSubgradient",
    "sa2gd",
    "sa2gd_front",
]
