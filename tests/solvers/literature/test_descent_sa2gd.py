"""Algorithm 4 of Liu and Vicente on quadratics, whose weighted minimum is known."""

import numpy as np
import pytest

from skfair.solvers.literature import sa2gd, sa2gd_front

# f_a = (x - a)' A (x - a) / 2 and f_b = (x - b)' B (x - b) / 2, both convex with constant 1
A = np.array([[2.0, 0.5], [0.5, 1.5]])
a = np.array([1.0, -1.0])
B = np.diag([1.0, 3.0])
b = np.array([-2.0, 0.5])


def noisy(H, center, noise):
    return lambda x, random_state: H @ (x - center) + noise * random_state.standard_normal(2)


def minimizer(weight):
    """Where weight A (x - a) + (1 - weight) B (x - b) = 0."""
    return np.linalg.solve(weight * A + (1 - weight) * B, weight * A @ a + (1 - weight) * B @ b)


def gap(x, weight):
    """S(x) - S(x*), exact for quadratics."""
    away = x - minimizer(weight)
    return away @ (weight * A + (1 - weight) * B) @ away / 2


@pytest.mark.slow
@pytest.mark.parametrize(("n_a", "n_b"), [(1, 1), (3, 1), (2, 5), (4, 0), (0, 4)])
def test_the_steps_weigh_the_objectives(n_a, n_b):
    result = sa2gd(
        noisy(A, a, 0), noisy(B, b, 0), np.array([9.0, 9.0]), n_a=n_a, n_b=n_b, n_iter=20_000,
        strong_convexity=1,
    )  # fmt: skip
    np.testing.assert_allclose(result, minimizer(n_a / (n_a + n_b)), atol=1e-3)


def test_a_front_has_one_run_for_each_split():
    gradients = (noisy(A, a, 1), noisy(B, b, 1))
    start = np.ones(2)
    settings = {"n_iter": 20, "strong_convexity": 1, "random_state": 3}
    points = sa2gd_front(*gradients, start, n_total=3, **settings)
    runs = [sa2gd(*gradients, start, n_a=n, n_b=3 - n, **settings) for n in range(4)]
    np.testing.assert_array_equal(points, runs)


def test_the_first_iterations_follow_algorithm_4():
    x = np.array([3.0, 2.0])
    step = 2 / 3
    for t in range(2):
        for H, center in ((A, a), (A, a), (B, b)):
            x = x - step / (t + 1) * H @ (x - center)
    result = sa2gd(
        noisy(A, a, 0),
        noisy(B, b, 0),
        np.array([3.0, 2.0]),
        n_a=2,
        n_b=1,
        n_iter=2,
        strong_convexity=1,
    )
    np.testing.assert_allclose(result, x, rtol=1e-14)


@pytest.mark.slow
def test_the_gap_falls_like_one_over_the_iterations_under_noise():
    """Theorem 5.1; the slope in log-log scale is that of the mean gap over seeds."""
    numbers = np.array([50, 150, 450, 1350])
    gaps = [
        np.mean(
            [
                gap(
                    sa2gd(
                        noisy(A, a, 1), noisy(B, b, 1), np.array([4.0, 4.0]), n_a=2, n_b=1,
                        n_iter=n_iter, strong_convexity=1, random_state=seed,
                    ),
                    2 / 3,
                )
                for seed in range(40)
            ]
        )
        for n_iter in numbers
    ]  # fmt: skip
    slope = np.polyfit(np.log(numbers), np.log(gaps), 1)[0]
    assert -1.2 <= slope <= -0.8


def test_a_seed_fixes_the_run_and_the_start_is_left_alone():
    x0 = np.array([4.0, 4.0])
    settings = {"n_a": 1, "n_b": 1, "n_iter": 30, "strong_convexity": 1.0}
    first, same, other = (
        sa2gd(noisy(A, a, 1), noisy(B, b, 1), x0, **settings, random_state=seed)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert np.array_equal(x0, [4, 4])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_a": 0, "n_b": 0}, "n_a \\+ n_b must be positive; got n_a=0, n_b=0"),
        ({"n_a": -1}, "n_a=-1"),
        ({"n_iter": -5}, "n_iter=-5"),
        ({"strong_convexity": 0.0}, "strong_convexity must be positive, got 0.0"),
        ({"strong_convexity": np.nan}, "strong_convexity must be positive"),
    ],
)
def test_bad_settings_are_refused(change, message):
    settings = {"n_a": 1, "n_b": 1, "n_iter": 5, "strong_convexity": 1.0} | change
    with pytest.raises(ValueError, match=message):
        sa2gd(noisy(A, a, 0), noisy(B, b, 0), np.zeros(2), **settings)


def test_divergence_is_an_error_that_names_the_remedy():
    settings = {"n_a": 40, "n_b": 40, "n_iter": 50, "strong_convexity": 1e-9}
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(FloatingPointError, match="too long. Raise strong_convexity=1e-09"),
    ):
        sa2gd(noisy(A, a, 0), noisy(B, b, 0), np.ones(2), **settings)
