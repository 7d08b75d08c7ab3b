"""Statements that are drawn again: their registry, their populations and the table by hand."""

import importlib
import inspect

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from benchmarks.guarantees.statement_draws import (
    SHIFT,
    Draw,
    draw_claim,
    draw_interval,
    find_needed_share,
    judge_interval,
)
from benchmarks.guarantees.statement_draws_of_models import make_costly_rival, make_rivals
from benchmarks.guarantees.statement_populations import (
    HOUSEHOLD,
    add_weights,
    make_decisions,
    make_errors,
    make_households,
    make_probabilities,
)
from benchmarks.guarantees.statements import (
    LIMIT_LEVEL,
    SAME,
    STATEMENTS,
    Statement,
    describe_cost,
    find_verdict,
    judge,
    limit_error,
    state_gap,
)
from skfair._names import SUBMODULES
from skfair.constraints import AUDITED_CONSTRAINTS
from skfair.statistics import gap_interval

STATED = {"confidence_level", "coverage", "run_length"}
"""Parameters of what holds with a stated probability."""


def find_statements_of(name, value):
    """Names of a public object, and of its methods, that take a parameter of `STATED`."""
    members = [(name, value)]
    if inspect.isclass(value):
        methods = inspect.getmembers(value, callable)
        members += [(f"{name}.{one}", method) for one, method in methods if one[0] != "_"]
    for one, member in members:
        try:
            parameters = inspect.signature(member).parameters
        except (TypeError, ValueError):  # of a builtin
            continue
        if STATED & {*parameters}:
            yield one


def test_every_public_name_with_a_level_is_drawn_again():
    modules = [importlib.import_module(f"skfair.{name}") for name in SUBMODULES]
    public = {name: getattr(module, name) for module in modules for name in module.__all__}
    stated = {one for name, value in public.items() for one in find_statements_of(name, value)}
    assert len(stated) >= 30
    drawn = {one.name for one in STATEMENTS}
    assert {SAME.get(one, one) for one in stated} - drawn <= {"ConstrainedTorchClassifier"}
    assert {*SAME} <= stated and {*SAME.values()} <= drawn


def test_every_metric_of_claims_is_drawn_again():
    kinds = {one.kind.split(",")[0] for one in STATEMENTS if one.name == "Audit.certify"}
    assert {*AUDITED_CONSTRAINTS} <= kinds


def test_table_has_the_cases_that_are_hard():
    titles = [one.title for one in STATEMENTS]
    assert len(set(titles)) == len(titles) >= 60
    for text in ("near 0", "near 1", "weights", "clusters", "three groups", "six groups", "few"):
        assert sum(text in one for one in titles) >= 2
    small = [one for one in STATEMENTS if one.name == "Audit.certify" and one.n <= 200]
    assert len(small) >= 20
    for text in ("alarm", "window shown", "certificate", "interval"):
        assert any(one.name == "GapMonitor" and text in one.kind for one in STATEMENTS)


@pytest.mark.parametrize("n_false", [0, 7, 100])
def test_limits_of_an_error_are_exact(n_false):
    low, high = limit_error(n_false, 100)
    tail = (1.0 - LIMIT_LEVEL) / 2.0
    expected = beta.ppf([tail, 1.0 - tail], [n_false, n_false + 1], [101 - n_false, 100 - n_false])
    assert (low, high) == pytest.approx(tuple(np.nan_to_num(expected, nan=float(n_false > 0))))


def test_verdicts():
    assert find_verdict(0.08, 0.051, 0.05) == "broken"
    assert find_verdict(0.08, 0.049, 0.05) == "holds"
    assert find_verdict(0.011, 0.0, 0.05) == "holds"
    assert find_verdict(0.01, 0.0, 0.05) == "cautious"


def test_needed_share_of_a_margin():
    assert find_needed_share(0.3, 0.2, 0.4, is_upper=True) == pytest.approx(0.5)
    assert find_needed_share(0.5, 0.2, 0.4, is_upper=True) == pytest.approx(1.5)
    assert find_needed_share(0.1, 0.2, 0.4, is_upper=True) == 0.0
    assert find_needed_share(0.1, 0.2, 0.15, is_upper=False) == pytest.approx(2.0)
    assert find_needed_share(0.3, 0.2, 0.2, is_upper=True) == np.inf
    assert judge_interval(0.3, 0.2, 0.1, 0.4) == Draw(False, pytest.approx(0.5))
    assert judge_interval(0.3, 0.2, 0.1, 0.25).is_false


