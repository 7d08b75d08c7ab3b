"""Linear models against plain numpy on standardised columns."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from skfair._problems.linear import LinearModel

N_SAMPLES, N_FEATURES = 50, 6
RNG = np.random.default_rng(0)
WEIGHTS = RNG.uniform(0.5, 2, N_SAMPLES)
DENSE = RNG.normal(1.0, 2.0, (N_SAMPLES, N_FEATURES))
SPARSE = DENSE * (RNG.random(DENSE.shape) < 0.25)


def shuffle_entries(X):
    """The same matrix with shuffled columns within rows, entries in two halves, stored zeros."""
    rows, columns = np.indices(X.shape).reshape(2, -1)
    order = np.random.default_rng(1).permutation(np.tile(np.arange(X.size), 2))
    order = order[np.argsort(rows[order], kind="stable")]
    indptr = np.arange(0, 2 * X.size + 1, 2 * X.shape[1])
    return sparse.csr_array((X.ravel()[order] / 2, columns[order], indptr), shape=X.shape)


def wide(X):
    X = sparse.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def frozen(X):
    X = X.copy()
    X.flags.writeable = False
    return X


CONTAINERS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "read-only": frozen,
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "64-bit": wide,
    "unsorted": shuffle_entries,
}
containers = pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
matrices = pytest.mark.parametrize("X", [DENSE, SPARSE], ids=["dense", "sparse"])
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


def standardize(X, fit_intercept):
    """The columns that a model's parameters multiply, by definition; ones come last."""
    if not fit_intercept:
        return X / np.sqrt(np.average(X**2, axis=0, weights=WEIGHTS))
    mean = np.average(X, axis=0, weights=WEIGHTS)
    variance = np.average((X - mean) ** 2, axis=0, weights=WEIGHTS)
    return np.column_stack(((X - mean) / np.sqrt(variance), np.ones(len(X))))


@pytest.mark.covering(0)
@containers
@matrices
@intercepts
def test_model_is_numpy_on_standardised_columns(container, X, fit_intercept):
    model = LinearModel.from_features(container(X), WEIGHTS, fit_intercept)
    Z = standardize(X, fit_intercept)
    rng = np.random.default_rng(2)
    parameters = rng.normal(size=Z.shape[1])
    slopes = rng.normal(size=N_SAMPLES)
    assert model.n_parameters == Z.shape[1]
    np.testing.assert_allclose(model.scores(parameters), Z @ parameters, atol=1e-12)
    np.testing.assert_allclose(model.pull_back(slopes), slopes @ Z, atol=1e-12)
    for weights in (slopes, np.abs(slopes)):
        gram = model.gram(weights)
        np.testing.assert_allclose(gram, (Z.T * weights) @ Z, atol=1e-11)
        np.testing.assert_allclose(gram, gram.T, atol=1e-12)
    rows = sparse.csr_array(rng.normal(size=(3, N_SAMPLES)) * (rng.random((3, N_SAMPLES)) < 0.5))
    np.testing.assert_allclose(model.pull_back_rows(rows), rows @ Z, atol=1e-12)


@containers
@intercepts
def test_coefficients_are_those_of_the_original_columns(container, fit_intercept):
    model = LinearModel.from_features(container(SPARSE), WEIGHTS, fit_intercept)
    parameters = np.random.default_rng(3).normal(size=model.n_parameters)
    coef, intercept = model.coefficients(parameters)
    assert isinstance(intercept, float)
    assert (intercept != 0) == fit_intercept
    np.testing.assert_allclose(SPARSE @ coef + intercept, model.scores(parameters), atol=1e-12)
    np.testing.assert_allclose(model.parameters(coef, intercept), parameters, atol=1e-12)
    ridge = model.ridge(0.3)
    np.testing.assert_allclose(ridge @ parameters**2, 0.3 * coef @ coef, rtol=1e-12)


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, shuffle_entries, wide])
def test_the_users_matrix_is_not_changed(container):
    X = container(SPARSE)
    before = [part.copy() for part in (X.data, X.indices, X.indptr)]
    model = LinearModel.from_features(X, WEIGHTS)
    model.gram(WEIGHTS)
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)
    np.testing.assert_allclose(X.toarray(), SPARSE, atol=1e-15)


def test_sparse_rows_are_stored_sorted_and_without_duplicates():
    assert LinearModel.from_features(shuffle_entries(SPARSE), WEIGHTS).X.has_canonical_format
    canonical = sparse.csr_array(SPARSE)
    assert np.shares_memory(LinearModel.from_features(canonical, WEIGHTS).X.data, canonical.data)


