"""Events of constraints as subsets, codes and features."""

import numpy as np
import pytest
from scipy import sparse

from skfair._fitting.input import TrainingData
from skfair._groups import check_groups
from skfair._postprocessing.events import find_events, group_codes, merge_rare_combinations
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
    codes = group_codes(make_training(members).samples.groups)
    assert len(set(codes)) == 4
    assert codes[0] == codes[5]
    assert codes[1] == codes[4]


def merge(table, folds=(), subsets=None):
    """Codes of combinations of attributes, bounded each, by a table of (labels, n_samples)."""
    labels = np.repeat([one for one, _ in table], [size for _, size in table], axis=0)
    groups = check_groups(labels, n_samples=len(labels))
    subsets = [np.ones(len(labels), dtype=bool)] if subsets is None else subsets
    compared = [groups.single_attribute_groups()]
    merged = merge_rare_combinations(group_codes(groups), compared, subsets, list(folds))
    starts = np.cumsum([0, *(size for _, size in table)])[:-1]
    return merged, merged.codes[starts].tolist()


def test_a_rare_combination_counts_as_the_nearest():
    table = [(("f", "x"), 50), (("f", "y"), 40), (("m", "x"), 60), (("m", "y"), 3)]
    merged, codes = merge(table)
    # (m, y) differs from (f, y) in the sex and from (m, x) in y, of which there are fewer samples.
    assert codes[3] == codes[1]
    assert len(set(codes)) == len(merged.representatives) == 3
    # Each code stands for a combination that is not rare.
    names = merged.compared.names
    for code, row in enumerate(merged.compared.members):
        assert row.sum() == 2
        representative = merged.representatives[code]
        assert merged.codes[representative] == code
        assert representative < 150
    assert len(names) == 4
    # Ten samples are enough.
    _, codes = merge([*table[:3], (("m", "y"), 10)])
    assert len(set(codes)) == 4


def test_no_compared_group_loses_all_of_its_combinations():
    table = [(("f", "x"), 50), (("m", "x"), 60), (("f", "z"), 4), (("m", "z"), 6)]
    merged, codes = merge(table)
    assert codes[2] == codes[3]
    assert len(set(codes)) == 3
    assert merged.compared.members.any(axis=0).all()
    # The only combination of a group stays as it is.
    _, codes = merge([*table[:2], (("f", "z"), 4)])
    assert len(set(codes)) == 3


def test_folds_and_subsets_make_combinations_rare():
    table = [(("f", "x"), 50), (("f", "y"), 50), (("m", "x"), 50), (("m", "y"), 20)]
    rows = np.arange(170)
    _, codes = merge(table, folds=[(rows[:150], rows[150:]), (rows[20:], rows[:20])])
    assert len(set(codes)) == 3
    positives = (rows % 50 < 25) & (rows < 155)  # five of the last combination
    _, codes = merge(table, subsets=[positives])
    assert len(set(codes)) == 3


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
