"""From surrogate to true tolerance: a model that keeps its bounds by the public metrics.

`_enforce` has the loop, `_fitter` solves, `_counting` counts decisions, and `_guarantee` holds
bounds in the population.
"""

from skfair.enforcement._counting import Candidate as Candidate
from skfair.enforcement._enforce import enforce as enforce
from skfair.enforcement._enforce import enforce_in_population as enforce_in_population
from skfair.enforcement._fitter import Fitter as Fitter
from skfair.enforcement._fitter import search_lines as search_lines
from skfair.enforcement._guarantee import Guarantee as Guarantee
from skfair.enforcement._guarantee import fit_with_guarantee as fit_with_guarantee

__all__: list[str] = []
