"""Types that the signatures of public functions share."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

MatrixLike = ArrayLike | sparse.sparray | sparse.spmatrix
"""What scikit-learn calls array-like or sparse matrix."""

Label = float | str
"""A class, bool and int included."""

RandomState = int | np.random.RandomState | None
"""What `sklearn.utils.check_random_state` takes."""

Decorated = TypeVar("Decorated", bound=Callable)
"""A function whose decorator keeps its signature."""
