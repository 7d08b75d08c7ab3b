"""Unique rows weigh as their duplicates, for any container and number of threads."""

from collections import Counter

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair._groups import check_groups
from skfair._groups.duplicates import merge_duplicate_rows
from skfair._partitions.partitions import BLOCK_SIZE
from skfair.metrics import (
    cluster_composition,
    demographic_parity_difference,
    group_report,
)

N = 2 * BLOCK_SIZE + 17
rng = np.random.default_rng(0)
CODES = rng.integers(3, size=N)
NAMES = np.array(["amber", "blue", "cyan"])[CODES]
TRUTH, DECIDED = rng.integers(2, size=(2, N))
HALVES = rng.integers(3, size=N) / 2  # of which sums are exact
REALS = rng.random(N)

GROUPS = {
    "integers": CODES,
    "bytes": CODES.astype(np.uint8) + 253,
    "far integers": CODES * 10**15,
    "decimals": CODES / 4,
    "booleans": CODES > 0,
    "strings": NAMES,
    "Series": pd.Series(CODES, name="code"),
    "strings of pandas": pd.Series(NAMES),
    "strings as objects": pd.Series(NAMES, dtype=object),
    "categories": pd.Series(pd.Categorical(NAMES, categories=["none", "cyan", "blue", "amber"])),
    "Categorical": pd.Categorical(NAMES),
    "nullable": pd.Series(CODES, dtype="Int64"),
    "table": pd.DataFrame({"name": NAMES, "late": np.arange(N) > BLOCK_SIZE, "code": CODES}),
    "array of two": np.column_stack((CODES, np.arange(N) % 2)),
    "many": np.arange(N) % 300,
}


@pytest.mark.covering(0)
@pytest.mark.parametrize("weights", [None, HALVES], ids=["alone", "weighted"])
@pytest.mark.parametrize("kind", GROUPS)
def test_unique_rows_weigh_as_their_duplicates(kind, weights):
    columns = {"truth": TRUTH, "decided": pd.Series(DECIDED)}
    groups, totals, merged = merge_duplicate_rows(GROUPS[kind], weights, **columns)
    n_rows = len(totals)
    assert n_rows < N / 10 and type(groups) is type(GROUPS[kind])
    groups = check_groups(groups, n_rows)
    everyone = check_groups(GROUPS[kind], N)
    assert groups.names == everyone.names and groups.attributes == everyone.attributes
    expected = Counter()
    ones = np.ones(N) if weights is None else weights
    rows = zip(everyone.codes.tolist(), TRUTH.tolist(), DECIDED.tolist(), strict=True)
    for row, weight in zip(rows, ones.tolist(), strict=True):
        expected[row] += weight
    rows = zip(groups.codes.tolist(), merged["truth"].tolist(), merged["decided"], strict=True)
    assert dict(zip(rows, totals.tolist(), strict=True)) == expected


def test_columns_of_any_type_are_merged():
    n_rows = {kind: len(merge_duplicate_rows(groups, None)[0]) for kind, groups in GROUPS.items()}
    others = {"booleans": 2, "table": 6, "array of two": 6, "many": 300}
    assert n_rows == dict.fromkeys(GROUPS, 3) | others


def test_any_number_of_threads_gives_the_same_bits():
    def report():
        return group_report(TRUTH, DECIDED, sensitive_features=NAMES, sample_weight=REALS)

    alone = report()
    for n_jobs in (2, 5):
        with joblib.parallel_config(n_jobs=n_jobs):
            pd.testing.assert_frame_equal(report(), alone, check_exact=True)
    expected = report_of_lists()
    pd.testing.assert_frame_equal(alone, expected, rtol=1e-11)


def report_of_lists():
    """The same report without merging."""
    columns_of_samples = {"sensitive_features": NAMES.tolist(), "sample_weight": REALS.tolist()}
    return group_report(TRUTH.tolist(), DECIDED.tolist(), **columns_of_samples)


def test_strata_and_clusters_are_those_of_lists():
    strata = np.arange(N) % 5
    of_arrays = {"sensitive_features": NAMES, "sample_weight": HALVES}
    of_lists = {name: column.tolist() for name, column in of_arrays.items()}
    assert demographic_parity_difference(
        TRUTH, DECIDED, control_features=strata, **of_arrays
    ) == demographic_parity_difference(
        TRUTH.tolist(), DECIDED.tolist(), control_features=strata.tolist(), **of_lists
    )
    pd.testing.assert_frame_equal(
        cluster_composition(strata, **of_arrays),
        cluster_composition(strata.tolist(), **of_lists),
        check_column_type=False,
    )


def insert_value(column, value):
    column = column.copy()
    column[BLOCK_SIZE + 5] = value
    return column


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "changed, match",
    [
        ({"sensitive_features": insert_value(CODES / 2, np.nan)}, f"first in row {BLOCK_SIZE + 5}"),
        (
            {"sensitive_features": insert_value(pd.Series(NAMES), None)},
            f"first in row {BLOCK_SIZE + 5}",
        ),
        (
            {"sensitive_features": insert_value(pd.Categorical(NAMES), None)},
            f"in row {BLOCK_SIZE + 5}",
        ),
        ({"sensitive_features": CODES[1:]}, f"has {N - 1} rows but there are {N} samples"),
        ({"sensitive_features": pd.Series(CODES, index=np.arange(N)[::-1])}, "same pandas index"),
        ({"sensitive_features": CODES.reshape(1, 1, N)}, "ndarray of 3 dimensions"),
        ({"y_true": insert_value(TRUTH.astype(float), np.inf)}, "y_true contains infinity"),
        ({"y_pred": REALS}, "If y_pred holds scores"),
        ({"y_pred": insert_value(DECIDED, 2)}, "got 3 labels: 0, 1, 2"),
        ({"sample_weight": insert_value(REALS, -1.0)}, "[Nn]egative"),
        ({"sample_weight": insert_value(REALS, np.nan)}, "NaN"),
        ({"sample_weight": np.zeros(N)}, "zero"),
        ({"sample_weight": np.full(N, 1e308)}, r"overflows: the largest weight is 1e\+308"),
        ({"sample_weight": pd.Series(REALS).convert_dtypes()[1:]}, "index"),
    ],
)
def test_errors_do_not_depend_on_merging(changed, match):
    columns_of_samples = {
        "y_true": TRUTH,
        "y_pred": pd.Series(DECIDED),
        "sensitive_features": NAMES,
        "sample_weight": REALS,
    }
    with pytest.raises(ValueError, match=match):
        demographic_parity_difference(**(columns_of_samples | changed))


@pytest.mark.parametrize(
    "groups, columns",
    [
        (NAMES[:BLOCK_SIZE], {"truth": TRUTH[:BLOCK_SIZE]}),
        (NAMES, {"score": REALS}),
        (sparse.csr_array(CODES[:, np.newaxis] == np.arange(3)), {"truth": TRUTH}),
        (NAMES.astype(object), {"truth": TRUTH}),
    ],
    ids=["few", "hardly ever equal", "overlapping", "objects"],
)
def test_others_stay_as_they_are(groups, columns):
    merged, weights, same = merge_duplicate_rows(groups, None, **columns)
    assert merged is groups and weights is None
    assert all(same[name] is column for name, column in columns.items())
