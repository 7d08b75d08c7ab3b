"""Names of groups, and the order of their attributes, change no decision."""

import inspect

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.naive_bayes import GaussianNB

from skfair.audit import Audit
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
    PartialParityPostprocessor,
)
from skfair.cluster import FairKMeans
from skfair.constraints import DemographicParity, RankingParity
from skfair.datasets import open_blocks
from skfair.metrics import get_scorer
from skfair.ranking import ConstrainedRanker
from skfair.solvers import AdamPrimalDual
from tests.test_common import CONSTRAINED, ESTIMATORS, QUICK

pytestmark = pytest.mark.filterwarnings("ignore")  # fits of so few samples warn of many things

RENAMINGS = {
    "last for first": lambda codes: np.array(["z", "b", "c"])[codes],
    "reversed": lambda codes: np.array(["c", "b", "a"])[codes],
    "text for numbers": lambda codes: np.array(["2", "10", "100"])[codes],
}
"""Other names of the groups "a", "b", "c", which sort them in another order."""

SETTINGS = {
    "PartialParityClassifier": {"tolerance": 0.2},
    "PartialParityRegressor": {"tolerance": 0.2},
    "PartialParityPostprocessor": {"tolerance": 0.1},
    "ConstrainedRanker": {"constraint": RankingParity(tolerance=0.05)},
    "ConstrainedMLPClassifier": {"hidden_layer_sizes": (4,), "random_state": 0},
    "FairKMeans": {"n_clusters": 3, "random_state": 0},
    "FairKMedoids": {"n_clusters": 3, "random_state": 0},
    "FairSpectralClustering": {"n_clusters": 3, "random_state": 0},
}
"""Settings with which constraints bind and fits are short."""


def make_data(seed):
    """Features, real target, group codes, weights: ties in features and in sizes of groups too."""
    rng = np.random.default_rng(seed)
    n_groups = 2 + seed % 2
    size = int(rng.integers(100, 150))
    shares = rng.dirichlet(np.full(n_groups, 20.0))
    codes = rng.choice(n_groups, size=size, p=shares)
    if seed % 5 == 3:
        codes = rng.permutation(np.repeat(np.arange(n_groups), size // n_groups))
    X = rng.normal(size=(len(codes), 3)) + codes[:, np.newaxis] * rng.normal(size=3) * 0.6
    if seed % 4 == 1:
        X = X.round()
    weights = rng.integers(1, 4, len(codes)).astype(float) if seed % 4 == 2 else None
    return X, X[:, 0] + 0.5 * codes + rng.normal(size=len(codes)), codes, weights


def fit_and_predict(estimator, data, sensitive_features):
    """Predictions of the training samples, by an estimator fitted to them."""
    X, target, _, weights = data
    groups = {"sensitive_features": sensitive_features}
    if is_clusterer(estimator):
        return estimator.fit(X, **groups).labels_
    y = target > np.median(target) if is_classifier(estimator) else target
    fitted = estimator.fit(X, y, sample_weight=weights, **groups)
    return fitted.predict(X, **groups)


def assert_equal_decisions(estimator, expected, actual):
    if is_clusterer(estimator):
        assert adjusted_rand_score(expected, actual) == 1.0
    else:
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    # Of 10 data sets each kind that is drawn by a remainder occurs twice or more.
    "seed",
    [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))],
)
@pytest.mark.parametrize("estimator", CONSTRAINED, ids=lambda one: one.__name__)
def test_renamed_groups_get_the_same_decisions(estimator, seed):
    data = make_data(seed)
    name = estimator.__name__
    model = estimator(**SETTINGS.get(name, {"tolerance": 0.05}) | QUICK.get(name, {}))
    plain = fit_and_predict(model, data, np.array(["a", "b", "c"])[data[2]])
    rename = list(RENAMINGS.values())[seed % len(RENAMINGS)]
    assert_equal_decisions(model, plain, fit_and_predict(model, data, rename(data[2])))


LOGISTIC = LogisticRegression()
VARIANTS = {
    "several classes": ConstrainedClassifierCV(LOGISTIC, group_estimator=LOGISTIC),
    "known groups": ConstrainedClassifierCV(LOGISTIC, group_estimator="sensitive_features"),
    "trees of groups": ConstrainedClassifierCV(LOGISTIC, "equalized_odds"),
    "one model": ConstrainedClassifierCV(LOGISTIC, ensemble=False),
    "level": ConstrainedERMClassifier(confidence_level=0.8, tolerance=0.3),
    "interactions": ConstrainedERMClassifier(group_interactions=True),
    "intercepts": ConstrainedERMClassifier("error_rate_parity", group_interactions="intercept"),
    "merged groups": ConstrainedERMClassifier(
        DemographicParity(min_group_size=45), group_interactions=True
    ),
    "level of ranks": PartialParityPostprocessor(confidence_level=0.5, tolerance=0.4),
    "mini-batches": ConstrainedMLPClassifier(
        hidden_layer_sizes=(4,),
        early_stopping=True,
        solver=AdamPrimalDual(max_iter=5, batch_size=32),
        random_state=0,
    ),
    "enforcement": ConstrainedERMClassifier(),
    "smooth rates": ConstrainedERMClassifier(enforcement=None),
}


