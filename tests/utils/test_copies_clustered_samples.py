"""Samples that belong together, and data whose samples are independent."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair._utils.copies import _N_EXAMINED, describe_clustered_samples
from skfair.datasets import fetch_acs_income, fetch_bank_marketing, fetch_law_school, load_patients

N_DRAWS = 20


def draw_households(n, rng):
    """Number of the household of each sample; households have one to five consecutive members."""
    return np.repeat(np.arange(n), rng.integers(1, 6, size=n))[:n]


def draw_numbers(n, rng):
    """Eleven numbers of the household and two of the member."""
    household = draw_households(n, rng)
    return np.hstack((rng.normal(size=(n, 11))[household], rng.normal(size=(n, 2))))


def draw_table(n, rng):
    """Numbers and labels of the household, age and sex of the member; some are missing."""
    household = draw_households(n, rng)
    of_household = pd.DataFrame(
        {
            "income": rng.lognormal(size=n),
            "rent": rng.gamma(2.0, size=n).round(1),
            "region": rng.choice(["north", "south", "east", "west", None], size=n),
            "bedrooms": np.where(rng.random(n) < 0.1, np.nan, rng.integers(1, 7, size=n)),
            "value": rng.lognormal(size=n).round(2),
        }
    )
    table = of_household.iloc[household].reset_index(drop=True)
    return table.assign(age=rng.integers(90, size=n), sex=rng.choice(["f", "m"], size=n))


def draw_indicators(n, rng):
    """The table with one column per label: members differ in four or fewer columns."""
    return pd.get_dummies(draw_table(n, rng).fillna({"bedrooms": 0}), dtype=float).to_numpy()


def draw_correlated(n, rng):
    """Numbers of which half of the variance is the household's: no two are equal."""
    household = draw_households(n, rng)
    return rng.normal(size=(n, 10))[household] + rng.normal(size=(n, 10))


def draw_near_copies(n, rng):
    """Five numbers of households of three, of which each member has slightly different ones."""
    household = np.arange(n) // 3
    return rng.normal(size=(n, 5))[household] + 0.02 * rng.normal(size=(n, 5))


def draw_near_copies_with_labels(n, rng):
    """The same, and two labels of the member."""
    return np.hstack((draw_near_copies(n, rng), rng.integers([2, 4], size=(n, 2))))


def draw_labels(n, rng):
    """Few-valued columns of the household, and two of the member."""
    household = draw_households(n, rng)
    shared = rng.integers([10, 10, 6, 3, 3], size=(n, 5))[household]
    return np.hstack((shared, rng.integers([90, 2], size=(n, 2))))


def shuffle(X, rng):
    """The same samples in random order."""
    order = rng.permutation(len(X))
    return X.iloc[order] if isinstance(X, pd.DataFrame) else X[order]


def count_described(draw, n, is_shuffled, n_draws=N_DRAWS):
    """Draws in which samples are found to belong together."""
    count = 0
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        X = draw(n, rng)
        count += describe_clustered_samples(shuffle(X, rng) if is_shuffled else X) is not None
    return count


@pytest.mark.parametrize(
    "draw",
    [
        draw_numbers,
        draw_table,
        draw_indicators,
        draw_correlated,
        draw_labels,
        draw_near_copies,
        draw_near_copies_with_labels,
    ],
)
def test_consecutive_members_of_households_are_found(draw):
    assert count_described(draw, 800, is_shuffled=False) >= 0.95 * N_DRAWS


@pytest.mark.covering(0)
@pytest.mark.parametrize("draw", [draw_numbers, draw_table, draw_indicators])
def test_members_are_found_in_any_order(draw):
    assert count_described(draw, 800, is_shuffled=True) >= 0.95 * N_DRAWS


@pytest.mark.covering(0)
@pytest.mark.parametrize("n", [300, 900, 5000])
@pytest.mark.parametrize("draw", [draw_near_copies, draw_near_copies_with_labels])
def test_near_copies_are_found_in_any_order(draw, n):
    assert count_described(draw, n, is_shuffled=True) >= 0.95 * N_DRAWS


def draw_independent(seed):
    """One of five tables of independent samples: numbers, labels, and copies by coincidence."""
    rng = np.random.default_rng(seed)
    n = rng.choice([300, 1000, 5000])
    n_columns = rng.integers(3, 15)
    numbers = rng.normal(size=(n, n_columns))
    correlated = numbers @ rng.normal(size=(n_columns, n_columns))
    centers = rng.normal(scale=8.0, size=(8, n_columns))
    copies = rng.integers([3, 4, 8], size=(n, 3))
    tables = [correlated, correlated.round(), numbers + centers[rng.integers(8, size=n)], copies]
    return [*tables, np.column_stack((rng.lognormal(size=(n, 2)).round(1), copies))][seed % 5]


