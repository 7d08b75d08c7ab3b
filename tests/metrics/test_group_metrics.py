"""Metrics of groups: names, rates, functions, weights, strata, intervals."""

import warnings
from functools import partial
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics as sk
from scipy import sparse
from sklearn.exceptions import UndefinedMetricWarning

from skfair._groups import Groups
from skfair._statistics.limits_of_rates import rate_limits
from skfair._utils.sklearn import D2_SCORES
from skfair.metrics import GroupMetric, Rate, group_report
from skfair.metrics._group_metrics import GROUP_METRICS, GroupComparison, find_group_metric

HAS_FAIRLEARN = find_spec("fairlearn") is not None

COST = Rate("cost", {"fp": 1, "fn": 5})


def selection_rate(y_true, y_pred, sample_weight=None):
    return np.average(y_pred, weights=sample_weight)


def true_negative_rate(y_true, y_pred, sample_weight=None):
    return sk.recall_score(y_true, y_pred, pos_label=0, sample_weight=sample_weight)


def false_positive_rate(y_true, y_pred, sample_weight=None):
    return 1.0 - true_negative_rate(y_true, y_pred, sample_weight)


def cost(y_true, y_pred, sample_weight=None):
    return np.average(np.where(y_true, 5 * (1 - y_pred), y_pred), weights=sample_weight)


def false_negatives_per_false_positive(y_true, y_pred, sample_weight=None):
    (_, fp), (fn, _) = sk.confusion_matrix(y_true, y_pred, sample_weight=sample_weight)
    return fn / fp


ORACLES = {
    "selection_rate": selection_rate,
    "recall": sk.recall_score,
    "false_positive_rate": false_positive_rate,
    "specificity": true_negative_rate,
    "precision": sk.precision_score,
    "accuracy": sk.accuracy_score,
    "f1_score": sk.f1_score,
    "jaccard": sk.jaccard_score,
    "treatment_equality": false_negatives_per_false_positive,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "mcc": sk.matthews_corrcoef,
    "cost": cost,
}
"""Twelve metrics and their values by scikit-learn."""

DRAWN = {
    "f1_score": lambda tp, fp, fn: 2 * tp / (2 * tp + fp + fn),
    "jaccard": lambda tp, fp, fn: tp / (tp + fp + fn),
    "treatment_equality": lambda tp, fp, fn: fn / fp,
    "precision": lambda tp, fp, fn: tp / (tp + fp),
}
"""Four of them as functions of weights of outcomes, quick enough for hundreds of draws."""


def share_right(y_true, y_pred, sample_weight=None):
    return np.average(y_true == y_pred, weights=sample_weight)


MEASURED = {name: COST if name == "cost" else name for name in ORACLES}


def random_predictions(seed):
    """Predictions of 60 to 300 samples in groups and strata; no outcome of a cell is missing."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 300))
    group = rng.integers(rng.integers(2, 4), size=n)
    stratum = rng.integers(2, size=n)
    y_true, y_pred = rng.random((2, n)) < rng.uniform(0.3, 0.7, size=(2, 1))
    cells = pd.crosstab([stratum, group], [y_true, y_pred])
    if cells.shape[1] < 4 or (cells == 0).any(axis=None):
        return random_predictions(seed + 100_000)
    weights = rng.exponential(size=n) + 0.1 if seed % 2 else None
    return y_true.astype(int), y_pred.astype(int), group, stratum, weights


def oracle_table(y_true, y_pred, group, stratum, weights):
    """Values by scikit-learn of each stratum and group, and of all samples of the stratum."""
    rows = {}
    for s in np.unique(stratum):
        masks = {g: (stratum == s) & (group == g) for g in np.unique(group)}
        for g, mask in (masks | {"overall": stratum == s}).items():
            params = {} if weights is None else {"sample_weight": weights[mask]}
            values = [f(y_true[mask], y_pred[mask], **params) for f in ORACLES.values()]
            rows[s, g] = values
    return pd.DataFrame(rows, index=list(ORACLES)).T


def fairlearn_table(y_true, y_pred, group, stratum, weights):
    """The same by fairlearn's MetricFrame."""
    from fairlearn.metrics import MetricFrame

    params = None
    if weights is not None:
        params = {name: {"sample_weight": weights} for name in ORACLES}
    frame = MetricFrame(
        metrics=ORACLES,
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=group,
        control_features=stratum,
        sample_params=params,
    )
    overall = {(s, "overall"): row for s, row in frame.overall.iterrows()}
    return pd.concat([frame.by_group, pd.DataFrame(overall).T])


