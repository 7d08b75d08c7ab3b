"""Problems: the only place where model, loss and constraint meet.

Minimise f(x) subject to lower <= c(x) <= upper, over x = (model parameters, auxiliary unknowns).
"""

from skfair.problems._evaluation import Ball, Box, Evaluation
from skfair.problems._partitioned import PartitionedProblem as PartitionedProblem
from skfair.problems._partitioned import PartitionedRankProblem as PartitionedRankProblem
from skfair.problems._partitioned import predict_block as predict_block
from skfair.problems._problem import OPTIONAL_PROBLEM_MEMBERS as OPTIONAL_PROBLEM_MEMBERS
from skfair.problems._problem import ConstrainedProblem, example_problem
from skfair.problems._problem import Problem as Problem
from skfair.problems._problem import draw_subsample as draw_subsample
from skfair.problems._problem import evaluate_decisions as evaluate_decisions
from skfair.problems._problem import majorize as majorize
from skfair.problems._problem import needs_subsample as needs_subsample
from skfair.problems._problem import original_multipliers as original_multipliers
