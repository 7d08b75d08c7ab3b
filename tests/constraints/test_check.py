import numpy as np
import pytest

from skfair.constraints import CONSTRAINTS, BoundedGroupLoss, DemographicParity, check_constraint
from skfair.losses import Pointwise


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
        (lambda r: r._replace(slope=2 * r.slope), r"slope of Changed\(\)'s rate is wrong: sample"),
        (lambda r: r._replace(curvature=-r.curvature), "curvature of .* is wrong: sample"),
        (lambda r: r._replace(slope=np.nan * r.slope), "slope .* wrong: sample 0 has nan"),
        (lambda r: r._replace(slope=r.slope[:-1]), "slope .* must have shape .240,.* shape .239,"),
        (lambda r: Pointwise(r.value, r.slope, 0.0), r"curvature .* has shape \(\)"),
    ],
)
def test_wrong_derivatives_are_reported(change, match):
    with pytest.raises(ValueError, match=match):
        check_constraint(make_with_rate(change))


@pytest.mark.parametrize(
    "inside, match",
    [
        (np.ones(240), "boolean masks .* 'mine' .* type float64"),
        (np.arange(240), "type int64"),
        (np.ones(59, dtype=bool), r"shape \(59,\)"),
        (np.ones((240, 1), dtype=bool), r"shape \(240, 1\)"),
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