def test_columns_of_mostly_zeros_are_stored_sparse():
    assert sparse.issparse(LinearModel.from_features(SPARSE, WEIGHTS).X)
    assert LinearModel.from_features(DENSE, WEIGHTS).X is DENSE


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_other_dtypes_become_float64(dtype, container):
    X = SPARSE.astype(dtype)
    model = LinearModel.from_features(container(X), WEIGHTS)
    assert model.X.dtype == np.float64
    Z = standardize(X.astype(np.float64), True)
    np.testing.assert_allclose(model.gram(WEIGHTS), (Z.T * WEIGHTS) @ Z, atol=1e-11)


def test_scales_do_not_matter():
    scales = 10.0 ** np.array([-6, -3, 0, 1, 3, 6])
    plain, scaled = (LinearModel.from_features(X, WEIGHTS) for X in (DENSE, DENSE * scales))
    parameters = np.random.default_rng(4).normal(size=plain.n_parameters)
    np.testing.assert_allclose(scaled.scores(parameters), plain.scores(parameters), atol=1e-12)
    np.testing.assert_allclose(scaled.gram(WEIGHTS), plain.gram(WEIGHTS), atol=1e-11)
    coef, _ = scaled.coefficients(parameters)
    np.testing.assert_allclose(coef * scales * plain.scale, parameters[:-1], rtol=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, shuffle_entries])
def test_columns_far_from_zero_keep_their_digits(container):
    offset = np.array([1e9, -1e9, 1e6, 0.0, 0.0, 1e9])
    # Multiples of 2 ** -10 are stored exactly beside 1e9, so the variation is known exactly.
    near = np.round(DENSE * 1024) / 1024
    near[:, 5] = (np.arange(N_SAMPLES) % 2) / 1024
    model = LinearModel.from_features(container(near + offset), WEIGHTS)
    Z = standardize(near, True)
    parameters = np.random.default_rng(5).normal(size=model.n_parameters)
    np.testing.assert_allclose(model.scores(parameters), Z @ parameters, atol=1e-9)
    np.testing.assert_allclose(model.gram(WEIGHTS), (Z.T * WEIGHTS) @ Z, atol=1e-7)
    np.testing.assert_allclose(model.pull_back(WEIGHTS), WEIGHTS @ Z, atol=1e-7)
    coef, intercept = model.coefficients(parameters)
    # An intercept for columns that far from zero has no more digits than this.
    rounding = 4 * np.finfo(float).eps * np.abs(offset) @ np.abs(coef)
    np.testing.assert_allclose(model.parameters(coef, intercept), parameters, atol=rounding)
    decisions = (near + offset) @ coef + intercept
    np.testing.assert_allclose(decisions, Z @ parameters, atol=rounding)


def test_columns_far_from_zero_that_have_a_zero_are_not_shifted():
    X = np.column_stack((np.full(N_SAMPLES, 1e5), DENSE[:, 0] + 1e6)) + DENSE[:, [1, 2]]
    weights = WEIGHTS.copy()
    X[7, 0], weights[7] = 0.0, 1e-9
    model = LinearModel.from_features(sparse.csr_array(X), weights)
    assert model.origin[0] == 0 and model.origin[1] == pytest.approx(1e6, rel=1e-5)
    parameters = np.random.default_rng(6).normal(size=3)
    coef, intercept = model.coefficients(parameters)
    np.testing.assert_allclose(X @ coef + intercept, model.scores(parameters), rtol=1e-8)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1.0, 1e9, -1e-9])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@intercepts
def test_constant_columns(constant, container, fit_intercept):
    X = DENSE.copy()
    X[:, 2] = constant
    model = LinearModel.from_features(container(X), WEIGHTS, fit_intercept)
    gram = model.gram(WEIGHTS)
    assert (model.scale > 0).all()
    assert np.isfinite(gram).all()
    if fit_intercept or constant == 0:
        np.testing.assert_allclose(gram[2], 0, atol=1e-12)
    if fit_intercept:
        coef, intercept = model.coefficients(np.arange(7.0))
        assert coef[2] == 0.0
        np.testing.assert_allclose(
            model.parameters(coef, intercept), [0, 1, 0, 3, 4, 5, 6], atol=1e-12
        )


def test_numbers_that_differ_by_rounding_are_constant():
    X = DENSE.copy()
    X[:, 2] = np.where(np.arange(N_SAMPLES) % 2, 0.3, 0.1 + 0.2)
    model = LinearModel.from_features(X, WEIGHTS)
    assert model.coefficients(np.ones(7))[0][2] == 0.0


