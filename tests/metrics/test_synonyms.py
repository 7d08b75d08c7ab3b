"""Names that other libraries give to criteria: each is answered by what it means, misspelt too."""

import re
from importlib import import_module

import numpy as np
import pytest
import sklearn.metrics

from skfair.classification import ConstrainedERMClassifier, PartialParityClassifier
from skfair.constraints import CONSTRAINTS, DemographicParity
from skfair.metrics import METRICS, RATES, demographic_parity_difference, get_scorer
from skfair.metrics._synonyms import COMPARISONS, SYNONYMS, find_synonym
from skfair.monitoring import GapMonitor
from skfair.regression import ConstrainedERMRegressor

NOT_OFFERED = "not offered"


def names_of_fairlearn():
    """Fairlearn's metrics that compare groups, and its constraints."""
    metrics = pytest.importorskip("fairlearn.metrics")
    reductions = pytest.importorskip("fairlearn.reductions")
    compared = re.compile("_(difference|ratio|group_min|group_max)$")
    return [
        *(name for name in metrics.__all__ if compared.search(name)),
        *(name for name in reductions.__all__ if re.search("Parity$|Odds$|^Bounded", name)),
    ]


def misspellings(name):
    """The name with a letter dropped, doubled or swapped with the next one, at each place."""
    for i in range(len(name) - 1):
        if name[i : i + 2].isalpha():
            yield name[:i] + name[i + 1 :]
            yield name[:i] + name[i] + name[i:]
            yield name[:i] + name[i + 1] + name[i] + name[i + 2 :]


def answer(name):
    """What the error of a fit suggests for the name of a constraint, None if nothing."""
    with pytest.raises(ValueError, match="constraint") as caught:
        ConstrainedERMClassifier([name]).fit([[0.0], [1.0]], [0, 1], sensitive_features=[0, 1])
    suggestion = re.search(
        r"Did you mean (?:skfair\.constraints\.)?'?([\w()=\", ]+)'?\?", str(caught.value)
    )
    if suggestion is not None:
        return suggestion[1]
    is_refused = re.search("No such criterion is offered|o fit is constrained", str(caught.value))
    return NOT_OFFERED if is_refused else None


def test_every_name_of_fairlearn_has_a_meaning():
    assert {*names_of_fairlearn()} - {"UtilityParity"} <= {*SYNONYMS}


def test_names_of_fairlearn_and_scikit_learn_exist():
    lines = import_module("skfair.metrics._synonyms").__loader__.get_source(
        "skfair.metrics._synonyms"
    )
    sections = dict(re.findall(r"^    # (.*)\n((?:    \".*\n)+)", lines, re.MULTILINE))
    by_library = {"fairlearn": [], "sklearn": []}
    for title, entries in sections.items():
        by_library.get(title.partition(".")[0], []).extend(re.findall('    "(.*?)":', entries))
    assert min(map(len, by_library.values())) >= 15
    fairlearn = {*dir(pytest.importorskip("fairlearn.metrics"))}
    fairlearn |= {*dir(pytest.importorskip("fairlearn.reductions"))}
    assert {*by_library["fairlearn"]} <= fairlearn
    known = {*sklearn.metrics.get_scorer_names(), *dir(sklearn.metrics)}
    assert {*by_library["sklearn"]} <= known


def test_what_a_name_means_exists():
    for synonym in SYNONYMS.values():
        assert (synonym.constraint is None) == bool(synonym.not_offered or synonym.explanation)
        assert synonym.metric in {None, *METRICS}
        if synonym.metric is not None:
            assert synonym.is_ratio == synonym.metric.endswith("_ratio")
        if synonym.constraint is not None and "(" not in synonym.constraint:
            assert synonym.constraint in CONSTRAINTS
        for rate in re.findall(r'Parity\("(\w+)"\)', synonym.constraint or ""):
            assert rate in RATES


@pytest.mark.parametrize("name", sorted({*SYNONYMS} - {*CONSTRAINTS}))
def test_a_name_is_answered_by_its_meaning(name):
    assert answer(name) == (SYNONYMS[name].constraint or NOT_OFFERED)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_metrics_of_constraints_mean_them(name):
    metric = CONSTRAINTS[name]().metric
    if not name.startswith("partial_") and metric in SYNONYMS:
        assert SYNONYMS[metric].constraint == name
        assert SYNONYMS[metric].metric == metric


@pytest.mark.parametrize("seed", range(3))
def test_misspelt_names_mean_the_same_or_nothing(seed):
    rng = np.random.default_rng(seed)
    n_right = n_long = 0
    for name in rng.choice([one for one in sorted(SYNONYMS) if len(one) > 2], 25, replace=False):
        misspelt = rng.choice([one for one in misspellings(name) if one not in SYNONYMS])
        meant = find_synonym(misspelt, SYNONYMS)
        assert meant in (None, SYNONYMS[name]), (misspelt, name)
        n_long += len(name) > 13
        n_right += len(name) > 13 and meant is not None
    assert n_long > 10 and n_right >= 0.9 * n_long


@pytest.mark.parametrize("name", ["rejection_rate", "UtilityParity", "xyzzy", "foo_parity", "eod"])
def test_what_means_nothing_or_several_things_gets_no_suggestion(name):
    assert answer(name) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("disparate_impact", True),
        ("demographic_parity_ratio", True),
        ("statistical_parity", False),
        ("false_negative_rate_ratio", False),  # not 1 minus that of true positives
        ("fnr_disparity", False),
    ],
)
def test_ratios_of_the_same_rate_are_known(name, expected):
    assert COMPARISONS[name].is_ratio is expected


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
        PartialParityClassifier("recall_score").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"Did you mean 'mean_parity'\?$"):
        ConstrainedERMRegressor("mean_prediction").fit([[0.0], [1.0]], [0, 1])
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
        ("false_discovery_rate_difference", "make_scorer('precision', transform='difference')."),
        ("average_predictive_value_difference", "make a scorer of your own by make_scorer."),
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