def check_equal_tables(seeds, oracle):
    for seed in seeds:
        y_true, y_pred, group, stratum, weights = random_predictions(seed)
        report = group_report(
            y_true,
            y_pred,
            sensitive_features=group,
            control_features=stratum,
            sample_weight=weights,
            metrics=MEASURED,
        )
        expected = oracle(y_true, y_pred, group, stratum, weights)
        values = report.loc[list(expected.index), list(expected.columns)]
        np.testing.assert_allclose(
            values.to_numpy(), expected.to_numpy(np.float64), rtol=0, atol=1e-12
        )


@pytest.mark.slow
def test_values_are_those_of_scikit_learn():
    check_equal_tables(range(6), oracle_table)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_FAIRLEARN, reason="fairlearn is not installed")
def test_values_are_those_of_fairlearn():
    check_equal_tables(range(6), fairlearn_table)


@pytest.mark.filterwarnings("ignore:The sample weights are so uneven")
@pytest.mark.slow
def test_values_are_those_of_scikit_learn_on_many_data_sets():
    check_equal_tables(range(6, 36), oracle_table)


# Twelve samples in two groups; group "b" has no positive decision.
TRUE = np.array([1, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0])
PREDICTED = np.array([1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
GROUP = np.repeat(["a", "b"], 6)


def report_of(*metrics, **params):
    return group_report(TRUE, PREDICTED, sensitive_features=GROUP, metrics=metrics, **params)


def test_empty_denominators_are_nan():
    report = report_of("precision", "mcc", sk.precision_score)
    assert report.loc["b"].isna().tolist() == [False, True, True, True]
    assert report.loc["a", "precision"] == pytest.approx(2 / 3)
    one_class = group_report(
        [1, 1, 0, 1], [1, 0, 0, 1], sensitive_features=[*"aabb"], metrics=["balanced_accuracy"]
    )
    assert one_class["balanced_accuracy"].isna().tolist() == [True, False, False]


def test_a_division_by_zero_is_undefined():
    def odds(y_true, y_pred):
        return float(y_pred.sum()) / int(y_true.sum() - 3)

    assert np.isnan(report_of(odds).loc["a", "odds"])


@pytest.mark.parametrize("function", [sk.precision_score, sk.matthews_corrcoef])
def test_a_value_does_not_depend_on_filters_of_warnings(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as another thread does
        values = report_of(function)[function.__name__]
    assert values.isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    "metric",
    [
        "average_precision",
        GroupMetric(sk.average_precision_score, response_method="decision_function"),
        "roc_auc",
        GroupMetric(sk.balanced_accuracy_score),
        GroupMetric(sk.recall_score),
        GroupMetric(sk.roc_auc_score, response_method="decision_function"),
        GroupMetric(sk.matthews_corrcoef),
        GroupMetric(partial(sk.balanced_accuracy_score, adjusted=True), name="adjusted"),
        GroupMetric(D2_SCORES[0], response_method="predict_proba"),
    ],
    ids=lambda one: one if isinstance(one, str) else one.name,
)
@pytest.mark.parametrize("is_selected", [False, True])
def test_a_group_without_positives_has_no_value_that_needs_them(metric, is_selected):
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b"], 40)
    proba = rng.uniform(0.1, 0.9, 80)
    y_true = np.where(group == "a", rng.random(80) < proba, 0)
    y_pred = np.where(group == "a", proba > 0.5, is_selected).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = group_report(
            y_true, y_pred, sensitive_features=group, y_proba=proba, metrics={"value": metric}
        )
    assert report["value"].isna().tolist() == [False, True, False]


def test_a_comparison_leaves_a_group_without_positives_out():
    difference = GroupComparison(find_group_metric("average_precision"), "difference")
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.7, 0.6])
    group = np.repeat(["a", "b", "c"], 2)
    with pytest.warns(UndefinedMetricWarning, match="unknown for some groups: 'b'"):
        value = difference([1, 0, 0, 0, 1, 0], scores, sensitive_features=group)
    assert value == 1.0 - 0.5


