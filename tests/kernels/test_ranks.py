"""Shares of groups above thresholds, against plain numpy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skfair._kernels.ranks import trace_share_curves


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4))
def test_curves_are_those_of_masks(seed, n_groups, n_values):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 8, n_groups)
    bounds = np.append(0, np.cumsum(sizes))
    codes = np.repeat(np.arange(n_groups), sizes)
    scores = rng.integers(0, n_values, len(codes)).astype(float)  # with ties
    scores = scores[np.lexsort((-scores, codes))]
    weights = rng.integers(1, 4, len(codes)).astype(float)
    begin = rng.choice([0.0, 0.25, 0.5], n_groups)
    limits = np.column_stack((begin, begin + 0.4))
    curves = trace_share_curves(scores, weights, bounds, limits, np.arange(n_groups + 1))
    selected = np.zeros(len(codes), dtype=bool)
    for i, code in enumerate(codes):
        of_group = codes == code
        above = weights[of_group & (scores > scores[i])].sum() / weights[of_group].sum()
        selected[i] = limits[code, 0] <= above < limits[code, 1]
    thresholds = [*np.unique(scores[selected])[::-1], -np.inf]
    for code, curve in enumerate(curves):
        chosen = weights * selected * (codes == code)
        if chosen.any():
            expected = [chosen[scores > one].sum() / chosen.sum() for one in thresholds]
            np.testing.assert_allclose(curve, expected)
        else:
            assert np.isnan(curve).all()
            assert len(curve) == len(thresholds)


def test_unknown_scores_do_not_hang():
    scores = np.array([np.nan, np.nan, 1.0])
    trace_share_curves(
        scores, np.ones(3), np.array([0, 3]), np.array([[0.0, 1.0]]), np.array([0, 1])
    )