def test_cost_of_a_cautious_statement_is_the_width_that_is_not_needed():
    statement = Statement("name", "kind", 10, None, error=0.1)
    # Nine of ten draws need half of the margin at most.
    draws = [Draw(False, one) for one in np.linspace(0.0, 0.5, 91).tolist() + [0.8] * 10]
    assert describe_cost(statement, draws) == "limits 2.00 times as wide as needed"
    lost = statement._replace(lost="accuracy")
    assert describe_cost(lost, [Draw(False, lost=0.02), Draw(False, lost=0.04)]) == (
        "0.030 of accuracy"
    )


def test_an_interval_that_is_too_narrow_is_broken():
    """Wald's interval of a gap of rates near 0 holds in far fewer draws than stated."""

    def find(sample):
        rates = pd.Series(sample.decision).groupby(sample.group).mean()
        error = np.sqrt((rates * (1.0 - rates) / 20).sum())
        exact = gap_interval(sample.decision, sensitive_features=sample.group)
        gap = np.ptp(rates)
        return exact._replace(estimate=gap, low=gap - 1.96 * error, high=gap + 1.96 * error)

    population = make_decisions((0.01, 0.05))
    wald = Statement("Wald", "", 40, lambda: draw_interval(population, [20, 20], 0.04, find))
    row = judge(wald)
    assert row["verdict"] == "broken" and row["low"] > 0.05
    assert row["draws"] == 400


def test_populations_have_the_values_that_statements_are_about():
    population = make_decisions((0.2, 0.6))
    rates = pd.Series(population.decision).groupby(population.group).mean()
    assert rates.to_dict() == {"a": 0.2, "b": 0.6}
    assert population.find_gap("demographic_parity") == pytest.approx(0.4)
    errors = make_errors((0.1, 0.4), (0.25, 0.25))
    is_wrong = errors.decision != errors.outcome
    by_class = pd.Series(is_wrong).groupby([errors.group, errors.outcome]).mean()
    assert by_class.tolist() == pytest.approx([0.25, 0.1, 0.25, 0.4])
    assert errors.find_gap("equal_opportunity") == pytest.approx(0.3)
    assert errors.find_gap("false_positive_rate_parity") == pytest.approx(0.0)
    rivals = make_rivals((0.25, 0.45))
    before, after = (
        pd.Series(one).groupby(rivals.group).mean() for one in (rivals.decision, rivals.score)
    )
    assert np.allclose(before, after) and (rivals.decision != rivals.score).any()
    costly = make_costly_rival((0.1, 0.7))
    is_right = [costly.outcome == one for one in (costly.decision, costly.score)]
    assert is_right[0].mean() - is_right[1].mean() == pytest.approx(0.05, abs=0.02)
    assert np.ptp(pd.Series(costly.score).groupby(costly.group).mean()) < 0.03


def test_draws_follow_weights_and_households():
    rng = np.random.default_rng(0)
    weighted = add_weights(make_decisions((0.2, 0.6)))
    sample = weighted.draw([4_000, 4_000], rng)
    is_first = sample.group == "a"
    # The weighted rate is that of the population, the plain one is not.
    rate = np.average(sample.decision[is_first], weights=sample.weight[is_first])
    assert rate == pytest.approx(0.2, abs=0.03)
    assert sample.decision[is_first].mean() < 0.18
    homes = make_households((0.2, 0.6)).draw([40, 80], rng)
    assert np.bincount(homes.household).tolist() == [HOUSEHOLD] * 30
    assert all(len({*homes.group[homes.household == one]}) == 1 for one in range(30))


def test_bound_of_a_claim_is_just_missed():
    """Claims about a bound above all limits are false if it is missed, and about none else."""
    population = make_probabilities(
        lambda rng, n: (np.full(n, 0.2), np.full(n, 0.5)),
        lambda rng, n: (np.full(n, 0.5), np.full(n, 0.5)),
    )
    bounds = []

    def state(bound):
        bounds.append(bound)
        return state_gap("calibration")(bound)

    draw = draw_claim(population, [60, 60], state, truth=0.3)
    draw(np.random.default_rng(0))
    draw = draw_claim(population, [60, 60], state, truth=0.3, verdict="contradicted")
    draw(np.random.default_rng(0))
    assert bounds == [0.3 - SHIFT, 0.3 + SHIFT]


EXAMPLES = (
    *("Audit.certify: equal_opportunity", "Audit.certify: calibration, weights"),
    *("gap_interval: few", "Audit.alternatives: gap", "GapMonitor: certificate"),
    *("ConformalClassifier: two groups", "ConstrainedERMClassifier: demographic_parity"),
)


@pytest.mark.parametrize("title", EXAMPLES)
def test_statements_are_drawn_again_with_few_draws(title):
    statement = next(one for one in STATEMENTS if one.title == title)
    row = judge(statement._replace(n_draws=12))
    assert row["draws"] == 12 and 0.0 <= row["low"] <= row["error"] <= row["high"] <= 1.0
    assert row["verdict"] != "broken"
    assert row == judge(statement._replace(n_draws=12))  # the same draws again