@pytest.mark.slow
@pytest.mark.covering(0)
@pytest.mark.parametrize("rename", RENAMINGS.values(), ids=RENAMINGS)
@pytest.mark.parametrize("model", VARIANTS.values(), ids=VARIANTS)
def test_no_setting_depends_on_names(model, rename):
    X, target, codes, weights = data = make_data(7)
    if model is VARIANTS["several classes"]:
        target = np.digitize(target, np.quantile(target, [0.3, 0.7]))
        first, second = (
            model.fit(X, target, sensitive_features=names[codes]).predict(X)
            for names in (np.array(["a", "b", "c"]), rename(np.arange(3)))
        )
    else:
        first = fit_and_predict(model, data, np.array(["a", "b", "c"])[codes])
        second = fit_and_predict(model, data, rename(codes))
    np.testing.assert_array_equal(first, second)


BAYES = GaussianNB()
FOLDED = [
    ConstrainedERMClassifier("equalized_odds", tolerance=0.3, confidence_level=0.8),
    ConstrainedClassifierCV(BAYES, group_estimator=BAYES, cv=3),
    ConstrainedClassifierCV(BAYES, tolerance=0.3, confidence_level=0.7, cv=3),
    ConstrainedClassifierCV(BAYES, group_estimator="sensitive_features", cv=3),
    VARIANTS["mini-batches"],
]
"""Models that deal samples to folds; the fourth is fitted to three classes.

Rules for three classes are searched in the order of the labels: where labels change, those of the
fourth are compared by the models of its folds.
"""


@pytest.mark.parametrize("model", range(len(FOLDED)))
@pytest.mark.parametrize(
    "draw", [0, *(pytest.param(draw, marks=pytest.mark.slow) for draw in range(1, 4))]
)
def test_renamed_groups_and_labels_get_the_same_decisions(model, draw):
    """Twenty problems: folds depend on no name, neither of a group nor of a class."""
    X, target, codes, weights = make_data(5 * draw + model)
    n_classes = 3 if model == 3 else 2
    classes = np.digitize(target, np.quantile(target, np.arange(1, n_classes) / n_classes))
    names = np.array(["a", "b", "c"])
    renamings = [*RENAMINGS.values()]
    others = renamings[draw % 3](np.arange(3))
    other_labels = renamings[(draw + model) % 3](np.arange(3))
    decisions = []
    of_folds = []
    for groups, labels in ((names, names), (others, names), (names, other_labels)):
        settings = {} if n_classes == 3 else {"pos_label": labels[1].item()}
        fitted = clone(FOLDED[model]).set_params(**settings)
        fitted.fit(X, labels[classes], sensitive_features=groups[codes], sample_weight=weights)
        predicted = fitted.predict(X, sensitive_features=groups[codes])
        decisions.append(np.argmax(predicted[:, np.newaxis] == labels, axis=1))
        if n_classes == 3:
            predicted = np.array([one.predict(X) for one in fitted.estimators_])
            of_folds.append(np.argmax(predicted[..., np.newaxis] == labels, axis=-1))
    np.testing.assert_array_equal(decisions[1], decisions[0])
    first, _, last = of_folds or decisions
    np.testing.assert_array_equal(last, first)


def test_values_of_single_attributes_may_be_renamed():
    X, target, codes, _ = make_data(7)
    old = np.random.default_rng(1).random(len(codes)) < 0.4
    model = ConstrainedERMClassifier(DemographicParity(attributes="each"))
    y = target > 0
    plain, renamed = (
        model.fit(
            X, y, sensitive_features=pd.DataFrame({"sex": sex, "age": age})
        ).decision_function(X)
        for sex, age in (
            (np.array(["a", "b", "c"])[codes], np.where(old, "old", "young")),
            (np.array(["c", "b", "a"])[codes], np.where(old, "z", "young")),
        )
    )
    np.testing.assert_array_equal(plain, renamed)


