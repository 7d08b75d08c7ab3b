"""Every public call gives equal results for a column in any container, or refuses it by its name.

Each role (X, y, groups, weights, scores, ...) is passed in one container at a time.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.test_common import ESTIMATORS
from tests.test_read_only import COLUMNS_OF_FITS, assert_same, fit_and_predict
from tests.test_refusals import list_functions

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def name_columns(table):
    return pd.DataFrame(table, columns=["first", "second"])


def widen_indices(table):
    matrix = sparse.csr_array(table)
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


TABLES = {
    "list": np.ndarray.tolist,
    "Fortran order": np.asfortranarray,
    "nullable": lambda table: name_columns(table).convert_dtypes(),
    "pandas with Arrow": lambda table: name_columns(table).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda table: pl.DataFrame(name_columns(table)),
    "polars, lazy": lambda table: pl.DataFrame(name_columns(table)).lazy(),
    "pyarrow": lambda table: pa.table(name_columns(table)),
    "rows, indices of 64 bits": widen_indices,
    "columns": sparse.csc_matrix,
    "coordinates": sparse.coo_array,
}
"""Containers of a table of numbers."""

COLUMNS = {
    "list": np.ndarray.tolist,
    "tuple": tuple,
    "objects": lambda column: column.astype(object),
    "one column": lambda column: column[:, np.newaxis],
    "nullable": lambda column: pd.Series(column).convert_dtypes(),
    "pandas with Arrow": lambda column: pd.Series(column).convert_dtypes(dtype_backend="pyarrow"),
    "categorical": lambda column: pd.Series(column).astype("category"),
    "pandas, one column": lambda column: pd.DataFrame({"name": column}),
    "polars": pl.Series,
    "polars, one column": lambda column: pl.DataFrame({"name": column}),
    "polars, lazy": lambda column: pl.DataFrame({"name": column}).lazy(),
    "pyarrow": pa.array,
    "pyarrow, chunks": lambda column: pa.chunked_array([column[:20], column[20:]]),
    "pyarrow, one column": lambda column: pa.table({"name": column}),
}
"""Containers of a column."""

REFUSED = {
    ("y", "objects"): "Unknown label type: y holds numbers",
    ("sample_weight", "one column"): "sample_weight must be 1D",
    ("sample_weight", "pandas, one column"): "sample_weight must be 1D",
    ("sample_weight", "polars, one column"): "sample_weight must be 1D",
    ("sample_weight", "pyarrow, one column"): "sample_weight must be 1D",
    **{
        ("y_pred", f"{of}one column"): "y_pred must hold labels, or sets"
        for of in ("", "pandas, ", "polars, ", "pyarrow, ")
    },
}
"""What may be refused, and how the refusal begins or goes on."""

SPARSE = {"rows, indices of 64 bits", "columns", "coordinates"}


def check_containers(call, columns):
    """Differences, errors of other libraries, and refusals that are not listed."""
    expected = call(columns)
    of_sparse = None
    problems = []
    for role, column in columns.items():
        containers = TABLES if column.ndim == 2 else COLUMNS
        for container, make in containers.items():
            words = REFUSED.get((role, container), f"{role} must be in memory")
            if container in SPARSE:
                words = "Sparse data was passed for X"
            try:
                if container in SPARSE and of_sparse is None:
                    of_sparse = call(columns | {role: sparse.csr_array(column)})
                got = call(columns | {role: make(column)})
            except (ValueError, TypeError) as error:
                if words not in str(error):
                    problems.append((role, container, error))
                continue
            if "lazy" in container:
                problems.append((role, container, "taken"))
                continue
            try:
                compare(got, of_sparse if container in SPARSE else expected)
            except AssertionError as error:
                problems.append((role, container, error))
    return problems


def compare(got, expected):
    """Raise unless results are equal, but for names of columns and the type of labels."""
    if isinstance(expected, dict):
        left_out = {"feature_names_in_", "pos_label_"}
        got, expected = (
            {name: one for name, one in each.items() if name not in left_out}
            for each in (got, expected)
        )
    if isinstance(expected, dict | float | int | np.ndarray | pd.DataFrame | pd.Series):
        assert_same(got, expected)
    else:
        assert repr(got) == repr(expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "function, columns", [pytest.param(*one[1:], id=one[0]) for one in list_functions()]
)
def test_functions_take_columns_in_any_container(function, columns):
    columns = {name: np.asarray(column) for name, column in columns.items()}
    assert check_containers(lambda passed: function(**passed), columns) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_estimators_take_columns_in_any_container(cls):
    columns = {name: np.asarray(one) for name, one in COLUMNS_OF_FITS[cls.__name__].items()}
    assert check_containers(lambda passed: fit_and_predict(cls, passed), columns) == []
