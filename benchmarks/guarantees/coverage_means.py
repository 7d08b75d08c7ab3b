"""Coverage of intervals of gaps of means: 21 populations, eight sizes."""

import numpy as np
from scipy import sparse, special

from skfair._statistics.estimates import Means

SIZES = (
    (30, 30),
    (50, 50),
    (200, 200),
    (30, 300),
    (30, 5000),
    (5000, 30),
    (300, 5000),
    (5000, 5000),
)
"""Samples of the first and of the second group."""

SKEWED = "lognormal(1), a gap of .3"
"""Values of which the gap of two means of 50 has a standard error of .4."""

BATCH = 1 << 20  # values drawn at a time


class DrawnMeans(Means):
    """Means of many drawn groups at once; each row is a group."""

    correlation, is_weighted = None, False

    def __init__(self, drawn):
        self.counts = self.n_units = np.full(len(drawn), drawn.shape[1])
        self.sizes = self.counts.astype(float)
        self.values = drawn.mean(axis=1)
        self._smallest, self._largest = float(drawn.min()), float(drawn.max())
        shares = (drawn - self.values[:, np.newaxis]) / drawn.shape[1]
        self._error_variances, self._error_third_moments = (
            (shares**2).sum(axis=1),
            (shares**3).sum(axis=1),
        )

    def join(self, other):
        """Append the means of other groups."""
        for name in ("counts", "sizes", "values", "_error_variances", "_error_third_moments"):
            setattr(self, name, np.concatenate((getattr(self, name), getattr(other, name))))
        self.n_units = self.counts
        self._smallest = min(self._smallest, other._smallest)
        self._largest = max(self._largest, other._largest)
        return self


def coverage_of_means(n_draws, level):
    """Yield the coverage of intervals, their median width, and how often they give a warning."""
    for name, two in populations().items():
        for sizes in SIZES:
            rng = np.random.default_rng(sum(sizes))
            first, second = (
                _draw(draw, n, n_draws, rng) for (draw, _), n in zip(two, sizes, strict=True)
            )
            gap = abs(two[0][1] - two[1][1])
            both = first.join(second)
            low, high = gap_intervals(both, level)
            contains = (low <= gap + 1e-9) & (gap - 1e-9 <= high)
            yield {
                "values": name,
                "n": sizes[0],
                "m": sizes[1],
                "coverage": contains.mean(),
                "width": np.median(high - low),
                "mean width": np.mean(high - low),
                "warned": both.has_unreliable_limits.reshape(2, -1).any(axis=0).mean(),
            }


def _draw(draw, n, n_draws, rng):
    """Draw groups of n samples in batches; their means."""
    means = None
    rows = max(1, BATCH // n)
    for start in range(0, n_draws, rows):
        batch = DrawnMeans(draw(rng, (min(rows, n_draws - start), n)))
        means = batch if means is None else means.join(batch)
    return means


def gap_intervals(both, level):
    """Interval of each draw's gap; `interval_of_largest_contrast` has it for one draw."""
    n_draws = len(both.values) // 2
    identity = sparse.eye_array(n_draws)
    one_way = sparse.hstack((identity, -identity))
    contrasts = sparse.csr_array(sparse.vstack((one_way, -one_way)))
    end = (1.0 + level) / 2.0  # Bonferroni: each limit has two ordered pairs
    highs = both.upper(contrasts, end).reshape(2, -1)
    lows = -both.upper(-contrasts, end).reshape(2, -1)
    return np.maximum(lows.max(axis=0), 0.0), np.maximum(highs.max(axis=0), 0.0)


def populations():
    """Two populations by name, each a function (generator, shape) -> values, and its mean."""
    return {
        "normal": (normal(0, 1), normal(0, 1)),
        "normal, three times the spread": (normal(0, 1), normal(1, 3)),
        "uniform": (uniform(0.0), uniform(0.2)),
        "exponential": (exponential(1), exponential(1)),
        "exponential, 1 and 1.5": (exponential(1), exponential(1.5)),
        "exponential, 1 and 3": (exponential(1), exponential(3)),
        "exponential, mirrored": (mirror(exponential(1)), exponential(1)),
        "gamma(.5), 1 and 2": (gamma(0.5, 1), gamma(0.5, 2)),
        "gamma(.1)": (gamma(0.1, 1), gamma(0.1, 1)),
        "lognormal(.5)": (lognormal(0, 0.5), lognormal(0.5, 0.5)),
        "lognormal(1)": (lognormal(0, 1), lognormal(0, 1)),
        "lognormal(1), 1 and 2": (lognormal(0, 1), lognormal(np.log(2), 1)),
        SKEWED: (lognormal(np.log(1.65) - 0.5, 1), lognormal(np.log(1.95) - 0.5, 1)),
        "lognormal(1.5)": (lognormal(0, 1.5), lognormal(0, 1.5)),
        "lognormal(1.5) and normal": (lognormal(0, 1.5), normal(1, 1)),
        "5 % lognormal(3, 1), else 0": (rare(0.05), rare(0.05)),
        "5 and 10 % lognormal(3, 1)": (rare(0.05), rare(0.1)),
        "Pareto(3)": (pareto(3), pareto(3)),
        "logistic losses": (logistic_loss(1.0), logistic_loss(2.0)),
        "squared errors, 1 and 4": (squared_error(1), squared_error(2)),
        "absolute errors of Student(3)": (absolute_student, absolute_student),
    }


def normal(mean, spread):
    return lambda rng, shape: mean + spread * rng.standard_normal(shape), mean


def uniform(start):
    return lambda rng, shape: start + rng.random(shape), start + 0.5


def exponential(mean):
    return lambda rng, shape: mean * rng.standard_exponential(shape), mean


def mirror(population):
    draw, mean = population
    return lambda rng, shape: -draw(rng, shape), -mean


def gamma(alpha, scale):
    return lambda rng, shape: scale * rng.standard_gamma(alpha, shape), alpha * scale


def lognormal(mean, spread):
    return lambda rng, shape: rng.lognormal(mean, spread, shape), np.exp(mean + spread**2 / 2)


def rare(share):
    draw, mean = lognormal(3, 1)
    return lambda rng, shape: (rng.random(shape) < share) * draw(rng, shape), share * mean


def pareto(power):
    return lambda rng, shape: rng.pareto(power, shape), 1.0 / (power - 1.0)


def logistic_loss(margin, spread=1.7):
    """Logistic losses of normal margins."""
    nodes, weights = special.roots_hermitenorm(80)
    mean = weights @ np.logaddexp(0.0, -(margin + spread * nodes)) / weights.sum()
    return lambda rng, shape: np.logaddexp(0, -rng.normal(margin, spread, shape)), mean


def squared_error(spread):
    return lambda rng, shape: (spread * rng.standard_normal(shape)) ** 2, float(spread**2)


absolute_student = lambda rng, shape: np.abs(rng.standard_t(3, shape)), 2.0 * np.sqrt(3.0) / np.pi
