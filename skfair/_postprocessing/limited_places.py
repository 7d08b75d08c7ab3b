"""The highest scores under a constraint: of limited places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skfair._fitting.counting import DECIMALS
from skfair._fitting.guarantee import Guarantee
from skfair._postprocessing.events import keep_scores, linearize_solution, make_fitter
from skfair._postprocessing.group_thresholds import search_selection

if TYPE_CHECKING:
    from skfair._fitting.counting import Candidate
    from skfair._postprocessing.events import EventFeatures, RuleRequest
    from skfair._problems.problem import ConstrainedProblem


_N_DRAWN = 400
"""Rules that are drawn, of few coefficients."""


def fit_selection(
    features: EventFeatures, request: RuleRequest, success: np.ndarray
) -> tuple[ConstrainedProblem, Guarantee]:
    """Return the solved problem and the guarantee of the highest scores that keep the constraints.

    Of rules that keep them the one is taken that selects most expected positives, by `success`, the
    probabilities of the positive class. Rules are drawn, and then moved at random.
    """
    fitter = make_fitter(request)
    n_places = round(request.share * len(success))  # type: ignore[operator]

    def key(one: Candidate) -> tuple:
        is_selected = one.scores > 0
        gain = (fitter.problem.mean_weights * success) @ is_selected
        excess = abs(np.count_nonzero(is_selected) - n_places)  # of equal scores at the cut
        return excess, round(one.violation, DECIMALS), -round(gain, DECIMALS)

    best = keep_scores(fitter, request)
    slope = best.parameters
    codes = features.known_codes(request)
    if codes is not None:
        known = search_selection(fitter, best, request.per_class[0].X, success, codes)
        best = min(best, known, key=key)
    # Coefficients of standardised features, in units of that of the log-odds; an intercept is last.
    sizes = np.resize([0.25, 0.5, 1.0, 2.0], _N_DRAWN)
    starts = sizes[:, np.newaxis] * np.random.default_rng(0).normal(size=(_N_DRAWN, len(slope) - 2))
    steps = np.random.default_rng(1).normal(size=(_N_DRAWN // 8, len(slope) - 2))
    for moves in (starts, *(length * steps for length in (0.2, 0.1, 0.05, 0.02))):
        center = best.parameters
        drawn = np.tile(center, (len(moves), 1))
        drawn[:, 1:-1] += slope[0] * moves
        best = min([best, *(fitter.evaluate(one, best.result) for one in drawn)], key=key)
    return linearize_solution(fitter, Guarantee(best, fitter.constraint.tolerances))
