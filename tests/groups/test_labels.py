"""One rule for labels in memory and on partitions: an attribute has labels of one kind."""

import numpy as np
import pandas as pd
import pytest

from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.groups import check_attribute_label_types, check_one_label_type
from skfair.metrics import demographic_parity_difference

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(2 * N, 2))
CODES = np.arange(2 * N) % 2
Y = (X[:, 0] + CODES + RNG.normal(size=2 * N) > 0).astype(int)

KINDS = {
    "numbers and strings": (int, str),
    "booleans and numbers": (bool, int),
    "booleans and strings": (bool, str),
}


def combine_types(codes, kinds, *, within=False):
    """Codes as labels of two kinds: of one in each partition, or of both in all of them."""
    of_one, of_other = (np.array(list(map(kind, codes.tolist())), dtype=object) for kind in kinds)
    is_first = np.arange(2 * N) // 2 % 2 == 0 if within else np.arange(2 * N) < N
    return np.where(is_first, of_one, of_other)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, dashboard_address=":0") as client:
        yield client


def load_rows(array):
    return array


def make_lazy(array):
    import dask.array as da

    return da.from_array(array, chunks=(N, *array.shape[1:]))


def fit(place, groups):
    ConstrainedERMClassifier(tolerance=0.1).fit(
        place(X), place(Y), sensitive_features=place(groups)
    )


def cluster(place, groups):
    FairKMeans(2, random_state=0).fit(place(X), sensitive_features=place(groups))


def measure(place, groups):
    demographic_parity_difference(place(Y), place(Y), sensitive_features=place(groups))


@pytest.mark.parametrize("types", KINDS)
@pytest.mark.parametrize("within", [False, True], ids=["across", "within"])
@pytest.mark.parametrize("place", [load_rows, make_lazy])
@pytest.mark.parametrize("use", [fit, cluster, measure])
def test_groups_of_two_kinds_are_refused(client, use, place, within, types):
    groups = combine_types(CODES, KINDS[types], within=within)
    message = rf"attribute 0 of sensitive_features must be of one type, but it mixes {types} \(such"
    with pytest.raises(TypeError, match=message):
        use(place, groups)


@pytest.mark.parametrize("types", KINDS)
@pytest.mark.parametrize("place", [load_rows, make_lazy])
def test_classes_of_two_kinds_are_refused(client, place, types):
    y = combine_types(Y, KINDS[types])
    model = ConstrainedERMClassifier(tolerance=0.1, pos_label=1)
    with pytest.raises(TypeError, match=f"labels in y must be of one type, but it mixes {types}"):
        model.fit(place(X), place(y), sensitive_features=place(CODES))


@pytest.mark.parametrize("use", [fit, cluster, measure])
def test_the_second_attribute_is_checked_as_well(client, use):
    dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"race": CODES, "sex": combine_types(CODES[::-1], (bool, int))})
    with dask.config.set({"dataframe.convert-string": False}):
        groups = dd.from_pandas(frame, npartitions=2)

    def place(array):
        return groups if array is None else make_lazy(array)

    with pytest.raises(TypeError, match="attribute 1 of sensitive_features must be of one type"):
        use(place, None)


@pytest.mark.parametrize("use", [fit, cluster, measure])
def test_integers_and_real_numbers_are_of_one_kind(client, use):
    use(make_lazy, combine_types(CODES, (int, float)))


def test_missing_values_are_of_no_kind():
    check_one_label_type([None, 1, float("nan"), 2.0, pd.NA, np.int64(3)], "y")
    with pytest.raises(TypeError, match="numbers and strings"):
        check_one_label_type([None, 1, float("nan"), "1"], "y")


def test_labels_of_groups():
    check_attribute_label_types([])
    check_attribute_label_types([(1, "a"), (2, "b")])
    with pytest.raises(TypeError, match="attribute 1 .* booleans and strings"):
        check_attribute_label_types([(1, "a"), (2, True)])
