import numpy as np
import pytest

from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    Constraint,
    DemographicParity,
    LossParity,
    MeanParity,
    MinimumRate,
    PartialEqualizedOdds,
    PartialEqualOpportunity,
    RangeGap,
    RatioGap,
    check_constraint,
)
from skfair.losses import Pointwise, pointwise_score
from skfair.metrics import METRICS, RATES


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_registered_constraints_pass(name):
    check_constraint(CONSTRAINTS[name]())


@pytest.mark.parametrize(
    "constraint",
    [BoundedGroupLoss(0.5), DemographicParity(min_group_size=1000)],
)
def test_parameters_do_not_matter(constraint):
    before = constraint.get_params()
    check_constraint(constraint)
    assert constraint.get_params() == before


def make_with_rate(change):
    class Changed(DemographicParity):
        def terms(self, surrogate, loss):
            return (lambda scores, target: change(surrogate(scores)),)

    return Changed()


def make_with_cell(inside):
    class Changed(DemographicParity):
        def cells(self, samples):
            return {"mine": inside}

    return Changed()


@pytest.mark.parametrize(
    "change, match",
    [
        (
            lambda r: r._replace(slope=2 * r.slope),
            r"slope of a term of Changed\(\) is wrong: sample",
        ),
        (lambda r: r._replace(curvature=-r.curvature), "curvature of .* is wrong: sample"),
        (lambda r: r._replace(slope=np.nan * r.slope), "slope .* wrong: sample 0 has nan"),
        (
            lambda r: r._replace(slope=r.slope[:-1]),
            "slope .* must have shape .1200,.* shape .1199,",
        ),
        (lambda r: Pointwise(r.value, r.slope, 0.0), r"curvature .* has shape \(\)"),
    ],
)
def test_wrong_derivatives_are_reported(change, match):
    with pytest.raises(ValueError, match=match):
        check_constraint(make_with_rate(change))


@pytest.mark.parametrize(
    "inside, match",
    [
        (np.ones(1200), "boolean masks .* 'mine' .* type float64"),
        (np.arange(1200), "type int64"),
        (np.ones(59, dtype=bool), r"shape \(59,\)"),
        (np.ones((1200, 1), dtype=bool), r"shape \(1200, 1\)"),
        (None, "type object"),
    ],
)
def test_wrong_masks_are_reported(inside, match):
    with pytest.raises(ValueError, match=match):
        check_constraint(make_with_cell(inside))


def test_an_error_of_one_sample_is_reported():
    def change(rate):
        slope = rate.slope.copy()
        slope[17] += 1e-3
        return rate._replace(slope=slope)

    with pytest.raises(ValueError, match="sample 17"):
        check_constraint(make_with_rate(change))


def test_an_error_about_one_group_is_reported():
    class Third(DemographicParity):
        def cells(self, samples):
            sizes = np.bincount(samples.groups.codes)
            return {"mine": np.full(len(samples.target), sizes[2] > 0)}

    with pytest.raises(ValueError, match=r"Third\(\) fails where all .* in one group, .*index 2"):
        check_constraint(Third())


@pytest.mark.parametrize("n_samples", [0, 1, 2, 59])
def test_too_few_samples_are_refused(n_samples):
    with pytest.raises(ValueError, match=f"at least 60 samples, .* but it has {n_samples};"):
        check_constraint(DemographicParity(), X=np.zeros((n_samples, 2)))
    check_constraint(DemographicParity(), X=np.zeros((60, 2)))


class ScoreParity(Constraint):
    """Equal mean scores, without a table."""

    def cells(self, samples):
        return {"all": np.ones(len(samples.target), dtype=bool)}


@pytest.mark.parametrize(
    ("members", "error", "match"),
    [
        ({"metric": "my_gap"}, ValueError, "'my_gap' is not registered; register it, or leave"),
        ({}, ValueError, "neither a table nor a method terms"),
        ({"terms": lambda self, *_: pointwise_score}, TypeError, r"return \(function,\)"),
        ({"terms": lambda self, *_: (pointwise_score,) * 2}, ValueError, "at least 0, but there"),
        ({"gap": RatioGap, "reference": "overall"}, ValueError, "always RatioGap, .* leave out"),
    ],
)
def test_declarations_that_clients_cannot_use_are_refused(members, error, match):
    params = {name: members.pop(name) for name in ["reference"] if name in members}
    kind = type("Changed", (ScoreParity,), {"terms": MeanParity.terms} | members)
    kind = kind if members else ScoreParity
    with pytest.raises(error, match=match):
        check_constraint(kind(**params))


def test_gaps_of_ones_own_inherit_no_form_and_no_limits():
    class Doubled(RangeGap):
        def __call__(self, means):
            return 2.0 * super().__call__(means)

    assert (Doubled.name, Doubled.is_range, Doubled.compares) == ("Doubled", False, "groups")
    assert (RangeGap.form, Doubled.form) == ("gap", "")


@pytest.mark.parametrize(
    ("constraint", "name"),
    [
        (DemographicParity(ratio=0.8), "selection_rate"),
        (MinimumRate("recall", 0.5), "true_positive_rate"),
        (PartialEqualOpportunity(), "true_positive_rate"),
    ],
)
def test_the_compared_rate_is_that_of_decisions(constraint, name):
    assert constraint.compared_rate == RATES[name]


def test_what_is_no_rate_is_compared_by_its_metric_or_unknown():
    assert LossParity().compared_rate is METRICS["loss_parity_difference"]
    assert PartialEqualizedOdds().compared_rate is METRICS["partial_equalized_odds_difference"]
    assert ScoreParity().compared_rate is None


class ShareOfRange(RangeGap):
    """The range, times the share of the smallest group among all samples."""

    @classmethod
    def from_cells(cls, cells, constraint):
        gap = super().from_cells(cells, constraint)
        sizes = [cells.counts[one] for block in gap.blocks for one in block]
        object.__setattr__(gap, "share", min(sizes, default=0) / max(1, sum(sizes)))
        return gap

    def __call__(self, means):
        return self.share * super().__call__(means)

    def subgradient(self, means):
        return self.share * super().subgradient(means)

    def value_and_subgradient(self, means):
        return self(means), self.subgradient(means)

    def linear_forms(self, n_events):
        return self.share * super().linear_forms(n_events)


def test_a_gap_that_depends_on_the_sizes_of_groups_is_reported():
    class ShareParity(DemographicParity):
        gap = ShareOfRange

    with pytest.raises(ValueError, match=r"subset of samples .* not on .* sizes: check ShareOf"):
        check_constraint(ShareParity())


class TripleRange(RangeGap):
    """Three times a range, whose linear forms are inherited."""

    def __call__(self, means):
        return 3.0 * super().__call__(means)


def test_a_gap_that_is_not_its_largest_linear_form_has_no_limits():
    class TripleParity(DemographicParity):
        gap = TripleRange

    with pytest.raises(ValueError, match="linear_forms of TripleRange .*Define them with __call__"):
        check_constraint(TripleParity())
