"""What solvers and enforcement ask of bound constraints is there."""

import inspect
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skfair._bound.bound import BoundConstraint, ConstraintSystem, Sums
from skfair._bound.ranks import RankSums
from skfair._bound.rows import SmoothConstraint
from skfair._groups import check_groups
from skfair._groups.events import REPORT_COLUMNS
from skfair.constraints import CONSTRAINTS, BoundedGroupLoss, DemographicParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.surrogates import Sigmoid


def members(protocol):
    """Names that a protocol asks for."""
    return {
        name
        for base in protocol.__mro__
        if base.__module__ == protocol.__module__
        for name in (*vars(base), *inspect.get_annotations(base))
        if name == "__call__" or not name.startswith("_")
    }


SPECS = {
    **{name: make() for name, make in CONSTRAINTS.items()},
    "bounded_group_loss": BoundedGroupLoss(0.5),
    "conditional_demographic_parity": DemographicParity(control_features=0),
}


@pytest.fixture(params=SPECS.values(), ids=SPECS.keys())
def bound(request):
    target = np.tile([1.0, 1.0, -1.0, -1.0], 50)
    groups = np.tile([0, 1], 100)
    samples = Samples(target, check_groups(groups, 200), np.ones(200), target[:, np.newaxis])
    return request.param.bind(samples, Sigmoid(), LogisticLoss(), 0.1)


def test_solvers_find_what_they_need(bound):
    scores = np.random.default_rng(0).normal(size=200)
    bound = bound.linearize_at(scores)
    assert members(SmoothConstraint) == {"lower", "upper", "n_aux", "initial_aux", "__call__"}
    assert members(SmoothConstraint) <= set(dir(bound.rows))
    assert members(SmoothConstraint) <= set(dir(ConstraintSystem((bound, bound)).rows))


def test_enforcement_finds_what_it_needs(bound):
    shared = members(Sums) & members(RankSums)
    assert {"measure", "make_rows", "take", "contribution", "estimates", "posterior"} <= shared
    assert shared <= set(dir(bound.sums))
    assert bound.sums.metric_input in {"decisions", "ranks", "values"}
    assert bound.gap.is_correctable or hasattr(bound.gap.criterion, "_narrow")
    assert hasattr(bound.sums, "exact_means") == (bound.sums.metric_input != "ranks")


def test_a_bound_constraint_is_sums_a_gap_and_a_tolerance():
    assert len(members(BoundConstraint)) <= 15


def test_a_constraint_can_have_another_tolerance_and_offset(bound):
    scores = np.random.default_rng(0).normal(size=200)
    tighter = replace(bound, tolerance=0.01).linearize_at(scores)
    assert (tighter.tolerance, bound.tolerance) != (bound.tolerance, 0.01)
    assert tighter.value(scores) == bound.value(scores)
    if bound.gap.is_correctable:
        here = bound.linearize_at(scores)
        if bound.sums.metric_input == "ranks":
            offset = replace(here, offset=here.rows.residual(scores))
        else:
            offset = here.move_offset(here.rows.residual(scores))
        assert offset.value(scores) == bound.value(scores)
        if bound.sums.metric_input != "ranks":
            aux = offset.rows.initial_aux(scores)
            exact = offset.rows.rows_at(offset.sums.exact_means(scores))[0]
            np.testing.assert_allclose(offset.rows(scores, aux).values, exact, atol=1e-14)


def test_all_reports_have_the_same_columns(bound):
    report = pd.DataFrame(
        ConstraintSystem((bound,)).report_columns(np.random.default_rng(0).normal(size=200))
    )
    assert report.columns.tolist() == list(REPORT_COLUMNS)
    assert (report["tolerance"] == bound.gap.state(bound.tolerance)).all()
