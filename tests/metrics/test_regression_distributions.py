import itertools

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import wasserstein_distance

from skfair.metrics import (
    demographic_parity_difference,
    mean_score_difference,
    wasserstein_distance_between_groups,
)

scores = hnp.arrays(np.float64, 12, elements=st.integers(-3, 3))
groups = hnp.arrays(np.intp, 12, elements=st.integers(0, 2))
repeats = hnp.arrays(np.intp, 12, elements=st.integers(0, 3)).filter(np.any)


def test_by_hand():
    group = list("aabbb")
    # Group a moves 0 -> 1 by half and stays at 3 by a half; b is at 1, 1 and 4.
    distance = wasserstein_distance_between_groups([0, 3, 1, 1, 4], sensitive_features=group)
    # |F_a - F_b| is 1/2 on [0, 1], |1/2 - 2/3| on [1, 3] and 1/3 on [3, 4].
    assert distance == pytest.approx(1 / 2 + 2 / 6 + 1 / 3)
    assert wasserstein_distance_between_groups([1, 1, 1], sensitive_features=list("aab")) == 0
    assert wasserstein_distance_between_groups([1, 2, 3], sensitive_features=list("aaa")) == 0
    assert isinstance(distance, float)


@given(scores, groups, repeats)
def test_against_scipy_over_all_pairs(scores, groups, weights):
    present = np.unique(groups[weights > 0])
    distances = [
        wasserstein_distance(
            scores[groups == a], scores[groups == b], weights[groups == a], weights[groups == b]
        )
        for a in present
        for b in present
        if a < b
    ]
    ours = wasserstein_distance_between_groups(
        scores, sensitive_features=groups, sample_weight=weights
    )
    assert ours == pytest.approx(max(distances, default=0), abs=1e-12)


def test_of_order_two_by_hand():
    """Quantiles 0, 3 and 1, 1, 4 are 1 apart on [0, 1/2], 2 up to 2/3, and 1 beyond."""
    metadata = {"sensitive_features": list("aabbb")}
    squared = wasserstein_distance_between_groups([0, 3, 1, 1, 4], **metadata, order=2) ** 2
    assert squared == pytest.approx(1 / 2 + 4 / 6 + 1 / 3)


@given(hnp.arrays(np.float64, (2, 4), elements=st.integers(-3, 3)), st.floats(1, 4))
def test_the_distance_of_any_order_is_the_cost_of_the_optimal_matching(scores, order):
    """Of groups of equal size: brute force over all matchings of the one with the other."""
    cheapest = min(
        np.mean(np.abs(scores[0] - scores[1][list(matching)]) ** order)
        for matching in itertools.permutations(range(4))
    )
    ours = wasserstein_distance_between_groups(
        scores.ravel(), sensitive_features=np.repeat(["a", "b"], 4), order=order
    )
    assert ours**order == pytest.approx(cheapest, abs=1e-9)


@pytest.mark.parametrize("order", [0.5, np.inf, np.nan])
def test_orders_that_are_no_distance_are_refused(order):
    with pytest.raises(ValueError, match="order must be finite and at least 1"):
        wasserstein_distance_between_groups([0, 1], sensitive_features=["a", "b"], order=order)


@given(scores, groups, repeats)
def test_integer_weights_equal_repeated_rows(scores, groups, repeats):
    weighted = wasserstein_distance_between_groups(
        scores, sensitive_features=groups, sample_weight=repeats
    )
    repeated = wasserstein_distance_between_groups(
        np.repeat(scores, repeats), sensitive_features=np.repeat(groups, repeats)
    )
    assert weighted == pytest.approx(repeated, rel=1e-12, abs=1e-12)


@given(scores, groups, st.permutations(range(12)), st.floats(-100, 100))
def test_order_and_names_and_shifts_do_not_matter(scores, groups, order, shift):
    expected = wasserstein_distance_between_groups(scores, sensitive_features=groups)
    renamed = np.array(["z", "x", "y"])[groups]
    ours = wasserstein_distance_between_groups(
        scores[order] + shift, sensitive_features=renamed[order]
    )
    assert ours == pytest.approx(expected, abs=1e-12)


def test_the_distance_is_the_mean_parity_difference_over_all_thresholds():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 101, 300) / 100
    group = rng.integers(0, 2, 300)
    thresholds = np.arange(100) / 100 + 0.005
    mean = np.mean(
        [
            demographic_parity_difference(group, scores > t, sensitive_features=group)
            for t in thresholds
        ]
    )
    ours = wasserstein_distance_between_groups(scores, sensitive_features=group)
    assert ours == pytest.approx(mean, rel=1e-12)


def test_overlapping_groups():
    members = sparse.csr_array(np.array([[1, 0], [1, 1], [0, 1]], dtype=bool))
    # {0, 2} against {2, 5}
    distance = wasserstein_distance_between_groups([0, 2, 5], sensitive_features=members)
    assert distance == pytest.approx(2.5)


@pytest.mark.parametrize(
    "scores, match",
    [
        ([0, np.nan], "y_score contains NaN"),
        ([0, np.inf], "y_score contains infinity"),
        (["low", "high"], "y_score must hold numbers, but it holds .low. in row 0;"),
        ([[0.5, 0.5], [0.2, 0.8]], "1d array"),
        ([0.5], "has 2 rows but there are 1 samples"),
    ],
)
def test_refusals(scores, match):
    with pytest.raises(ValueError, match=match):
        wasserstein_distance_between_groups(scores, sensitive_features=["a", "b"])


@pytest.mark.filterwarnings("ignore:There is one group")
def test_means_of_groups():
    scores = [1.0, 3.0, 10.0, 4.0]
    metadata = {"sensitive_features": list("aabb"), "sample_weight": [1, 3, 1, 1]}
    assert mean_score_difference(scores, **metadata) == 4.5
    overall = mean_score_difference(scores, **metadata, method="to_overall")
    assert overall == pytest.approx(7.0 - 24.0 / 6)
    below = mean_score_difference(-np.array(scores), **metadata, method="above_overall")
    assert below == pytest.approx(24.0 / 6 - 2.5)
    assert mean_score_difference([1, 2], sensitive_features=list("aa")) == 0
