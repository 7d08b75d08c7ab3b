"""What solvers and enforcement ask of bound constraints is there."""

import inspect

import numpy as np
import pytest

from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    ConditionalDemographicParity,
    ConstraintSystem,
    MetricConstraint,
    Samples,
    SmoothConstraint,
)
from skfair.constraints._protocols import REPORT_COLUMNS
from skfair.groups import check_groups
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
    "conditional_demographic_parity": ConditionalDemographicParity(0),
}
DECISIONS = {"decision_values", "decision_effects", "decision_pressure", "sweep", "names"}


@pytest.fixture(params=SPECS.values(), ids=SPECS.keys())
def bound(request):
    target, groups = np.tile([1.0, 1.0, -1.0, -1.0], 50), np.tile([0, 1], 100)
    people = Samples(target, check_groups(groups, 200), np.ones(200), target[:, np.newaxis])
    return request.param.bind(people, Sigmoid(), LogisticLoss(), 0.1)


def test_solvers_find_what_they_need(bound):
    assert members(SmoothConstraint) == {"lower", "upper", "n_aux", "initial_aux", "__call__"}
    assert members(SmoothConstraint) <= set(dir(bound))
    assert members(SmoothConstraint) <= set(dir(ConstraintSystem((bound,))))


def test_enforcement_finds_what_it_needs(bound):
    assert members(SmoothConstraint) < members(MetricConstraint)
    assert members(MetricConstraint) <= set(dir(bound))
    assert not bound.counts_decisions or set(dir(bound)) >= DECISIONS
    assert bound.is_correctable or hasattr(bound, "narrowed")


def test_a_constraint_can_be_held_to_another_tolerance_and_shifted(bound):
    scores = np.random.default_rng(0).normal(size=200)
    tighter = bound.held_to(0.01).seen_from(scores)
    assert (tighter.tolerance, bound.tolerance) != (bound.tolerance, 0.01)
    assert tighter.gap(scores) == bound.gap(scores)
    assert tighter.violation(scores) >= bound.violation(scores)
    if bound.is_correctable:
        seen = bound.seen_from(scores)
        shifted = seen.shifted(seen.missed(scores))
        assert shifted.gap(scores) == bound.gap(scores)


def test_all_reports_have_the_same_columns(bound):
    report = bound.report(np.random.default_rng(0).normal(size=200))
    assert report.columns.tolist() == list(REPORT_COLUMNS)
    assert (report["tolerance"] == bound.tolerance).all()