@pytest.mark.parametrize(
    "model",
    [
        ConstrainedERMClassifier(),
        ConstrainedClassifierCV(LOGISTIC, group_estimator=LOGISTIC, cv=3),
    ],
    ids=["linear", "any model"],
)
def test_columns_of_overlapping_groups_may_be_swapped(model):
    X, target, codes, _ = make_data(7)
    old = np.random.default_rng(1).random(len(codes)) < 0.4
    columns = np.column_stack([codes == 0, codes == 1, old])
    plain, swapped = (
        model.fit(X, target > 0, sensitive_features=sparse.csr_array(columns[:, order])).predict(X)
        for order in ([0, 1, 2], [2, 0, 1])
    )
    np.testing.assert_array_equal(plain, swapped)


def test_ids_of_households_may_be_renamed():
    X, target, codes, _ = make_data(7)
    households = np.arange(len(codes)) // 2
    other = np.random.default_rng(0).permutation(len(codes))[households]
    model = ConstrainedClassifierCV(LOGISTIC, group_estimator=LOGISTIC, cv=3)
    plain, renamed = (
        model.fit(X, target > 0, sensitive_features=codes, groups=ids).oof_decision_function_
        for ids in (households, other)
    )
    np.testing.assert_array_equal(plain, renamed)


def test_attributes_are_in_the_order_of_the_names():
    X, target, codes, _ = make_data(7)
    model = ConstrainedERMClassifier(group_interactions=True)
    names = np.array(["b", "c", "a"])[codes]
    model.fit(X, target > 0, sensitive_features=names)
    assert model.groups_.names == ["a", "b", "c"]
    assert model.groups_.counts == [sum(names == name) for name in "abc"]
    assert model.constraint_report_["group"].tolist() == ["a", "b", "c"]
    # Each group's own coefficients decide about it.
    scores = model.decision_function(X, sensitive_features=names)
    for number, name in enumerate("abc"):
        rows = names == name
        expected = X[rows] @ model.group_coef_[number] + model.group_intercept_[number]
        np.testing.assert_allclose(scores[rows], expected)
    rates = model.constraint_report_.set_index("group")["estimate"]
    for name in "abc":
        assert rates[name] == pytest.approx((scores[names == name] > 0).mean())


def test_rates_of_the_postprocessor_are_in_the_order_of_the_names():
    X, target, codes, weights = make_data(7)
    names = np.array(["b", "c", "a"])[codes]
    # A group without weight leaves the others where they are.
    weights = np.where(np.arange(len(codes)) < 4, 0.0, 1.0)
    names = np.where(weights > 0, names, "aa")
    model = PartialParityPostprocessor(tolerance=0.1)
    with pytest.warns(UserWarning, match="Groups without any sample weight"):
        model.fit(X, target > 0, sensitive_features=names, sample_weight=weights)
    assert model.groups_.names == ["a", "b", "c"]
    report = model.constraint_report_
    assert report["group"].drop_duplicates().tolist() == ["a", "b", "c"]
    assert report.groupby("group")["n"].first().tolist() == model.groups_.counts
    assert len(model.rates_) == 3


def test_pairs_of_groups_are_reported_in_the_order_of_the_names():
    X, target, codes, _ = make_data(7)
    model = ConstrainedRanker().fit(
        X,
        target,
        query_id=np.arange(len(X)) // 30,
        sensitive_features=np.array(["b", "c", "a"])[codes],
    )
    pairs = [pair[1:] for pair in model.constraint_report_["group"]]
    assert pairs == sorted(pairs) and len(pairs) == 6


@pytest.mark.parametrize("rename", RENAMINGS.values(), ids=RENAMINGS)
def test_alternating_swaps_do_not_depend_on_names(rename):
    model = FairKMeans(3, algorithm="alternating", random_state=0)
    data = make_data(7)
    plain = fit_and_predict(model, data, np.array(["a", "b", "c"])[data[2]])
    assert_equal_decisions(model, plain, fit_and_predict(model, data, rename(data[2])))


AWARE = {"group_interactions": "intercept", "group_estimator": "sensitive_features"}
"""Settings with which predictions depend on the group."""


def make_aware(estimator):
    """Instance whose predictions depend on the group, where it has such a setting."""
    wanted = SETTINGS.get(estimator.__name__, {"tolerance": 0.1}) | QUICK.get(
        estimator.__name__, {}
    )
    known = inspect.signature(estimator).parameters
    return estimator(**{name: one for name, one in (wanted | AWARE).items() if name in known})


def attribute_data():
    """Features, real target, and two attributes of equal labels and different meaning."""
    rng = np.random.default_rng(0)
    groups = pd.DataFrame({"woman": rng.integers(0, 2, 400), "old": rng.random(400) < 0.3})
    groups = groups.astype(int)
    X = (
        rng.normal(size=(400, 3))
        + (1.5 * groups["woman"] + 0.3 * groups["old"]).to_numpy()[:, None]
    )
    return X, X.sum(axis=1) + rng.normal(size=400), groups


