"""Gaps of one's own are right in every client, or refused with what to write instead."""

import sys

import numpy as np
import pandas as pd
import pytest

from skfair.constraints import MeanParity
from tests import gap_clients
from tests.gap_clients import CLIENTS, GAPS, ByHand, SquareParity, draw_samples, tabulate
from tests.rate_clients import fit_plain

QUOTIENT = "is no quotient: return the square alone, and pass MeanParity beside it"
REFUSED = {
    ("large groups", "check"): "not on their sizes: check LargeGroupsRange",
    ("large groups", "monitor"): "must be the largest difference between the means of two groups",
    **{("variance", client): QUOTIENT for client in CLIENTS if client != "report of the mean"},
    **{(gap, "report"): "a GroupMetric(function, response_method=...) of scores" for gap in GAPS},
    **{(gap, "plan"): "plan a claim by certifying a sample" for gap in GAPS},
    **{(gap, "subgroups"): "as decisions, such as Audit.from_predictions(None," for gap in GAPS},
}
"""Gap and client, and what the message says to write instead."""

PACKAGES = {"blocks": "pyarrow", "Dask": "dask.dataframe", "PyTorch": "torch"}
"""Clients that need another package."""


def check_outcomes(table):
    for gap, client, outcome in table.itertuples(index=False):
        if (gap, client) in REFUSED:
            assert outcome.startswith("ValueError")
            assert REFUSED[gap, client] in outcome
        else:
            assert outcome == "right", (gap, client)


@pytest.mark.slow
def test_gaps_are_right_or_refused():
    check_outcomes(tabulate([client for client in CLIENTS if client not in PACKAGES]))


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("client", PACKAGES)
def test_gaps_are_right_or_refused_by_other_packages(client):
    pytest.importorskip(PACKAGES[client])
    check_outcomes(tabulate([client]))


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert set(tabulate(["PyTorch"])["outcome"]) == {"not run: torch is not installed"}


@pytest.mark.slow
def test_a_wrong_number_is_called_wrong(monkeypatch):
    monkeypatch.setattr(ByHand, "gap_of_means", lambda self, means: 1.01 * np.ptp(means))
    table = tabulate(["fit", "certify", "monitor"])
    is_wrong = table[table["gap"] != "variance"].set_index(["gap", "client"])["outcome"] == "wrong"
    assert is_wrong.drop([("loss ratio", "monitor"), ("large groups", "monitor")]).all()


def test_variances_are_equal_under_both_constraints_that_a_message_names():
    columns, _, group = draw_samples()
    model = fit_plain(columns, [SquareParity(tolerance=0.05), MeanParity(tolerance=0.01)])
    scores = pd.Series(np.asarray(model.decision_function(columns.X))).groupby(group)
    means = scores.mean().to_numpy()
    # A squared mean differs by the sum of both means times their difference.
    assert np.ptp(scores.var(ddof=0)) <= 0.05 + 0.01 * abs(means.sum()) + 1e-4


def test_the_command_prints_cells_and_sentences(monkeypatch, capsys):
    outcomes = ["right", "ValueError: pass x.", "ValueError: pass x.", "not run: torch is missing"]
    rows = [("loss ratio", client, one) for client, one in zip(CLIENTS, outcomes, strict=False)]
    table = pd.DataFrame(rows, columns=["gap", "client", "outcome"])
    monkeypatch.setattr(gap_clients, "tabulate", lambda: table)
    monkeypatch.setattr(gap_clients, "CLIENTS", [*CLIENTS][:4])
    gap_clients.main()
    text = capsys.readouterr().out
    assert text.count("refused (1)") == 2 and "\n(1) ValueError: pass x.\n" in text
    assert "right" in text and "not run: torch is missing" in text