@pytest.mark.parametrize("n", [39, 40, 41, 60])
def test_few_independent_samples_are_not_described(n):
    assert describe_clustered_samples(np.random.default_rng(n).normal(size=(n, 5))) is None


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(50))
def test_independent_numbers_and_labels_are_not_described(seed):
    assert describe_clustered_samples(draw_independent(seed)) is None


@pytest.mark.parametrize(
    "fetch",
    [
        fetch_acs_income,
        fetch_bank_marketing,
        fetch_law_school,
    ],
)
def test_real_samples_are_independent(fetch):
    try:
        X = fetch(download_if_missing=False).data
    except OSError:
        pytest.skip("the data are not stored")
    assert describe_clustered_samples(X) is None
    assert describe_clustered_samples(shuffle(X, np.random.default_rng(0))) is None


def draw_independent_table(n, rng):
    """The columns of households, each in an order of its own."""
    table = draw_table(n, rng)
    return table.apply(lambda column: column.to_numpy()[rng.permutation(n)])


def draw_sorted(n, rng):
    """Independent samples, sorted by one column and then by another, and by a third of two."""
    table = pd.DataFrame(rng.integers([2, 20, 50], size=(n, 3)), columns=list("abc"))
    table = table.sort_values(["a", "b", "c"]).assign(time=np.sort(rng.normal(size=n)))
    return table.join(pd.DataFrame(rng.normal(size=(n, 5)))).rename(columns=str)


def draw_derived(n, rng):
    """Ten columns that follow from the month, and six of the person."""
    month = np.sort(rng.integers(12, size=n))
    by_month = rng.normal(size=(12, 10))[month]
    return np.hstack((by_month, rng.integers(9, size=(n, 5)), rng.integers(90, size=(n, 1))))


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("n", "is_shuffled"),
    [(300, False), (300, True), (3000, False), pytest.param(3000, True, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize(
    "draw",
    [
        lambda n, rng: rng.normal(size=(n, 3)),
        lambda n, rng: rng.standard_t(1, size=(n, 12)),
        lambda n, rng: rng.integers(3, size=(n, 12)),
        lambda n, rng: (rng.random((n, 60)) < 0.05).astype(float),
        draw_independent_table,
        draw_sorted,
    ],
    ids=["normal", "heavy tails", "three values", "indicators", "table", "sorted"],
)
def test_independent_samples_are_not_described(draw, is_shuffled, n):
    assert count_described(draw, n, is_shuffled, n_draws=8) == 0


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_many_columns_that_follow_from_one_are_not_described(is_shuffled):
    assert count_described(draw_derived, 3000, is_shuffled, n_draws=8) == 0


def test_the_share_is_that_of_samples_with_a_partner():
    """A third of the samples are in pairs, in any order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 8))
    X[500:, :7] = X[400:500, :7]
    clause = describe_clustered_samples(shuffle(X, rng))
    assert clause == "33% of the samples equal another one in all but one or two columns"


@pytest.mark.parametrize(
    "convert", [np.asarray, sparse.csr_array, sparse.coo_array, pd.DataFrame, np.float32]
)
def test_any_container_shows_the_same(convert):
    rng = np.random.default_rng(0)
    X = shuffle(draw_numbers(900, rng), rng)
    assert describe_clustered_samples(convert(X)) == describe_clustered_samples(X) is not None


def test_input_is_left_alone():
    rng = np.random.default_rng(0)
    X = shuffle(draw_numbers(400, rng), rng)
    X[::7, 3] = np.nan
    before = X.copy()
    assert describe_clustered_samples(X) is not None
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    "X",
    [
        ["a text"] * 100,
        np.zeros(100),
        np.zeros((100, 5)),
        np.ones((0, 5)),
        np.random.default_rng(0).normal(size=(10, 5)),
        np.random.default_rng(0).normal(size=(100, 2)),
        np.full((100, 4), np.nan),
        np.full((100, 4), np.inf),
        np.array([["x", None, 1.0, "y"]] * 100, dtype=object),
        sparse.csr_array((100, 5)),
    ],
    ids=lambda X: f"{type(X).__name__}",
)
def test_what_shows_nothing_is_not_described(X):
    assert describe_clustered_samples(X) is None


@pytest.mark.slow
def test_wide_data_are_examined_at_a_hundred_columns():
    rng = np.random.default_rng(0)
    household = draw_households(2 * _N_EXAMINED, rng)
    X = rng.normal(size=(2 * _N_EXAMINED, 1000))[household]
    assert describe_clustered_samples(shuffle(X, rng)) is not None
    assert describe_clustered_samples(sparse.csr_array(X)) is not None


def test_real_patients_are_independent():
    assert describe_clustered_samples(load_patients().data) is None


def test_many_samples_are_not_copied():
    X = np.random.default_rng(0).normal(size=(300_000, 20))
    tracemalloc.start()
    try:
        assert describe_clustered_samples(X) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.6 * X.nbytes
