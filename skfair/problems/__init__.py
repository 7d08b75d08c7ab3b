"""Problems: the only place where model, loss and constraint meet.

Minimise f(x) subject to lower <= c(x) <= upper, over x = (model parameters, auxiliary unknowns).
"""

from skfair.problems._evaluation import Evaluation
from skfair.problems._in_parts import ProblemInParts
from skfair.problems._problem import ConstrainedProblem
from skfair.problems._ranked_in_parts import RankedInParts
from skfair.problems._region import Ball, Box

__all__ = ["Ball", "Box", "ConstrainedProblem", "Evaluation", "ProblemInParts", "RankedInParts"]
