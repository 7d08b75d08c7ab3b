"""Names that other libraries give to criteria: each is answered by what it means, misspelt too."""

import re

import numpy as np
import pytest

from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.constraints import CONSTRAINTS, DemographicParity
from skfair.metrics import METRICS, demographic_parity_difference, get_scorer
from skfair.metrics._synonyms import _BY_SYNONYM, asks_for_ratio, find_criterion
from skfair.monitoring import GapMonitor
from skfair.regression import ConstrainedERMRegressor

NOT_OFFERED = "not offered"

MEANINGS = {
    "demographic_parity": """
        DemographicParity demographic_parity_difference demographic_parity_ratio
        selection_rate_difference selection_rate_ratio selection_rate_parity selection_rate
        statistical_parity_difference mean_difference disparate_impact_ratio disparate_impact
        statistical_parity pos_pred_rate pos_pred_rate.diff independence four_fifths_rule
        """,
    "equal_opportunity": """
        TruePositiveRateParity equal_opportunity_difference equal_opportunity_ratio
        true_positive_rate_difference true_positive_rate_ratio true_positive_rate_parity
        false_negative_rate_difference false_negative_rate_ratio false_negative_rate_parity
        true_pos_rate true_pos_rate.diff false_neg_rate.diff recall.diff sensitivity_parity
        recall_parity tpr_parity equality_of_opportunity
        """,
    "false_positive_rate_parity": """
        FalsePositiveRateParity false_positive_rate_difference true_negative_rate_difference
        false_positive_rate_ratio true_negative_rate_ratio true_negative_rate_parity
        false_pos_rate.diff true_neg_rate.diff specificity.diff fpr_parity
        """,
    "equalized_odds": """
        EqualizedOdds equalized_odds_difference equalized_odds_ratio average_odds_difference
        average_abs_odds_difference average_odds_error equalised_odds separation
        """,
    "error_rate_parity": """
        ErrorRateParity accuracy_score_difference accuracy_score_ratio zero_one_loss_difference
        zero_one_loss_ratio error_rate_difference error_rate_ratio accuracy.diff accuracy_parity
        overall_accuracy_equality
        """,
    "BoundedGroupLoss(upper_bound)": """
        BoundedGroupLoss bounded_group_loss log_loss_group_max mean_squared_error_group_max
        mean_absolute_error_group_max
        """,
    "DemographicParity(control_features=)": """
        conditional_demographic_parity conditional_statistical_parity
        """,
    'RateParity("positive_predictive_value")': "predictive_parity precision.diff pos_pred_val",
    'RateParity("negative_predictive_value")': "neg_pred_val",
    'RateParity("false_discovery_rate")': """
        false_discovery_rate_difference false_discovery_rate_ratio
        """,
    'RateParity("false_omission_rate")': "false_omission_rate_difference false_omission_rate_ratio",
    'RateParity("treatment_equality")': "treatment_equality",
    'RateParity("f1_score")': "f1.diff f1_score_difference",
    'MinimumRate("accuracy", bound)': "accuracy_score_group_min",
    'MinimumRate("precision", bound)': "precision_score_group_min",
    'MinimumRate("recall", bound)': "recall_score_group_min",
    'MinimumRate("f1_score", bound)': "f1_score_group_min",
    'MaximumRate("error_rate", bound)': "zero_one_loss_group_max",
    NOT_OFFERED: """
        average_predictive_value_difference cond_use_accuracy sufficiency theil_index
        generalized_entropy_index gen_entropy coefficient_of_variation
        balanced_accuracy_score_group_min roc_auc_score_group_min r2_score_group_min
        acceptance_rate.diff rejection_rate.diff consistency_score
        """,
}
"""Names in fairlearn, AIF360 and OxonFair and in papers, by the constraint that they mean."""

EXPECTED = {
    name: meaning for meaning, names in MEANINGS.items() for name in names.split()
}  # fmt: skip


def names_of_fairlearn():
    """Fairlearn's constraints, and its metrics that compare groups."""
    metrics = pytest.importorskip("fairlearn.metrics")
    reductions = pytest.importorskip("fairlearn.reductions")
    compared = re.compile("_(difference|ratio|group_min|group_max)$")
    return [
        *(name for name in metrics.__all__ if compared.search(name)),
        *(name for name in reductions.__all__ if re.search("Parity$|Odds$|^Bounded", name)),
    ]


def misspell(name, rng):
    """The name with a letter dropped, doubled or swapped with the next one."""
    i = int(rng.choice([i for i in range(len(name) - 1) if name[i : i + 2].isalpha()]))
    return [
        name[:i] + name[i + 1 :],
        name[:i] + name[i] + name[i:],
        name[:i] + name[i + 1] + name[i] + name[i + 2 :],
    ][rng.integers(3)]


def answer(name):
    """What the error of a fit suggests for the name of a constraint, None if nothing."""
    with pytest.raises(ValueError, match="constraint") as caught:
        ConstrainedERMClassifier([name]).fit([[0.0], [1.0]], [0, 1], sensitive_features=[0, 1])
    suggestion = re.search(
        r"Did you mean (?:skfair\.constraints\.)?'?([\w()=\", ]+)'?\?", str(caught.value)
    )
    if suggestion is not None:
        return suggestion[1]
    return NOT_OFFERED if "No such criterion is offered" in str(caught.value) else None


def test_every_name_of_fairlearn_has_a_meaning():
    assert {*names_of_fairlearn()} - {"UtilityParity"} <= {*EXPECTED}