def test_rows_in_chunks(monkeypatch):
    at_once = LinearModel.from_features(DENSE, WEIGHTS)
    monkeypatch.setattr("skfair._problems.model._CHUNK_SIZE", 7)
    chunked = LinearModel.from_features(DENSE, WEIGHTS)
    np.testing.assert_allclose(chunked.scale, at_once.scale, rtol=1e-14)
    signed = WEIGHTS - 1
    np.testing.assert_allclose(chunked.gram(signed), at_once.gram(signed), atol=1e-11)


def test_blocks_of_rows_give_the_same_bits():
    """The moments of blocks that threads read add up to the same bits."""
    rows = np.tile(DENSE, (2000, 1))
    weights = np.tile(WEIGHTS, 2000)
    one, two = (LinearModel.from_features(rows, weights, n_jobs=n_jobs) for n_jobs in (1, 2))
    at_once = LinearModel.from_features(DENSE, WEIGHTS)
    for result, same, expected in zip(
        *((m.center, m.scale) for m in (one, two, at_once)), strict=True
    ):
        np.testing.assert_array_equal(result, same)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


@intercepts
def test_the_intercept_direction_adds_a_constant_to_all_scores(fit_intercept):
    model = LinearModel.from_features(DENSE, WEIGHTS, fit_intercept)
    direction = model.intercept_direction()
    if fit_intercept:
        np.testing.assert_array_equal(model.scores(direction), np.ones(N_SAMPLES))
    else:
        assert direction is None


@matrices
@intercepts
def test_a_subset_has_the_scores_of_its_samples(X, fit_intercept):
    model = LinearModel.from_features(X, WEIGHTS, fit_intercept)
    rows = np.array([3, 1, 1, 49, 7])
    taken = model.take(rows)
    parameters = RNG.normal(size=model.n_parameters)
    np.testing.assert_allclose(taken.evaluate(parameters).scores, model.scores(parameters)[rows])
    slopes = RNG.normal(size=len(rows))
    spread = np.bincount(rows, slopes, minlength=N_SAMPLES)
    np.testing.assert_allclose(taken.pull_back(slopes), model.pull_back(spread), atol=1e-12)
    np.testing.assert_allclose(taken.gram(slopes), model.gram(spread), atol=1e-12)


def test_a_point_has_the_derivatives_of_its_model():
    model = LinearModel.from_features(DENSE, WEIGHTS)
    point = model.evaluate(model.initial())
    np.testing.assert_array_equal(point.scores, np.zeros(N_SAMPLES))
    np.testing.assert_array_equal(point.gram(WEIGHTS), model.gram(WEIGHTS))
    np.testing.assert_array_equal(point.pull_back(WEIGHTS), model.pull_back(WEIGHTS))
    direction = RNG.normal(size=model.n_parameters)
    np.testing.assert_array_equal(point.push_forward(direction), model.scores(direction))


def misalign(buffer):
    """The same bytes at an address that is not aligned."""
    shifted = bytearray(3 + len(buffer))
    shifted[3:] = buffer
    return memoryview(shifted)[3:]


def test_rows_that_came_over_a_network_have_the_same_sums():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(511, 3))
    slopes = rng.normal(size=511)
    model = LinearModel.from_features(X, np.ones(511))
    expected = model.pull_back(slopes), model.gram(slopes)
    far = np.frombuffer(misalign(X.tobytes())).reshape(X.shape)
    assert not far.flags.aligned
    buffers = []
    sent = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    assert sum(one.raw().nbytes for one in buffers) == X.nbytes + 2 * 3 * 8  # each array once
    received = pickle.loads(sent, buffers=[misalign(one.raw()) for one in buffers])
    for other in (model.replace_features(far), received):
        np.testing.assert_array_equal(other.pull_back(slopes), expected[0])
        np.testing.assert_array_equal(other.gram(slopes), expected[1])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_rough_gram_matrices_are_those_of_double_precision(fit_intercept):
    columns = DENSE + 1e3  # the mean would take three digits of single precision
    model = LinearModel.from_features(columns, WEIGHTS, fit_intercept)
    weights = np.random.default_rng(1).normal(size=N_SAMPLES)  # of both signs
    scale = np.abs(model.gram(np.abs(weights))).max()
    rough = model.rough_gram(weights)
    np.testing.assert_allclose(rough, model.gram(weights), atol=1e-5 * scale)
    equal = model.gram(np.full(N_SAMPLES, 1.0 / N_SAMPLES))
    np.testing.assert_allclose(model.reference_gram, equal, atol=1e-5 * np.abs(equal).max())
    assert "reference_gram" not in vars(pickle.loads(pickle.dumps(model)))


def test_moments_of_blocks_whose_squares_are_lost_are_refused():
    with pytest.raises(ValueError, match="Columns of X must vary by 1e-140, .* column 1 varies"):
        LinearModel.from_moments(np.zeros(2), np.array([1.0, 1e-312]))
