"""Events of constraints as subsets, codes and features."""

import numpy as np
import pytest
from scipy import sparse

from skfair._fitting.input import TrainingData
from skfair._groups import check_groups
from skfair._postprocessing.events import find_events, group_codes
from skfair.constraints import (
    DemographicParity,
    EqualizedOdds,
    EqualOpportunity,
    ErrorRateParity,
    PartialStatisticalParity,
)
from skfair.groups import Samples

TARGET = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0])
LABELS = list("aaabbb")


def make_training(groups=LABELS, weights=None):
    groups = check_groups(groups, 6, overlapping=True)
    weights = np.ones(6) if weights is None else weights
    return TrainingData(None, np.array([0, 1]), Samples(TARGET, groups, weights))


def test_demographic_parity_has_the_probability_of_the_group():
    events = find_events([make_training()], [DemographicParity()])
    assert events.sources == [(0, "all")]
    # P(a | x) / P(a) against P(b | x) / P(b), and each group is one half.
    np.testing.assert_allclose(np.abs(events.table), 2.0)
    assert events.table.sum() == 0.0
    assert not events.compares_scores


def test_classes_are_subsets():
    events = find_events([make_training()], [EqualizedOdds()])
    # There is no negative of group a to compare with.
    assert events.sources == [(0, "positives")]
    assert events.table.shape == (1, 1, 2, 1)
    # Three positives of a, one of b: the rarer, the heavier.
    first, second = events.table[0, 0, :, 0]
    assert second / first == pytest.approx(-3.0)


def test_both_classes_are_subsets():
    events = find_events([make_training(list("ababab"))], [EqualizedOdds()])
    assert events.sources == [(0, "positives"), (0, "negatives")]
    assert events.table.shape == (1, 2, 2, 2)


def test_a_positive_decision_is_wrong_for_one_class_and_right_for_the_other():
    events = find_events([make_training(list("ababab"))], [ErrorRateParity()])
    assert sorted(events.sources) == [(0, "negatives"), (0, "positives")]
    wrong, right = (
        events.table[0, events.sources.index((0, s))] for s in ("negatives", "positives")
    )
    # Where the class is unknown they would cancel: each class has a feature of its own.
    np.testing.assert_allclose(np.abs(wrong).sum(axis=1), np.abs(right).sum(axis=1))
    assert not (wrong * right).any()


def test_weights_count():
    weights = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 2.0])
    events = find_events([make_training(weights=weights)], [DemographicParity()])
    first, second = events.table[0, 0, :, 0]
    assert first / second == pytest.approx(-12.0 / 3.0)


def test_features_shared_by_constraints_are_not_repeated():
    constraints = [DemographicParity(), PartialStatisticalParity()]
    events = find_events([make_training()], constraints)
    assert events.table.shape == (1, 1, 2, 1)
    assert events.compares_scores
    assert find_events([make_training()], [*constraints, EqualOpportunity()]).table.shape == (
        1,
        2,
        2,
        2,
    )


def test_overlapping_groups_are_unions_of_codes():
    members = sparse.csr_array(
        np.array([[1, 0], [1, 1], [0, 1], [0, 0], [1, 1], [1, 0]], dtype=bool)
    )
    data = make_training(members)
    codes = group_codes(data.samples.groups)
    assert len(set(codes)) == 4
    assert codes[0] == codes[5]
    assert codes[1] == codes[4]
    assert find_events([data], [DemographicParity()]).table.shape == (1, 1, 4, 1)


def test_one_group_has_no_features():
    events = find_events([make_training(["all"] * 6)], [DemographicParity()])
    assert events.table.size == 0
    assert events.subsets == []


def test_classes_share_models_of_events():
    codes = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
    data = make_training(list("ababab"))
    data = data._replace(samples=data.samples._replace(target=codes), classes=np.arange(3))
    problems = data.one_vs_rest()
    assert [one.pos_label for one in problems] == [0, 1, 2]
    events = find_events(problems, [DemographicParity()])
    assert events.sources == [(0, "all")]
    assert events.table.shape == (3, 1, 2, 1)
    events = find_events(problems, [EqualOpportunity()])
    assert events.sources == [(k, "positives") for k in range(3)]
    # The score of a class depends on the events of this class alone.
    assert not events.table[[0, 1, 2], [1, 2, 0]].any()
    assert events.table[[0, 1, 2], [0, 1, 2]].all()


def test_a_fold_without_a_group_is_refused():
    data = make_training(list("aaabbb"))
    events = find_events([data], [EqualOpportunity()])
    rows = np.arange(6)
    with pytest.raises(ValueError, match="Fold 1 of 2 leaves no positives of group 'b'"):
        folds = [(rows, rows), (rows[:5], rows[5:])]
        events.check_folds(folds, data.samples.groups)
