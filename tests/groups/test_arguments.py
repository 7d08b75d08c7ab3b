"""The arguments of a fit, aligned once."""

import numpy as np
import pandas as pd
import pytest

from skfair._groups.arguments import FitArguments
from skfair._partitions.blocks import Blocks

X = np.zeros((3, 2))


def test_metadata_are_what_was_passed_to_a_wrapper():
    arguments = FitArguments(sample_weight=[1, 2, 3], X=X, groups=[0, 0, 1])
    assert list(arguments.metadata) == ["sample_weight"]
    assert not arguments.is_partitioned


def test_each_argument_is_aligned_with_the_others():
    series = pd.Series([1, 2, 3], index=[1, 2, 3])
    names = FitArguments.__dataclass_fields__
    for name in set(names) - {"X"}:
        with pytest.raises(ValueError, match=f"X and {name} must have the same pandas index"):
            FitArguments(X=pd.DataFrame(X, index=[2, 3, 4]), **{name: series})


def test_a_name_in_place_of_a_column_is_refused():
    with pytest.raises(ValueError, match=r"pass the column, as in sensitive_features=X\['sex'\]"):
        FitArguments(X=X, sensitive_features="sex")


def test_blocks_are_partitioned():
    rows = Blocks(lambda i, names: X[:, names], [3], range(2))
    assert FitArguments(X=rows).is_partitioned
    assert FitArguments(X=X, sensitive_features=rows[0]).is_partitioned
