"""Gaps of one's own are right in every client, or refused with what to write instead."""

import pytest

from tests.gap_clients import CLIENTS, GAPS, tabulate

QUOTIENT = "is no quotient: return the square alone, and pass MeanParity beside it"
REFUSED = {
    ("loss ratio", "monitor"): "Other criteria can be certified once, by skfair.audit.certify",
    ("mean square", "certify a regressor"): "Certify a gap of terms that are linear in predictions",
    **{("variance", client): QUOTIENT for client in CLIENTS},
    **{(gap, "plan"): "tolerance must be a finite number" for gap in GAPS},
    **{(gap, "subgroups"): "metrics must be one of" for gap in GAPS},
}
"""Gap and client, and what the message says."""


def check_outcomes(table):
    for gap, client, outcome in table.itertuples(index=False):
        if (gap, client) in REFUSED:
            assert outcome.startswith("ValueError")
            assert REFUSED[gap, client] in outcome
        else:
            assert outcome == "right", (gap, client)


def test_gaps_are_right_or_refused():
    check_outcomes(tabulate([one for one in CLIENTS if one not in ("blocks", "Dask", "PyTorch")]))


@pytest.mark.parametrize(
    ("client", "module"), [("blocks", "pyarrow"), ("Dask", "dask.dataframe"), ("PyTorch", "torch")]
)
def test_gaps_are_right_or_refused_by_other_packages(client, module):
    pytest.importorskip(module)
    check_outcomes(tabulate([client]))