def test_shares_that_weigh_outcomes_have_the_limits_of_rates():
    """F1 is a share of 2 TP + FP + FN; without true negatives that of accuracy is binomial."""
    report = report_of("f1_score", confidence_level=0.95)
    assert report.loc["a", "f1_score"] == pytest.approx(4 / 6)
    assert report.loc["b", ["f1_score", "f1_score_low"]].tolist() == [0.0, 0.0]
    assert 0 < report.loc["b", "f1_score_high"] < 1
    assert report.attrs["intervals"] == {"f1_score": "Wilson or exact"}


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_standard_errors_are_those_of_the_bootstrap(name):
    def share_of_outcomes(y_true, y_pred, sample_weight=None):
        outcomes = y_true & y_pred, ~y_true & y_pred, y_true & ~y_pred
        weights = np.ones(len(y_true)) if sample_weight is None else sample_weight
        return DRAWN[name](*(weights @ one for one in outcomes))

    rng = np.random.default_rng(0)
    y_true, y_pred = rng.random((2, 3000)) < 0.4
    group = rng.integers(2, size=3000)
    metrics = [name, GroupMetric(share_of_outcomes, name="drawn")]
    report = group_report(
        y_true, y_pred, sensitive_features=group, metrics=metrics, confidence_level=0.9
    )
    assert report["drawn_standard_error"].to_numpy() == pytest.approx(
        report[f"{name}_standard_error"].to_numpy(), rel=0.1
    )
    low, high = (
        (report[f"drawn_{end}"] - report[f"{name}_{end}"]) / report["drawn_standard_error"]
        for end in ("low", "high")
    )
    # A bias of the draws counts twice, and six times where it widens the interval.
    assert low.between(-0.8, 0.4).all() and high.between(-0.4, 0.8).all()


@pytest.mark.slow
def test_the_quotient_of_overlapping_groups_is_that_of_each():
    members = np.column_stack((GROUP == "a", np.arange(12) > 2))
    overlapping = group_report(
        TRUE,
        1 - PREDICTED,
        sensitive_features=sparse.csr_array(members),
        metrics=["treatment_equality", "mcc"],
        confidence_level=0.9,
    )
    for column, member in enumerate(members.T):
        alone = group_report(
            TRUE[member],
            1 - PREDICTED[member],
            sensitive_features=np.zeros(member.sum()),
            metrics=["treatment_equality", "mcc"],
            confidence_level=0.9,
        )
        names = ["treatment_equality", "mcc"]
        low, high = "treatment_equality_low", "treatment_equality_high"
        if alone.iloc[0][low] < alone.iloc[0][high]:  # else limits depend on all samples
            names += [low, high]
        assert overlapping.loc[column, names].tolist() == pytest.approx(alone.iloc[0][names])


def test_functions_without_weights_are_refused_with_weights():
    def flips(y_true, y_pred):
        return np.mean(y_true != y_pred)

    assert report_of(flips, sample_weight=np.full(12, 3.0)).loc["a", "flips"] == pytest.approx(
        1 / 3
    )
    with pytest.raises(ValueError, match="flips takes none"):
        report_of(flips, sample_weight=np.arange(1.0, 13.0))


