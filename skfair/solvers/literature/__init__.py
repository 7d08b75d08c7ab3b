"""Published methods for comparisons; all but ``sa2gd`` are also in ``SOLVERS`` by name."""

from skfair.solvers.literature._gda import GDA
from skfair.solvers.literature._ipp import IPPSSG, IPPConEx
from skfair.solvers.literature._proxy_lagrangian import ProxyLagrangian
from skfair.solvers.literature._sa2gd import sa2gd
from skfair.solvers.stochastic._multiplier_model import MultiplierModel

__all__ = ["GDA", "IPPSSG", "IPPConEx", "MultiplierModel", "ProxyLagrangian", "sa2gd"]
