"""The random order of samples, and what a constraint uses of outcomes."""

import numpy as np
import pytest

from skfair._groups import check_groups
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    ErrorRateParity,
    LossParity,
    MeanParity,
)
from skfair.constraints._held_out import outcome_use
from skfair.groups import Samples
from skfair.monitoring._batches import make_generator_from_key, sort_samples


def draw_order(codes, values, weights=None, batch=1):
    weights = np.ones(len(codes)) if weights is None else weights
    columns = sort_samples(codes, values, weights)
    return (
        make_generator_from_key(batch, None, "sex", "all", *columns)
        .permutation(len(codes))
        .tolist()
    )


def test_an_order_belongs_to_the_data_and_not_to_their_size_or_order():
    codes = np.repeat([0, 1], 20)
    values = np.resize([0.0, 1.0, 1.0], 40)
    order = draw_order(codes, values)
    assert order == draw_order(codes[::-1], values[::-1])
    other_values = values.copy()
    other_codes = codes.copy()
    weights = np.ones(40)
    other_values[0], other_codes[0], weights[0] = 1.0, 1, 0.5
    others = [
        draw_order(codes, other_values),
        draw_order(other_codes, values),
        draw_order(codes, values, weights),
        draw_order(codes, values, batch=2),
    ]
    assert all(one != order for one in others)
    assert draw_order(codes, np.where(values == 0.0, -0.0, values)) == order


def test_orders_of_data_of_equal_sizes_are_uniform():
    # The first sample of the order is each of ten equally often: chi-squared, 9 degrees.
    codes = np.zeros(10, dtype=int)
    counts = np.zeros(10)
    rng = np.random.default_rng(0)
    for _ in range(500):
        counts[draw_order(codes, rng.random(10))[0]] += 1
    assert ((counts - 50.0) ** 2 / 50.0).sum() < 33.7  # passed in one of 10,000


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (DemographicParity(), "nothing"),
        (MeanParity(), "nothing"),
        (EqualizedOdds(), "cells"),
        (ErrorRateParity(), "values"),
        (LossParity(loss="logistic"), "values"),
    ],
)
@pytest.mark.parametrize("n_samples", [1, 5])
def test_the_use_of_outcomes_does_not_depend_on_scores(constraint, expected, n_samples):
    groups = check_groups(["a"] * n_samples, n_samples)
    samples = Samples(np.ones(n_samples), groups, np.ones(n_samples))
    assert outcome_use(constraint, samples) == expected