def test_functions_without_weights_have_the_draws_of_those_with_weights():
    def count_without_weights(y_true, y_pred):
        return np.mean(y_true == y_pred)

    metrics = [GroupMetric(f) for f in (count_without_weights, share_right)]
    report = report_of(*metrics, confidence_level=0.9)
    for ending in ("", "_standard_error", "_low", "_high"):
        same = report[f"share_right{ending}"].to_numpy()
        np.testing.assert_allclose(report[f"count_without_weights{ending}"], same)


def test_constant_draws_have_no_limits():
    report = group_report(
        [1, 0] * 20,
        [1, 0] * 20,
        sensitive_features=[*"ab"] * 10 + [*"ba"] * 10,
        metrics=[share_right],
        confidence_level=0.95,
    )
    assert report["share_right"].tolist() == [1, 1, 1]
    assert report["share_right_low"].isna().all()


def test_scores_and_probabilities():
    rng = np.random.default_rng(0)
    y_true = rng.integers(2, size=200)
    y_proba = rng.random(200)
    groups = rng.integers(2, size=200)
    weights = rng.random(200)
    metrics = {
        "auc": "roc_auc",
        "precision": "average_precision",
        "brier": "brier_score",
        "logloss": GroupMetric(sk.log_loss, response_method="predict_proba"),
    }
    report = group_report(
        y_true,
        y_proba > 0.5,
        y_proba=y_proba,
        sensitive_features=groups,
        sample_weight=weights,
        metrics=metrics,
    )
    oracles = [sk.roc_auc_score, sk.average_precision_score, sk.brier_score_loss, sk.log_loss]
    for group in (0, 1):
        rows = groups == group
        expected = [f(y_true[rows], y_proba[rows], sample_weight=weights[rows]) for f in oracles]
        assert report.loc[group, list(metrics)].tolist() == pytest.approx(expected, abs=1e-12)
    with pytest.raises(ValueError, match=r"roc_auc takes scores, but y_score was not passed"):
        group_report(y_true, y_proba > 0.5, sensitive_features=groups, metrics=["roc_auc"])


def test_functions_of_several_classes_take_labels():
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.choice([*"xyz"], (2, 300))
    groups = rng.integers(2, size=300)
    macro = partial(sk.f1_score, average="macro")
    report = group_report(y_true, y_pred, sensitive_features=groups, metrics=[macro])
    rows = groups == 1
    assert report.loc[1, "f1_score"] == macro(y_true[rows], y_pred[rows])
    with pytest.raises(TypeError, match="must return one number.*average='macro'"):
        per_class = partial(sk.f1_score, average=None)
        group_report(y_true, y_pred, sensitive_features=groups, metrics=[per_class])


def test_one_of_several_classes_is_compared_with_the_rest():
    y_true, y_pred = np.random.default_rng(0).choice([*"xyz"], (2, 100))
    settings = {
        "sensitive_features": np.arange(100) % 2,
        "metrics": ["recall", "mcc", sk.f1_score],
    }
    report = group_report(y_true, y_pred, pos_label="x", **settings)
    expected = group_report(y_true == "x", y_pred == "x", **settings)
    pd.testing.assert_frame_equal(report, expected)
    with pytest.raises(ValueError, match="pos_label must be one of the classes 'x', 'y', 'z'"):
        group_report(y_true, y_pred, pos_label="w", **settings)


def test_numbers_of_a_regressor():
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.normal(size=(2, 100))
    groups = rng.integers(2, size=100)
    metrics = ["mean_absolute_error", "mean_squared_error", sk.r2_score]
    report = group_report(y_true, y_pred, sensitive_features=groups, metrics=metrics)
    rows = groups == 0
    expected = [
        f(y_true[rows], y_pred[rows])
        for f in (sk.mean_absolute_error, sk.mean_squared_error, sk.r2_score)
    ]
    assert report.iloc[0, 1:].tolist() == pytest.approx(expected)