@pytest.mark.parametrize("name", sorted({*EXPECTED} - {*CONSTRAINTS}))
def test_a_name_is_answered_by_its_meaning(name):
    suggested = answer(name)
    is_right = suggested == EXPECTED[name]
    # Libraries use some words for different rates: no answer is better than a wrong one.
    assert is_right or (suggested is None and EXPECTED[name] == NOT_OFFERED)


@pytest.mark.covering(0)
@pytest.mark.parametrize("seed", range(5))
def test_of_forty_names_at_least_thirty_two_are_answered_and_none_wrongly(seed):
    rng = np.random.default_rng(seed)
    drawn = rng.choice(sorted({*EXPECTED} - {*CONSTRAINTS}), size=40, replace=False)
    # Half of them misspelt.
    names = {misspell(name, rng) if number % 2 else name: name for number, name in enumerate(drawn)}
    answers = {name: (answer(name), EXPECTED[meant]) for name, meant in names.items()}
    right = [name for name, (suggested, expected) in answers.items() if suggested == expected]
    wrong = {name: pair for name, pair in answers.items() if pair[0] not in (None, pair[1])}
    assert not wrong
    assert len(right) >= 32


@pytest.mark.parametrize("name", ["rejection_rate", "UtilityParity", "xyzzy", "foo_parity", "eod"])
def test_what_means_nothing_or_several_things_gets_no_suggestion(name):
    assert answer(name) is None


def test_names_of_the_package_mean_themselves():
    for name, kind in CONSTRAINTS.items():
        if not name.startswith("partial_") and not name.endswith("_loss"):
            assert find_criterion(name).constraint == name
            assert find_criterion(kind.__name__).constraint == name
            assert find_criterion(name).difference == kind().metric
    for _, criterion in _BY_SYNONYM:
        assert (
            criterion.constraint is None
            or "(" in criterion.constraint
            or criterion.constraint in CONSTRAINTS
        )
        assert {criterion.difference, criterion.ratio} <= {*METRICS, None}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("disparate_impact", True),
        ("demographic_parity_ratio", True),
        ("demographic_parity", False),
        ("false_negative_rate_ratio", False),  # not 1 minus that of true positives
        ("FNRRatio", False),
    ],
)
def test_ratios_of_the_same_rate_are_known(name, expected):
    assert asks_for_ratio(name) is expected


def refusal_message(constraint):
    with pytest.raises(ValueError, match="constraint") as caught:
        ConstrainedERMClassifier(constraint).fit([[0.0], [1.0]], [0, 1], sensitive_features=[0, 1])
    return str(caught.value)


def test_a_ratio_is_passed_as_an_object():
    assert refusal_message("disparate_impact").endswith(
        "Did you mean 'demographic_parity'? skfair.constraints.DemographicParity(ratio=0.8) bounds "
        "the ratio of rates."
    )


def test_constraints_of_fairlearn_are_translated():
    reductions = pytest.importorskip("fairlearn.reductions")
    odds = reductions.EqualizedOdds(difference_bound=0.02)
    assert "Did you mean 'equalized_odds'?" in refusal_message(odds)
    expected = "pass an instance with reference='overall' and tolerance=0.02."
    assert refusal_message(odds).endswith(expected)
    assert refusal_message([odds]).endswith(expected)
    recall = reductions.TruePositiveRateParity(ratio_bound=0.9)
    assert refusal_message(recall).endswith(
        "'equal_opportunity'? skfair.constraints.EqualOpportunity(ratio=0.9) bounds the ratio of "
        "rates."
    )
    loss = reductions.BoundedGroupLoss(reductions.SquareLoss(0, 1), upper_bound=0.1)
    assert refusal_message(loss).endswith("BoundedGroupLoss(upper_bound)? Its upper_bound is 0.1.")
    assert refusal_message(reductions.ErrorRateParity).endswith("Did you mean 'error_rate_parity'?")


def test_a_class_is_answered_with_its_instance():
    assert refusal_message(DemographicParity).endswith(
        "Pass an instance, as in DemographicParity()."
    )


def test_everything_that_takes_a_constraint_knows_synonyms():
    with pytest.raises(ValueError, match=r"Did you mean 'partial_equal_opportunity'\?$"):
        PartialParityClassifier("recall_parity").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"Did you mean 'mean_parity'\?$"):
        ConstrainedERMRegressor("mean_score_parity").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"Did you mean 'demographic_parity'\?$"):
        GapMonitor("statistical_parity", tolerance=0.1).update(
            None, [0, 1], sensitive_features=[0, 1]
        )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("statistical_parity_difference", "Did you mean 'neg_demographic_parity_difference'?"),
        ("disparate_impact", "Did you mean 'demographic_parity_ratio'?"),
        ("true_positive_rate_difference", "Did you mean 'neg_equal_opportunity_difference'?"),
        ("neg_average_odds_difference", "Did you mean 'neg_equalized_odds_difference'?"),
        ("precision_difference", "make a scorer of your own by make_scorer."),
        ("recal_macro", "Did you mean 'recall_macro'?"),
        ("neg_partial_group_auc_diference", "Did you mean 'neg_partial_group_auc_difference'?"),
    ],
)
def test_scorers_know_synonyms_too(name, expected):
    with pytest.raises(ValueError, match=f"{re.escape(expected)}$"):
        get_scorer(name)


def test_scorers_of_functions_are_explained():
    with pytest.raises(ValueError, match="Pass its name, 'neg_demographic_parity_difference'"):
        get_scorer(demographic_parity_difference)
    with pytest.raises(ValueError, match=r"make a scorer by make_scorer\(function, transform"):
        get_scorer(lambda y_true, y_pred, **params: 0.0)
