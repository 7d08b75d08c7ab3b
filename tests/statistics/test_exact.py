import numpy as np
import pytest
from scipy import stats

from skfair._statistics.exact import constrained_rate


def test_constrained_rates_maximise_the_likelihood():
    for x1, n1, x2, n2, difference in [
        (3, 10, 5, 12, 0.2),
        (0, 10, 0, 12, 0.1),
        (9, 10, 2, 9, 0.3),
    ]:
        grid = np.linspace(1e-9, 1 - difference - 1e-9, 200_001)
        likelihood = stats.binom.logpmf(x1, n1, grid + difference) + stats.binom.logpmf(
            x2, n2, grid
        )
        result = constrained_rate(np.array([x1]), n1, np.array([x2]), n2, difference)
        assert result == pytest.approx([grid[likelihood.argmax()]], abs=2e-5)