@pytest.mark.slow
def test_strata_are_reports_of_their_samples():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"region": rng.choice([*"ns"], 200), "sex": rng.choice([*"fm"], 200)})
    y_true, y_pred = rng.integers(2, size=(2, 200))
    metrics = ["recall", "mcc"]
    report = group_report(
        y_true,
        y_pred,
        sensitive_features=data["sex"],
        control_features=data[["region"]],
        metrics=metrics,
        confidence_level=0.9,
    )
    assert report.index.names == ["region", "sex"]
    for region, rows in data.groupby("region").indices.items():
        alone = group_report(
            y_true[rows],
            y_pred[rows],
            sensitive_features=data["sex"].iloc[rows],
            metrics=metrics,
            confidence_level=0.9,
        )
        pd.testing.assert_frame_equal(report.loc[region], alone)


@pytest.mark.parametrize(
    "metrics, message",
    [
        (["recal"], "Did you mean 'recall'"),
        ([], "at least one metric"),
        (["recall", "recall"], "two are called 'recall'"),
        ([3], "a function of y_true and y_pred or a GroupMetric"),
    ],
)
def test_unknown_metrics_are_refused(metrics, message):
    with pytest.raises(ValueError, match=message):
        report_of(*metrics)


def test_metrics_without_a_name_or_a_response_are_refused():
    with pytest.raises(TypeError, match="needs one as a metric"):
        find_group_metric(lambda y_true, y_pred: 0.0)
    with pytest.raises(ValueError, match="response_method must be one of 'predict'"):
        GroupMetric(sk.roc_auc_score, response_method="score")
    with pytest.raises(TypeError, match="must be callable"):
        GroupMetric("recall")


def test_a_function_warns_and_its_value_stands():
    def noisy(y_true, y_pred):
        warnings.warn("slow", UserWarning, stacklevel=1)
        return 0.5

    with pytest.warns(UserWarning, match="slow"):
        report = report_of(noisy)
    assert (report["noisy"] == 0.5).all()


@pytest.mark.parametrize("value", [None, "a", [0.5, 0.5]])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="must return one number of a group, but f returned"):
        report_of(GroupMetric(lambda y_true, y_pred: value, "f"))


@pytest.mark.parametrize("value", [np.array(0.5), np.float32(0.5), True, np.inf])
def test_any_number_is_taken(value):
    report = report_of(GroupMetric(lambda y_true, y_pred: value, "f"), confidence_level=0.9)
    assert (report["f"] == float(value)).all() and report["f_low"].isna().all()


def test_decisions_need_no_outcomes():
    report = group_report(None, PREDICTED, sensitive_features=GROUP, metrics=["selection_rate"])
    assert report["selection_rate"].tolist() == [0.5, 0.0, 0.25]
    with pytest.raises(ValueError, match="recall compares predictions with outcomes"):
        group_report(None, PREDICTED, sensitive_features=GROUP, metrics=["recall"])


def test_every_registered_metric_has_its_name():
    assert all(metric.name == name for name, metric in GROUP_METRICS.items())


def fast_f1(y_true, y_pred, sample_weight=None):
    sample_weight = np.ones(len(y_true)) if sample_weight is None else sample_weight
    tp = (sample_weight * y_true) @ y_pred
    positives = sample_weight @ (y_true + y_pred)
    return 2 * tp / positives


# Balanced accuracy ----------------------------------------------------------------------


def balanced_limits(is_true, is_positive, level=0.975):
    """Balanced accuracy and its limits, from those of the rates of both classes."""
    right = [is_positive[is_true], ~is_positive[~is_true]]
    rates = np.array([one.mean() for one in right])
    sizes = np.array([len(one) for one in right])
    low, high = rate_limits(rates, sizes, level)
    below = np.hypot(*(rates - low)) / 2
    above = np.hypot(*(high - rates)) / 2
    return rates.mean(), rates.mean() - below, rates.mean() + above


