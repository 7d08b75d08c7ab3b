"""Strata are judged by their own samples, and one table has all of them."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from skfair.audit import Audit


@pytest.fixture(scope="module")
def jobs():
    rng = np.random.default_rng(4)
    parts = []
    for job in range(12):
        sizes = {"F": int(rng.integers(5, 12)), "M": int(rng.integers(20, 90))}
        for sex, n in sizes.items():
            hired = (rng.random(n) < (0.3 if sex == "F" else 0.5)).astype(int)
            parts.append(pd.DataFrame({"job": f"job {job + 1:02d}", "sex": sex, "hired": hired}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def report(jobs):
    audit = Audit.from_predictions(
        None,
        jobs["hired"],
        sensitive_features=jobs[["sex"]],
        control_features=jobs[["job"]],
        min_group_size=5,
    )
    return audit.report()


def test_two_percent_of_a_stratum_are_those_of_its_samples(jobs, report):
    counts = jobs.groupby(["job", "sex"]).size().unstack()
    assert (counts["F"] < 0.02 * len(jobs)).any() and (counts["F"] > 0.05 * counts["M"]).all()
    table = report.adverse_impact()
    assert len(table) == 26 and not table["is_excluded"].any()


def test_one_table_has_all_strata(jobs, report):
    text = report.to_markdown()
    (rows,) = re.findall(r"by sex within strata\*\*.*?\n\n(.*?)\n\n", text, re.DOTALL)
    cells = [[one.strip() for one in line.strip("|").split("|")] for line in rows.splitlines()[2:]]
    assert len(cells) == 12
    for (job, table), row in zip(jobs.groupby("job"), cells, strict=True):
        counts = table.groupby("sex")["hired"].agg(["sum", "size"])
        best = (counts["sum"] / counts["size"]).idxmax()
        other = "F" if best == "M" else "M"
        (k, n), (k_best, n_best) = (counts.loc[one] for one in (other, best))
        assert row[0] == f"job = {job}" and row[1] == other
        assert f"({k} of {n})" in row[2] and row[3].startswith(best)
        assert float(row[4]) == pytest.approx(100 * (k / n - k_best / n_best), rel=0.02)
        p_value = stats.fisher_exact([[k, n - k], [k_best, n_best - k_best]]).pvalue
        assert float(row[5]) == pytest.approx(p_value, rel=0.01)
    # Legends and folds occur once, and not for each stratum.
    assert text.count("four-fifths (80 %) rule on adverse impact") == 1
    assert len(re.findall(r"^## .*job", text, re.MULTILINE)) == 0
