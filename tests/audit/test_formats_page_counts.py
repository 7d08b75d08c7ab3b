"""A number of samples on a page is a number of samples, whatever the weights."""

import re

import numpy as np
import pandas as pd
import pytest

from skfair.audit import Audit


def draw(weights):
    rng = np.random.default_rng(3)
    group = rng.choice(["f", "m"], 1000)
    selected = (rng.random(1000) < np.where(group == "f", 0.36, 0.5)).astype(int)
    drawn = np.where(group == "f", rng.gamma(1, 1, 1000), rng.gamma(4, 0.25, 1000)).round(3)
    return group, selected, {"none": None, "equal": np.full(1000, 2.5), "drawn": drawn}[weights]


def read_impact_table(text):
    """Rows of the table of impact ratios: group, samples, selected."""
    (table,) = re.findall(r"Impact ratios by .*?\n\n?(\|.*?)\n\n", text, re.DOTALL)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return {row[0]: row[1:3] for row in rows[2:]}


@pytest.mark.parametrize("weights", ["none", "equal", "drawn"])
def test_selected_is_the_number_of_samples_that_are_selected(weights):
    group, selected, sample_weight = draw(weights)
    audit = Audit.from_predictions(
        None, selected, sensitive_features=group, sample_weight=sample_weight
    )
    counts = pd.Series(selected).groupby(group).agg(["size", "sum"])
    table = read_impact_table(audit.report().to_markdown())
    for name, (size, n_selected) in zip(counts.index, counts.to_numpy(), strict=True):
        assert table[name] == [str(size), "–" if weights == "drawn" else str(n_selected)]
