"""How constraints are bound to samples: errors, excluded groups and warnings."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from skfair._groups import check_groups
from skfair.constraints import (
    CONSTRAINTS,
    BoundedGroupLoss,
    Constraint,
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    LossParity,
    check_applies_to_numbers,
)
from skfair.constraints._constraint import NothingToCompareError, _report_empty_cells
from skfair.groups import Samples
from skfair.losses import HingeLoss, LogisticLoss
from skfair.metrics import METRICS
from skfair.surrogates import Sigmoid

GROUPS = ["a"] * 4 + ["b"] * 3 + ["c"]
TARGET = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, -1.0, -1.0])
SCORES = np.array([2.0, 1.0, -1.0, -2.0, 3.0, 1.0, -1.0, 1.0])
EMPTY = pytest.mark.filterwarnings("ignore:EqualizedOdds cannot bound the rate of an empty group")


def make_samples(groups=GROUPS, target=TARGET):
    return Samples(target, check_groups(groups, len(groups)), np.ones(len(groups)))


def bind(spec, samples=None, tolerance=0.1):
    samples = make_samples() if samples is None else samples
    return spec.bind(samples, Sigmoid(), LogisticLoss(), tolerance)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_are_hyper_parameters(name):
    spec = CONSTRAINTS[name](tolerance=0.1, min_group_size=2)
    assert clone(spec).get_params() == spec.get_params()
    assert not [key for key in vars(spec) if key not in spec.get_params()]


@pytest.mark.parametrize(
    "spec, match",
    [
        (DemographicParity(tolerance=-0.1), "'tolerance' parameter of DemographicParity"),
        (DemographicParity(tolerance="small"), "'tolerance' parameter"),
        (DemographicParity(reference="all"), "'reference' parameter .* Got 'all'"),
        (DemographicParity(aggregate="median"), "'aggregate' parameter"),
        (DemographicParity(attributes="both"), "'attributes' parameter"),
        (DemographicParity(min_group_size=0), "'min_group_size' parameter"),
        (LossParity(loss="cubic"), "'loss' parameter of LossParity .* Got 'cubic'"),
        (BoundedGroupLoss(-1.0), "'upper_bound' parameter of BoundedGroupLoss"),
        (DemographicParity(aggregate="mean"), "needs reference='overall'"),
        (EqualizedOdds(aggregate="sum", reference="overall"), "needs reference='groups'"),
        (
            EqualizedOdds(aggregate="signed_mean", reference="overall"),
            "needs reference='above_overall'",
        ),
        (DemographicParity(tolerance=5), r"tolerance=5 is more than .* is 1 for .*0.05 is five"),
        (EqualizedOdds(aggregate="sum", tolerance=2.5), "can be, which is 2 for EqualizedOdds"),
        (DemographicParity(min_group_size=5), "leaves no group: the largest has 4 samples"),
    ],
)
def test_errors_name_the_remedy(spec, match):
    with pytest.raises(ValueError, match=match):
        bind(spec)


def test_the_tolerance_of_a_constraint_takes_precedence():
    assert bind(DemographicParity()).tolerance == 0.1
    assert bind(DemographicParity(tolerance=0.0)).tolerance == 0.0
    assert bind(BoundedGroupLoss(0.7)).tolerance == 0.7


def test_only_losses_may_be_further_apart_than_one():
    with pytest.raises(ValueError, match="tolerance=20 is more than any gap"):
        bind(DemographicParity(), tolerance=20)
    assert bind(LossParity(), tolerance=20).tolerance == 20
    assert bind(DemographicParity(), tolerance=1).tolerance == 1


def test_a_mask_of_the_wrong_length_is_refused():
    class WrongMask(DemographicParity):
        def cells(self, samples):
            return {"large targets": np.ones(9, dtype=bool)}

    with pytest.raises(
        ValueError, match=r"shape \(8,\), .* 'large targets' of WrongMask\(.*\) is .* shape \(9,\)"
    ):
        bind(WrongMask())


@EMPTY
def test_the_table_names_the_events():
    table = bind(EqualizedOdds())
    assert table.sums.cells.labels == [
        ("positives", "a"),
        ("positives", "b"),
        ("negatives", "a"),
        ("negatives", "b"),
        ("negatives", "c"),
    ]
    np.testing.assert_array_equal(table.sums.cells.counts, [2, 1, 2, 2, 1])


def test_known_rates():
    parity = bind(DemographicParity())
    np.testing.assert_allclose(parity.sums.exact_means(SCORES), [2 / 4, 2 / 3, 1])
    assert parity.value(SCORES) == pytest.approx(1 / 2)
    errors = bind(ErrorRateParity())
    np.testing.assert_allclose(errors.sums.exact_means(SCORES), [2 / 4, 1 / 3, 1])


def test_empty_cells_are_left_out_and_named():
    with pytest.warns(UserWarning, match="there are no positives of group 'c'; 1 empty") as caught:
        bound = bind(EqualOpportunity())
    assert caught[0].filename == __file__
    assert bound.sums.cells.labels == [("positives", "a"), ("positives", "b")]
    assert bound.value(SCORES) == pytest.approx(1 / 2)


def test_a_class_without_samples():
    negatives = make_samples(target=-np.ones(8))
    with pytest.raises(ValueError, match="no positives of group 'a', positives of group 'b'"):
        bind(EqualOpportunity(), negatives)
    with pytest.warns(UserWarning, match="3 empty"):
        bound = bind(EqualizedOdds(aggregate="sum"), negatives)
    assert bound.value(SCORES) == pytest.approx(1 / 2)


def test_the_number_of_too_few_samples_is_said():
    events = SimpleNamespace(labels=[], empty={("positives", "a"): 1, ("positives", "b"): 0})
    named = (
        r"too few positives of group 'a' \(1\), positives of group 'b'\. Drop.*lower min_group_size"
    )
    with pytest.raises(NothingToCompareError, match=named):
        _report_empty_cells("EqualOpportunity", events, None)


def test_long_lists_of_empty_cells_are_cut():
    groups = [str(i) for i in range(30)]
    target = np.where(np.arange(30) < 2, 1.0, -1.0)
    with pytest.warns(UserWarning, match="group '19' and 18 more; 28 empty"):
        bind(EqualOpportunity(), make_samples(groups, target))


def test_small_groups_are_left_out_and_named():
    with pytest.warns(UserWarning, match=r"1 group.*fewer than min.*=2.*compared: 'c' \(1\)"):
        bound = bind(DemographicParity(min_group_size=2))
    assert bound.sums.cells.labels == [("all", "a"), ("all", "b")]
    assert bind(DemographicParity(min_group_size=1)).sums.cells.counts.tolist() == [4, 3, 1]


def test_small_groups_count_in_the_overall_rate():
    with pytest.warns(UserWarning, match=r"2 group\(s\) with fewer"):
        bound = bind(LossParity(reference="overall", min_group_size=4))
    assert bound.sums.cells.labels == [("all", "a"), ("all", "overall")]
    assert bound.sums.cells.counts.tolist() == [4, 8]
    assert len(bound.rows.lower) == 1


class Quiet(Constraint):
    """Without an estimator, the warnings of a constraint point here."""

    def cells(self, samples):
        return {"large targets": samples.target > 0}

    def terms(self, surrogate, loss):
        return (lambda scores, target: surrogate(scores),)


def test_a_custom_constraint():
    with pytest.warns(UserWarning, match="Quiet cannot .* no large targets of group 'c'"):
        bound = bind(Quiet())
    assert bound.name == "Quiet"
    assert bound.value(SCORES) == pytest.approx(1 / 2)
    assert bound.sums.metric_input == "values"


def test_overlapping_groups_of_each_attribute():
    groups = [["f", "old"], ["f", "young"], ["m", "old"], ["m", "old"]]
    target = np.array([1.0, -1.0, 1.0, -1.0])
    scores = np.array([1.0, 1.0, 1.0, -1.0])
    bound = bind(DemographicParity(attributes="each"), make_samples(groups, target))
    assert [group for _, group in bound.sums.cells.labels] == [
        (0, "f"),
        (0, "m"),
        (1, "old"),
        (1, "young"),
    ]
    np.testing.assert_allclose(bound.sums.exact_means(scores), [1, 1 / 2, 2 / 3, 1])


def test_a_sum_over_one_cell_is_its_range():
    ranged = bind(DemographicParity())
    summed = bind(DemographicParity(aggregate="sum"))
    assert ranged.value(SCORES) == summed.value(SCORES)
    assert len(ranged.rows.lower) == len(summed.rows.lower) == 3


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_constraint_declares_what_it_is_about_and_its_unit(name):
    constraint = CONSTRAINTS[name]()
    assert set(constraint.applies_to) <= {"decisions", "scores", "numbers"}
    assert constraint.counts_decisions == (constraint.applies_to == ("decisions",))
    assert constraint.unit in {"rate", "score", "loss", "area"}
    # Public metrics that need classes cannot judge numbers.
    if "numbers" in constraint.applies_to and constraint.metric is not None:
        assert METRICS[constraint.metric].kind in {"score", "decision", "labelled_margin"}


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_hinge", HingeLoss()])
def test_losses_of_classes_do_not_apply_to_numbers(loss):
    for constraint in (LossParity(loss=loss), BoundedGroupLoss(1.0, loss=loss)):
        assert constraint.applies_to == ("scores",)
        with pytest.raises(ValueError, match="Ridge predicts numbers.* Pass one of .'loss_parity'"):
            check_applies_to_numbers(constraint, "Ridge")
    check_applies_to_numbers(LossParity(loss="absolute"), "Ridge")