def test_limits_of_balanced_accuracy_are_made_of_those_of_both_rates():
    rng = np.random.default_rng(0)
    is_true = rng.random(90) < 0.3
    group = np.arange(90) % 3
    is_positive = np.where(rng.random(90) < 0.9, is_true, ~is_true)
    is_positive[group == 0] = is_true[group == 0]  # no errors, of which resamples show no spread
    settings = {"metrics": ["balanced_accuracy"], "confidence_level": 0.95}
    report = group_report(is_true, is_positive, sensitive_features=group, **settings)
    assert report.attrs["intervals"] == {"balanced_accuracy": "Wilson or exact, combined"}
    names = ["balanced_accuracy", "balanced_accuracy_low", "balanced_accuracy_high"]
    for g in range(3):
        rows = group == g
        expected = balanced_limits(is_true[rows], is_positive[rows])
        assert report.loc[g, names].tolist() == pytest.approx(expected)
    # Weights of one value change nothing; unequal ones make intervals wider.
    settings |= {"sensitive_features": group}
    equal = group_report(is_true, is_positive, sample_weight=np.full(90, 3.0), **settings)
    pd.testing.assert_frame_equal(equal, report)
    weights = rng.exponential(size=90)
    uneven = group_report(is_true, is_positive, sample_weight=weights, **settings)
    width, plain = ((one[names[2]] - one[names[1]]).loc[0] for one in (uneven, report))
    assert width > 1.1 * plain


def test_balanced_accuracy_of_overlapping_groups_is_that_of_each():
    members = np.column_stack((GROUP == "a", np.arange(12) > 2, PREDICTED * TRUE == 1))
    settings = {"metrics": ["balanced_accuracy"], "confidence_level": 0.9}
    together = group_report(
        TRUE, PREDICTED, sensitive_features=sparse.csr_array(members), **settings
    )
    assert together.loc[2].isna().sum() == 4  # no sample of the negative class
    for column, rows in enumerate(members[:, :2].T):
        alone = group_report(TRUE[rows], PREDICTED[rows], sensitive_features=rows[rows], **settings)
        assert together.loc[column].tolist() == pytest.approx(alone.iloc[0].tolist())


def test_balanced_accuracy_of_several_classes_is_their_mean_recall():
    y_true, y_pred = np.random.default_rng(0).choice([*"xyz"], (2, 200))
    settings = {"sensitive_features": np.zeros(200), "metrics": ["balanced_accuracy"]}
    report = group_report(y_true, y_pred, **settings)
    expected = sk.balanced_accuracy_score(y_true, y_pred)
    assert report.iloc[0]["balanced_accuracy"] == pytest.approx(expected)


def misses_of_balanced_accuracy(size, n_groups, weighted=False):
    """Shares of intervals at .95 of groups, and of differences of two, that miss; mean width."""
    rng = np.random.default_rng(size)
    share = rng.choice([0.5, 0.3, 0.2, 0.1, 0.05], n_groups)
    recalls = rng.choice([0.99, 0.95, 0.9, 0.8, 0.6], (2, n_groups))
    codes = np.repeat(np.arange(n_groups), size)
    n = n_groups * size
    y_true = rng.random(n) < share[codes]
    is_right = rng.random(n) < recalls[y_true.astype(int), codes]
    columns = {"y_true": y_true, "decisions": np.where(is_right, y_true, ~y_true)}
    weights = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    groups = Groups(np.arange(n_groups)[:, np.newaxis], codes=codes)
    estimates, present = GROUP_METRICS["balanced_accuracy"].estimate(columns, groups, weights)
    truth = recalls.mean(axis=0)[present]
    low, high = estimates.limits(0.975)
    pairs = sparse.eye_array(len(truth)) - sparse.eye_array(len(truth), k=1)
    pairs = sparse.csr_array(pairs)[:-1:2]
    above = estimates.upper(pairs, 0.975)
    below = -estimates.upper(-pairs, 0.975)
    outside = (truth < low - 1e-12) | (truth > high + 1e-12)
    is_beyond = (pairs @ truth > above) | (pairs @ truth < below)
    return outside.mean(), is_beyond.mean(), (high - low).mean()


def test_intervals_of_balanced_accuracy_hold_in_small_groups():
    of_groups, of_differences, _ = misses_of_balanced_accuracy(30, 300)
    assert of_groups <= 0.06 and of_differences <= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size, width", [(30, 0.42), (100, 0.24)])
