import numpy as np
import pandas as pd
import pytest

from skfair.classification import suggest_interval
from skfair.metrics import partial_statistical_parity_difference


def population(seed=0, n_samples=1000):
    rng = np.random.default_rng(seed)
    groups = np.repeat(["a", "b"], n_samples // 2)
    return rng.normal(size=n_samples) - 1.0 + (groups == "b"), groups


def test_candidates_cover_the_positive_rate_and_the_largest_difference_is_selected():
    scores, groups = population()
    suggestion = suggest_interval(scores, sensitive_features=groups)
    interval, rate = suggestion.interval, suggestion.positive_rate
    candidates = suggestion.candidates
    assert rate == pytest.approx(np.mean(scores > 0))
    assert ((candidates.alpha <= rate) & (rate <= candidates.beta)).all()
    np.testing.assert_allclose(candidates.beta - candidates.alpha, 0.25)
    chosen = candidates[(candidates.alpha == interval[0]) & (candidates.beta == interval[1])]
    assert chosen.difference.item() == candidates.difference.max()
    for row in candidates.itertuples():
        assert row.difference == partial_statistical_parity_difference(
            scores, sensitive_features=groups, interval=(row.alpha, row.beta), scale="raw"
        )


@pytest.mark.parametrize(
    ("rate", "width", "step", "begins"),
    [
        (0.3, 0.2, 0.1, [0.1, 0.2, 0.3]),
        (0.0, 0.25, 0.05, [0.0]),
        (1.0, 0.25, 0.05, [0.75]),
        (0.99, 0.33, 0.1, [0.67]),
        (0.5, 1.0, 0.5, [0.0]),
        (0.05, 0.25, 0.05, [0.0, 0.05]),
    ],
)
def test_candidates_begin_at_multiples_of_the_step(rate, width, step, begins):
    scores, groups = population()
    suggestion = suggest_interval(
        scores, sensitive_features=groups, positive_rate=rate, width=width, step=step
    )
    np.testing.assert_allclose(suggestion.candidates.alpha, begins)
    assert suggestion.candidates.beta.max() <= 1.0
    assert suggestion.positive_rate == rate


def test_the_difference_is_that_of_the_threshold_where_groups_differ_most():
    # Ranks alternate but for the last fifth, where all of b score lower: at the threshold where
    # the groups differ most, the rank is 1 in a and 0.8 in b.
    scores = np.arange(1000.0, 0.0, -1.0)
    groups = np.where(np.arange(1000) % 2 == 0, "a", "b")
    scores[800:][groups[800:] == "b"] -= 1000.0
    suggestion = suggest_interval(
        scores, sensitive_features=groups, positive_rate=0.75, width=0.2, step=0.05
    )
    assert suggestion.interval == (0.65, 0.85)
    assert suggestion.candidates.difference.max() == pytest.approx(0.2)


def test_among_equal_candidates_the_rate_is_in_the_middle():
    scores = np.tile(np.arange(500.0), 2)
    groups = np.repeat(["a", "b"], 500)
    suggestion = suggest_interval(
        scores, sensitive_features=groups, positive_rate=0.5, width=0.2, step=0.1
    )
    assert (suggestion.candidates.difference == 0).all()
    assert suggestion.interval == (0.4, 0.6)


def test_the_noise_is_the_deviation_of_the_difference_between_equal_groups():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], [400, 100])
    suggestion = suggest_interval(rng.random(500), sensitive_features=groups, positive_rate=0.5)
    assert suggestion.candidates.noise.max() == pytest.approx(np.sqrt(0.25 * (1 / 400 + 1 / 100)))
    rates = rng.random((2000, 500)) > 0.5
    differences = rates[:, :400].mean(axis=1) - rates[:, 400:].mean(axis=1)
    assert suggestion.candidates.noise.max() == pytest.approx(differences.std(), rel=0.1)


def test_integer_weights_equal_repeated_samples():
    scores, groups = population()
    weights = np.arange(len(scores)) % 3
    rows = np.repeat(np.arange(len(scores)), weights)
    weighted = suggest_interval(scores, sensitive_features=groups, sample_weight=weights)
    repeated = suggest_interval(scores[rows], sensitive_features=groups[rows])
    assert weighted.interval == repeated.interval
    columns = ["alpha", "beta", "difference"]
    pd.testing.assert_frame_equal(weighted.candidates[columns], repeated.candidates[columns])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0.0}, "0 < step <= width <= 1"),
        ({"width": 1.5}, "0 < step <= width <= 1"),
        ({"step": 0.5}, "0 < step <= width <= 1"),
        ({"positive_rate": 1.2}, "share of all samples"),
    ],
)
def test_bad_parameters(change, message):
    scores, groups = population()
    with pytest.raises(ValueError, match=message):
        suggest_interval(scores, sensitive_features=groups, **change)


def test_lengths_must_agree():
    scores, groups = population()
    with pytest.raises(ValueError, match="rows"):
        suggest_interval(scores, sensitive_features=groups[1:])


@pytest.mark.parametrize("error", [-1e-15, 0.0, 1e-15])
def test_rounding_chooses_no_interval_among_equals(error):
    # Five of 20 samples of b are below all of a, so that shares differ by .25 at most thresholds.
    scores, groups = np.append(np.arange(20.0), np.arange(20.0) - 5.0), np.repeat(["a", "b"], 20)
    suggestion = suggest_interval(
        scores, sensitive_features=groups, positive_rate=0.6 + error, width=0.25
    )
    # Centres .575 and .625 are equally near: the lower one is taken.
    differences = suggestion.candidates.set_index("alpha")["difference"]
    assert differences[0.45] == differences[0.5] == differences.max()
    assert suggestion.interval == (0.45, 0.7)
