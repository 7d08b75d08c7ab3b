"""Which rates work for which clients, in memory, in files and on Dask."""

import pytest

from tests.rate_clients import CLIENTS, RATES, name_of, tabulate

REFUSED = {
    ("floor", "treatment_equality"): "Bound the inverse rate by MaximumRate instead",
    ("monitor", "treatment_equality"): "can be certified once, by skfair.audit.Audit.certify",
    ("monitor", "f1_score"): "can be certified once, by skfair.audit.Audit.certify",
}
"""Client and rate, and what the message says is needed instead."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "storage",
    [
        "memory",
        pytest.param("file", marks=pytest.mark.slow),
        pytest.param("dask", marks=pytest.mark.slow),
    ],
)
def test_rates_work_for_all_clients_or_are_refused_with_a_remedy(storage):
    pytest.importorskip({"memory": "numpy", "file": "pyarrow", "dask": "dask.dataframe"}[storage])
    table = tabulate([storage]).set_index(["client", "rate"])["outcome"]
    assert len(table) == len(CLIENTS) * len(RATES)
    failed = table[table != "yes"]
    assert set(failed.index) == set(REFUSED)
    for cell, remedy in REFUSED.items():
        assert failed[cell].startswith("ValueError")
        assert remedy in failed[cell]


def test_no_more_than_a_tenth_is_refused():
    assert len(REFUSED) <= 0.1 * len(CLIENTS) * len(RATES)
    assert {rate for _, rate in REFUSED} <= {name_of(rate) for rate in RATES}
