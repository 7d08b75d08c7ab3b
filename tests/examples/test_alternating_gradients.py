"""The smooth fair k-means of the example of alternating gradients."""

import runpy
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

PATH = Path(__file__).parents[2] / "examples" / "papers" / "alternating_gradients.py"


@pytest.fixture(scope="module")
def example():
    """The names that the example defines."""
    pytest.importorskip("matplotlib")
    return runpy.run_path(str(PATH))


@pytest.mark.parametrize("name", ["cost", "imbalance"])
def test_the_slopes_of_fair_k_means_are_those_of_its_two_aims(name, example):
    X = example["X"]
    one_hot = example["one_hot"]
    ridge = example["RIDGE"]
    temperature = example["TEMPERATURE"]

    def aim(theta):
        shares = np.column_stack((1 / (1 + np.exp(-theta)), 1 / (1 + np.exp(theta))))
        penalty = ridge * theta @ theta / 2
        if name == "cost":
            centers = shares.T @ X / shares.sum(axis=0)[:, np.newaxis]
            squares = ((X[:, np.newaxis] - centers) ** 2).sum(axis=2)
            return (shares * squares).sum() + penalty
        counts = shares.T @ one_hot
        ratios = counts / counts[:, ::-1]
        return len(X) * temperature * np.log(np.exp(-ratios / temperature).sum()) + penalty

    theta = np.random.default_rng(1).normal(size=len(X))
    slope = example[f"{name}_slope"](theta)
    for p in range(0, len(X), 50):
        bump = 1e-5 * (np.arange(len(X)) == p)
        expected = (aim(theta + bump) - aim(theta - bump)) / 2e-5
        assert slope[p] == pytest.approx(expected, abs=1e-6)


def test_more_steps_for_the_cost_end_cheaper_and_less_balanced(example):
    objectives, front = example["points"], example["front"]
    assert objectives[-1, 0] < objectives[6, 0] < objectives[0, 0]
    assert objectives[-1, 1] < objectives[6, 1] < objectives[0, 1]
    for cost, balance in objectives:
        assert cost >= front.cost[front.balance >= balance - 0.05].min() - 1e-9