def test_intervals_of_balanced_accuracy_hold(size, width, weighted):
    """Of 2,000 groups the bootstrap misses more than .08, and a third of 30 had no interval."""
    of_groups, of_differences, mean_width = misses_of_balanced_accuracy(size, 2000, weighted)
    assert of_groups <= 0.06 and of_differences <= 0.06 and mean_width <= width


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 300])
def test_bootstrap_limits_hold(n):
    """Intervals at .9 of F1, MCC and treatment equality of one group.

    Those that hold in .75 of samples would fail with a probability of .95.
    """
    rng = np.random.default_rng(0)
    held = []
    names = {"f1": 2 * 0.35 / 1.0, "matthews_corrcoef": 0.4, "treatment_equality": 1.0}
    metrics = [
        GroupMetric(fast_f1, "f1"),
        GROUP_METRICS["matthews_corrcoef"],
    ]
    for _ in range(60):
        y_true = rng.random(n) < 0.5
        y_pred = rng.random(n) < np.where(y_true, 0.7, 0.3)
        report = group_report(
            y_true,
            y_pred,
            sensitive_features=np.zeros(n),
            metrics=[*metrics, "treatment_equality"],
            confidence_level=0.9,
        ).iloc[0]
        held.append([report[f"{m}_low"] <= v <= report[f"{m}_high"] for m, v in names.items()])
    assert np.mean(held, axis=0).min() > 0.84


SCORED = [
    sk.roc_auc_score,
    sk.average_precision_score,
    sk.brier_score_loss,
    sk.log_loss,
    *D2_SCORES,
    sk.make_scorer(sk.log_loss, response_method="predict_proba", greater_is_better=False),
    partial(sk.roc_auc_score, max_fpr=0.5),
]


@pytest.mark.parametrize("metric", SCORED, ids=range(len(SCORED)))
def test_functions_of_scores_get_the_scores_that_are_passed(metric):
    rng = np.random.default_rng(0)
    y_true, groups, y_proba = rng.integers(2, size=80), rng.integers(2, size=80), rng.random(80)
    settings = {"sensitive_features": groups, "metrics": {"m": metric}}
    report = group_report(y_true, y_proba > 0.5, y_proba=y_proba, **settings)
    function = sk.log_loss if hasattr(metric, "_score_func") else metric
    for group in (0, 1):
        rows = groups == group
        expected = function(y_true[rows], y_proba[rows])
        assert report.loc[group, "m"] == pytest.approx(expected, abs=1e-12)
        assert expected != pytest.approx(
            function(y_true[rows], 0.001 + 0.998 * (y_proba[rows] > 0.5))
        )
    with pytest.raises(
        ValueError, match=r"m takes (scores|probabilities), but y_(score|proba) was"
    ):
        group_report(y_true, y_proba > 0.5, **settings)


def test_all_functions_of_scores_in_scikit_learn_are_known():
    """By the names that their documentation gives the second argument, or by their scorers."""
    for name in sk.get_scorer_names():
        scorer = sk.get_scorer(name)
        takes_scores = scorer._response_method != "predict"
        assert (GroupMetric(scorer._score_func).response != "decisions") == takes_scores, name


def test_a_group_of_one_class_has_a_log_loss():
    y_true, y_proba = np.array([0, 0, 0, 1, 1, 0]), np.array([0.1, 0.2, 0.3, 0.9, 0.6, 0.4])
    report = group_report(
        y_true,
        y_proba > 0.5,
        y_proba=y_proba,
        sensitive_features=[*"aaabbb"],
        metrics=[sk.log_loss, sk.brier_score_loss, sk.d2_log_loss_score],
    )
    assert report.loc["a", "log_loss"] == pytest.approx(-np.log(1 - y_proba[:3]).mean())
    assert report.loc["a", "brier_score_loss"] == pytest.approx((y_proba[:3] ** 2).mean())
    assert np.isnan(report.loc["a", "d2_log_loss_score"])
