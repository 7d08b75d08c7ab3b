import numpy as np

from skfair.datasets import make_ranking


def test_make_ranking_lifts_one_group_in_one_feature():
    X, y, query, groups = make_ranking(500, bias=2.0, random_state=0)
    lifted = X[groups == "high"].mean(axis=0) - X[groups == "low"].mean(axis=0)
    np.testing.assert_allclose(lifted, [2.0] + [0.0] * 9, atol=0.1)
    assert abs(y[groups == "high"].mean() - y[groups == "low"].mean()) < 0.1
    assert np.bincount(query).tolist() == [20] * 500
