"""Table 3 of the benchmark of stochastic methods: which runs, and how means are compared."""

import numpy as np
import pytest

from benchmarks.erm_cases import Split
from benchmarks.papers.stochastic_methods import mlp_methods
from benchmarks.papers.stochastic_methods.acs_income_problem import network_problem
from benchmarks.papers.stochastic_methods.mlp_methods import (
    DRAWN,
    MANY_SPLITS,
    METHODS,
    ONE_SPLIT,
    OURS,
    PUBLISHED,
)


def outcomes(values):
    """Runs with one value for all measures on test and training rows."""
    measures = [dict.fromkeys(mlp_methods.MEASURES, value) for value in values]
    return [{"test": one, "train": one} for one in measures]


def test_means_are_compared_by_the_standard_error_of_their_difference():
    """Ours 0.09, 0.11 and 0.13: mean 0.11, deviation 0.02. Printed of SGD: 0.097 (0.006)."""
    off = list(mlp_methods._distances("SGD", "test", outcomes([0.09, 0.11, 0.13])))
    assert off[0] == pytest.approx(0.013 / np.sqrt(0.02**2 / 3 + 0.006**2 / 10))


def test_a_wide_scatter_does_not_lower_the_distance():
    """Ten runs about 0.423 that scatter by 0.456 lie off the printed 0.175 (0.031)."""
    values = 0.423 + 0.456 * np.sqrt(9 / 10) * np.repeat([-1.0, 1.0], 5)
    off = list(mlp_methods._distances("SSw", "test", outcomes(values)))
    assert off[3] == pytest.approx(0.248 / np.hypot(0.456, 0.031) * np.sqrt(10), rel=1e-6)


def test_deviations_are_the_printed_ones():
    """Those in bold, which a text without bold numbers lacks, among them."""
    deviations = {
        (part, name): half[name].deviations
        for part, half in PUBLISHED.items()
        for name in ("SGD", "StGh", "SGD-fairret")
    }
    assert deviations["test", "StGh"] == (0.029, 0.039, 0.022, 0.033)
    assert deviations["test", "SGD"] == (0.006, 0.016, 0.002, 0.009)
    assert deviations["train", "StGh"] == (0.026, 0.028, 0.024, 0.038)
    assert deviations["train", "SGD"] == (0.004, 0.007, 0.001, 0.006)
    assert deviations["train", "SGD-fairret"] == (0.012, 0.017, 0.002, 0.010)


def test_all_sixty_means_of_table_3_are_compared():
    runs = outcomes([0.1, 0.2])
    methods = [name for name in METHODS if name in PUBLISHED["test"] and name != DRAWN]
    for part, half in PUBLISHED.items():
        checks = [c for name in methods for c in mlp_methods._paper_checks("all", part, name, runs)]
        wd = [half[name].wd for name in methods]
        assert len(checks) + len(wd) == 30 and all(part in check.what for check in checks)
        assert half["SSw"].means != half["SGD"].means


def test_the_network_of_nine_features_has_2753_parameters():
    """The paper says 194."""
    rows = Split(np.zeros((4, 9)), np.array([0, 1, 0, 1]), np.array(["a", "a", "b", "b"]))
    assert network_problem(rows).model.n_parameters == 2753


def test_both_tables_have_every_method_and_one_has_one_split():
    runs = list(mlp_methods._runs(3))
    for problem in (MANY_SPLITS, ONE_SPLIT):
        methods = {run.method for run in runs if run.problem == problem}
        assert methods >= {*PUBLISHED["test"], OURS}
        splits = [run.make.args[-1] for run in runs if run.key[:2] == (problem, "SGD")]
        assert splits == ([0, 1, 2] if problem == MANY_SPLITS else [0, 0, 0])
    assert METHODS[DRAWN].solver.output == "drawn" != METHODS["SSw"].solver.output