def apply_methods(model, X, y, groups):
    """Results of all public methods of a fitted model that take groups.

    A fit without k selects no samples.
    """
    for name, method in inspect.getmembers(model, inspect.ismethod):
        if name.startswith(("_", "fit", "refit", "set_")) or name == "select":
            continue
        if "sensitive_features" in inspect.signature(method).parameters:
            args = (X, y) if name == "score" and not is_clusterer(model) else (X,)
            yield name, method(*args, sensitive_features=groups)


AWARE_MODELS = [
    *(
        pytest.param(
            make_aware(one),
            id=one.__name__,
            marks=[pytest.mark.slow] * (one.__name__ == "ConstrainedRanker"),
        )
        for one in ESTIMATORS
    ),
    pytest.param(FairKMeans(3, attributes="each", random_state=0), id="each attribute"),
]


@pytest.mark.covering(0)
@pytest.mark.parametrize("model", AWARE_MODELS)
def test_attributes_are_matched_by_name(model):
    X, target, groups = attribute_data()
    y = target > np.median(target) if is_classifier(model) else target
    args = (X,) if is_clusterer(model) else (X, y)
    swapped = groups[["old", "woman"]]
    other = groups.rename(columns={"old": "young"})
    fitted = clone(model).fit(*args, sensitive_features=groups)
    expected = dict(apply_methods(fitted, X, y, groups))
    for again in (swapped, groups.to_numpy(), groups.set_axis([0, 1], axis=1)):
        for name, values in apply_methods(fitted, X, y, again):
            np.testing.assert_equal(values, expected[name], err_msg=name)
    # Other names say nothing of the order. Without names at fit columns count by position.
    try:
        results = dict(apply_methods(fitted, X, y, other))
    except ValueError as error:
        message = str(error)
        assert "attribute(s) of the fit, 'woman', 'old', but has 2: 'woman', 'young'" in message
    else:
        np.testing.assert_equal(results, expected)
    fitted = clone(model).fit(*args, sensitive_features=groups.to_numpy())
    for name, values in apply_methods(fitted, X, y, other):
        np.testing.assert_equal(values, expected[name], err_msg=name)


def test_the_name_of_one_attribute_is_ignored():
    X, target, groups = attribute_data()
    model = ConstrainedERMClassifier(group_interactions=True)
    model.fit(X, target > 0, sensitive_features=groups[["woman"]])
    expected = model.predict(X, sensitive_features=groups["woman"])
    for one in (groups["woman"].rename("sex"), groups["woman"].to_numpy()):
        np.testing.assert_array_equal(model.predict(X, sensitive_features=one), expected)


def test_audits_and_scorers_match_attributes_by_name():
    X, target, groups = attribute_data()
    y = (target > 1).astype(int)
    swapped = groups[["old", "woman"]]
    model = ConstrainedERMClassifier(tolerance=0.02, group_interactions="intercept")
    model.fit(X, y, sensitive_features=groups)
    score = get_scorer("accuracy")
    assert score(model, X, y, sensitive_features=swapped) == score(
        model, X, y, sensitive_features=groups
    )
    gaps = [
        Audit.from_estimator(model, X, y, sensitive_features=one)
        .report()
        .gaps.query("metric == 'selection_rate' and attribute == 'woman'")["gap"]
        .item()
        for one in (groups, swapped)
    ]
    assert gaps[0] == gaps[1]


@pytest.mark.slow
def test_attributes_of_partitions_keep_their_names(tmp_path):
    pytest.importorskip("pyarrow")
    X, target, groups = attribute_data()
    table = pd.DataFrame(X, columns=list("abc")).assign(y=target > 1).join(groups)
    table.astype({"y": int}).to_parquet(tmp_path / "data.parquet", row_group_size=150)
    blocks = open_blocks(tmp_path / "data.parquet")
    names = ["woman", "old"]
    linear = ConstrainedERMClassifier(tolerance=0.1)
    linear.fit(blocks[list("abc")], blocks["y"], sensitive_features=blocks[names])
    assert linear.groups_.attributes == names
    for each in ("intersections", "each"):
        model = FairKMeans(3, attributes=each, random_state=0)
        model.fit(blocks[list("abc")], sensitive_features=blocks[names])
        np.testing.assert_array_equal(
            model.predict(table[list("abc")], sensitive_features=groups),
            model.predict(table[list("abc")], sensitive_features=groups[["old", "woman"]]),
        )
