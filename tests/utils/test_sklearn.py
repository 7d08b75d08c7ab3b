from typing import Annotated

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from skfair._utils.parameters import validate_params
from skfair._utils.sklearn import StrOptions, check_method_params, safe_indexing


class Chosen(BaseEstimator):
    """An estimator of one parameter, and a registry of its values."""

    __module__ = "skfair.chosen"  # hints outside of skfair are not checked
    registry = {"beta": 1, "alpha": 2}

    def __init__(self, name: Annotated[str, StrOptions(registry)] | None = "alpha"):
        self.name = name


def test_names_are_listed_in_order_and_the_closest_is_suggested():
    with pytest.raises(ValueError, match=r"among {'alpha', 'beta'} or None.*mean 'alpha'\?$"):
        validate_params(Chosen("alfa"))
    with pytest.raises(ValueError, match=r"Got 3 instead\.$"):
        validate_params(Chosen(3))
    assert str(StrOptions({"c", "a", "b"})) == "a str among {'a', 'b', 'c'}"


def test_names_added_to_the_registry_later_are_valid(monkeypatch):
    validate_params(Chosen())
    monkeypatch.setitem(Chosen.registry, "gamma", 3)
    validate_params(Chosen("gamma"))


@pytest.mark.parametrize("rows", [[2, 0], np.array([2, 0]), np.array([False, True, True])])
def test_rows_of_arrow_are_those_of_the_array(rows):
    pa = pytest.importorskip("pyarrow")
    column = np.array([4.0, 5.0, 6.0])
    expected = column[rows].tolist()
    for packed in (pa.array(column), pa.chunked_array([column[:1], column[1:]])):
        assert safe_indexing(packed, rows).to_pylist() == expected
    table = pa.table({"a": column})
    for packed in (table, table.to_batches()[0]):
        assert safe_indexing(packed, rows).to_pydict() == {"a": expected}


@pytest.mark.parametrize("columns", [["c", "a"], [2, 0], np.array([2, 0])])
def test_columns_of_arrow_are_selected_by_name_and_position(columns):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    for packed in (table, table.to_batches()[0]):
        selected = safe_indexing(packed, columns, axis=1).to_pydict()
        assert list(selected.items()) == [("c", [5, 6]), ("a", [1, 2])]
        for one in ("c", 2):
            assert safe_indexing(packed, one, axis=1).to_pylist() == [5, 6]


def test_parameters_with_one_value_per_sample_are_divided_as_the_samples():
    pa = pytest.importorskip("pyarrow")
    params = {"weights": pa.array([1, 2, 3]), "other": pa.array([7]), "text": "ab", "y": [4, 5, 6]}
    divided = check_method_params(np.zeros((3, 1)), params, indices=np.array([2, 0]))
    assert list(divided) == list(params)
    assert divided["weights"].to_pylist() == [3, 1]
    assert divided["other"] is params["other"]
    assert (divided["text"], list(divided["y"])) == ("ab", [6, 4])
