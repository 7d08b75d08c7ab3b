"""The constrained estimate of two rates of a known difference."""

from __future__ import annotations

import numpy as np


def constrained_rate(
    x1: np.ndarray,
    n1: np.ndarray | int,
    x2: np.ndarray,
    n2: np.ndarray | int,
    difference: np.ndarray | float,
) -> np.ndarray:
    """Maximum likelihood second rate if the first is larger by the difference: a cubic's root."""
    n = n1 + n2
    x = x1 + x2
    cubic = 1.0 * n
    square = (n1 + 2.0 * n2) * difference - n - x
    linear = (n2 * difference - n - 2.0 * x2) * difference + x
    constant = x2 * difference * (1.0 - difference)
    third = square / (3.0 * cubic)
    q = third**3 - square * linear / (6.0 * cubic**2) + constant / (2.0 * cubic)
    root = np.sqrt(np.maximum(third**2 - linear / (3.0 * cubic), 0.0))
    p = np.where(q > 0, root, -root)
    cosine = np.divide(q, p**3, out=np.zeros_like(q), where=p != 0)
    angle = (np.pi + np.arccos(np.clip(cosine, -1.0, 1.0))) / 3.0
    return np.clip(2.0 * p * np.cos(angle) - third, 0.0, 1.0 - difference)
