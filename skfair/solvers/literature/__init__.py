"""Published methods for comparisons; all but ``sa2gd`` and its front are in ``SOLVERS`` by name."""

from skfair.solvers.literature._descent import GDA, MultiplierModel, ProxyLagrangian, sa2gd
from skfair.solvers.literature._descent import sa2gd_front as sa2gd_front
from skfair.solvers.literature._proximal import IPPSSG, IPPConEx
from skfair.solvers.literature._stochastic import SPBM, StochasticIDCA, StochasticPLADA
