"""ConstrainedClassifierCV: input validation, pipelines, searches, export and callbacks."""

import json

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfair.callbacks import FitMonitor
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityPostprocessor,
)
from skfair.constraints import (
    DemographicParity,
    EqualOpportunity,
    PartialEqualizedOdds,
    PartialStatisticalParity,
)
from skfair.exceptions import MissingSensitiveFeaturesWarning
from skfair.metrics import demographic_parity_difference, get_scorer
from tests.postprocessing.databases import DATABASES

NB = GaussianNB()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], size=400)
    X = rng.normal(size=(400, 3))
    X[:, 0] += sex == "m"
    return X, (X.sum(axis=1) + rng.logistic(size=400) > 0.5).astype(int), sex


def fit(data, estimator=NB, weights=None, **params):
    X, y, sex = data
    model = ConstrainedClassifierCV(
        estimator, **({"tolerance": 0.05, "cv": 3, "group_estimator": NB} | params)
    )
    return model.fit(X, y, sensitive_features=sex, sample_weight=weights)


def gap(data, model):
    _, y, sex = data
    return demographic_parity_difference(
        y, model.oof_decision_function_ > 0, sensitive_features=sex
    )


class Labels(ClassifierMixin, BaseEstimator):
    """A classifier without scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


# Refused ------------------------------------------------------------------------------


def test_labels_alone_cannot_be_shifted(data):
    with pytest.raises(ValueError, match="'estimator' parameter .* must be .* 'predict_proba'"):
        fit(data, Labels())
    vote = VotingClassifier([("nb", NB), ("lr", LogisticRegression())], voting="hard")
    with pytest.raises(ValueError, match="must be .* 'predict_proba'"):
        fit(data, vote)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"constraint": "parity"}, "'constraint' parameter"),
        ({"constraint": ["parity"]}, "constraint must be one of"),
        ({"tolerance": -1}, "'tolerance' parameter"),
        ({"tolerance": 2.0}, "more than any gap between rates"),
        ({"group_estimator": "known"}, "'group_estimator' parameter"),
        ({"group_estimator": Labels()}, "'group_estimator' parameter"),
        ({"cv": "twice"}, "'cv' parameter"),
        ({"cv": 1}, "'cv' parameter"),
        ({"pos_label": 7}, r"pos_label must be one of \[0, 1\]"),
        ({"cv": "oob"}, "cv='oob' needs a forest .* GaussianNB. Pass cv=5"),
        ({"cv": "prefit"}, "not fitted"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(data, params, message):
    with pytest.raises(ValueError, match=message):
        fit(data, **params)


def test_folds_must_be_a_partition(data):
    with pytest.raises(ValueError, match="no partition of the samples. .*FrozenEstimator"):
        fit(data, cv=ShuffleSplit(2, random_state=0))


def test_training_rows_must_exclude_test_rows(data):
    X, y, sex = data
    overlapping = [(np.arange(400), test) for _, test in KFold(4).split(X)]
    with pytest.raises(ValueError, match="100 of the 100 test rows of fold 0 of cv are among its"):
        fit(data, DecisionTreeClassifier(), cv=overlapping)
    model = PartialParityPostprocessor(DecisionTreeClassifier(), cv=overlapping)
    with pytest.raises(ValueError, match="100 of the 100 test rows of fold 0 of cv are among its"):
        model.fit(X, y, sensitive_features=sex)


@pytest.mark.parametrize("make", [ConstrainedClassifierCV, PartialParityPostprocessor])
def test_training_data_of_a_fitted_classifier_are_declared(data, make):
    X, y, sex = data
    tree = DecisionTreeClassifier(max_depth=3).fit(X[:300], y[:300])
    groups = {"sensitive_features": sex}
    for model in (make(tree, cv="prefit", tolerance=1), make(FrozenEstimator(tree), tolerance=1)):
        with pytest.raises(ValueError, match="300 of the 400 rows of X are in X_fit"):
            model.fit(X, y, **groups, X_fit=X[:300])
        with pytest.warns(UserWarning, match="150 of the 400 rows of X are in X_fit"):
            model.fit(X, y, **groups, X_fit=X[:150])
        # Samples without weight are absent.
        weights = np.repeat([0.0, 1.0], [300, 100])
        model.fit(X, y, **groups, sample_weight=weights, X_fit=X[:300])
    with pytest.raises(ValueError, match="clones of DecisionTreeClassifier are fitted here"):
        make(clone(tree), cv=3).fit(X, y, **groups, X_fit=X[:300])
    with pytest.raises(ValueError, match="300 of the 400 rows of X are in X_fit"):
        pipeline = make_pipeline(StandardScaler(), FrozenEstimator(tree))
        make(pipeline, cv=3).fit(X, y, **groups, X_fit=X[:300])


class Returns(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are made of those of naive Bayes by a function."""

    def __init__(self, change=None):
        self.change = change

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.model_ = GaussianNB().fit(X, y)
        return self

    def predict_proba(self, X):
        return self.change(self.model_.predict_proba(X))


class Decides(Returns):
    """The same by ``decision_function``."""

    def decision_function(self, X):
        return self.change(self.model_.predict_proba(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: 3 * p, "probabilities between 0 and 1, but they are between 0 and 2"),
        (lambda p: p / 2, "add up to 1 over the classes, but those of a row add up to 0.5"),
        (
            lambda p: p / np.zeros((1, 2)),
            r"finite numbers, .*, but 1.. of 1.. rows have nan, inf",
        ),
        (lambda p: np.c_[p, p[:, 0]], r"each of its 2 classes, shape \(1.., 2\), .* \(1.., 3\)"),
        (lambda p: p[:, 1:], r"each of its 2 classes, shape \(1.., 2\), .* \(1.., 1\)"),
        (lambda p: p[:, 1], r"each of its 2 classes, shape \(1.., 2\), .* \(1..,\)"),
        (lambda p: p[:-1], r"each of the 1.. samples, but it returned shape \(1.., 2\)"),
        (lambda p: [p, p], r"one row for each of the 1.. samples, .* shape \(2, 1.., 2\)"),
        (lambda p: p.astype(str)[:, 0] + "%", "an array of numbers, but returned '0"),
    ],
    ids=[
        "above 1",
        "halves",
        "infinite",
        "3 columns",
        "1 column",
        "1-D",
        "rows",
        "list of arrays",
        "text",
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_probabilities_of_another_form_are_refused(data, change, message):
    message = f"predict_proba of Returns must return .*{message}"
    with pytest.raises(ValueError, match=message):
        fit(data, Returns(change))
    with pytest.raises(ValueError, match=message):
        fit(data, group_estimator=Returns(change))


def test_decision_functions_of_another_form_are_refused(data):
    with pytest.raises(ValueError, match="decision_function of Decides must return finite"):
        fit(data, Decides(lambda p: np.where(p > 0.5, np.inf, p)))
    with pytest.raises(ValueError, match="decision_function of Decides must return one row"):
        fit(data, Decides(lambda p: p[:-1]))
    with pytest.raises(ValueError, match="decision_function of Decides has 3 columns"):
        fit(data, Decides(lambda p: np.c_[p, p[:, 0]]))


def test_probabilities_may_be_lists(data):
    expected = fit(data, Returns(lambda p: p))
    for change in (lambda p: p.tolist(), lambda p: p.astype(np.float32) * (1 + 1e-7)):
        np.testing.assert_allclose(
            fit(data, Returns(change)).rule_coef_, expected.rule_coef_, rtol=1e-3
        )


def test_every_fold_needs_both_classes(data):
    X, y, sex = data
    order = np.argsort(y, kind="stable")
    halves = np.array_split(order, [np.sum(y == 0)])
    with pytest.raises(
        ValueError, match="Fold 0 of 2 leaves no sample of class 0 .* StratifiedKFold"
    ):
        fit(data, cv=[(halves[1], halves[0]), (halves[0], halves[1])])
    rows = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1])
    with pytest.raises(ValueError, match="only one sample of the class 1"):
        fit((X[rows], y[rows], sex[rows]))


def test_every_fold_needs_every_group_that_is_compared(data):
    X, y, sex = data
    by_sex = [(np.flatnonzero(sex != s), np.flatnonzero(sex == s)) for s in ("f", "m")]
    with pytest.raises(
        ValueError, match="Fold 0 of 2 leaves no samples of group 'f' to learn from"
    ):
        fit(data, cv=by_sex)
    sparse_groups = sex.copy()
    sparse_groups[np.flatnonzero(y == 1)[0]] = "x"
    with pytest.raises(ValueError, match="leaves no positives of group 'x' to learn from"):
        fit((X, y, sparse_groups), constraint=EqualOpportunity(min_group_size=1))
    with pytest.warns(UserWarning, match=r"1 group\(s\) with fewer"):
        fit((X, y, sparse_groups), constraint=DemographicParity(min_group_size=5))


def test_a_frozen_classifier_must_have_the_same_classes(data):
    X, y, sex = data
    frozen = FrozenEstimator(GaussianNB().fit(X, y + 1))
    with pytest.raises(ValueError, match=r"those of y are \[0, 1\] and those of .* \[1, 2\]"):
        fit(data, frozen)


def test_other_labels_need_pos_label(data):
    X, y, sex = data
    with pytest.raises(ValueError, match="pos_label must name"):
        fit((X, np.array(["no", "yes"])[y], sex))


def test_a_forest_needs_enough_trees(data):
    forest = RandomForestClassifier(n_estimators=2, random_state=0)
    with (
        pytest.warns(UserWarning, match="do not have OOB scores"),
        pytest.raises(ValueError, match="in the bag of every tree"),
    ):
        fit(data, forest, cv="oob")


def test_known_groups_do_not_overlap(data):
    X, y, sex = data
    members = sparse.csr_array(np.column_stack((sex == "m", X[:, 1] > 0)))
    with pytest.raises(ValueError, match="needs one group per sample"):
        fit((X, y, members), group_estimator="sensitive_features")


# Warned of ----------------------------------------------------------------------------


def test_weights_that_the_classifier_does_not_take(data):
    weights = 1.0 + (np.arange(400) % 2)
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight"):
        model = fit(data, KNeighborsClassifier(), weights)
    _, y, sex = data
    reached = demographic_parity_difference(
        y, model.oof_decision_function_ > 0, sensitive_features=sex, sample_weight=weights
    )
    assert reached <= 0.05


def test_a_fitted_classifier_is_fitted_again(data):
    X, y, _ = data
    with pytest.warns(UserWarning, match="fitted already, but clones .*FrozenEstimator"):
        fit(data, GaussianNB().fit(X, y))


def test_features_that_reveal_the_group_are_warned_of(data):
    X, y, sex = data
    with_group = np.column_stack((X, sex == "m"))
    with pytest.warns(UserWarning, match="X reveals the group of nearly all samples"):
        model = fit((with_group, y, sex))
    assert gap(data, model) <= 0.05
    fit((with_group, y, sex), group_estimator="sensitive_features")


def test_scores_that_predict_nothing_are_warned_of(data):
    X, y, sex = data
    noise = np.zeros_like(X)
    with pytest.warns(UserWarning, match="do not predict the class 1"):
        model = fit((noise, y, sex), LogisticRegression(), group_estimator=LogisticRegression())
    assert len(np.unique(model.predict(noise))) == 1


def test_without_groups_the_fit_is_unconstrained(data):
    X, y, _ = data
    with pytest.warns(MissingSensitiveFeaturesWarning, match="unconstrained"):
        model = ConstrainedClassifierCV(NB, cv=3).fit(X, y)
    assert len(model.rule_coef_) == 1
    assert model.status_ == "unconstrained"
    assert model.constraint_violation_ is None
    assert len(model.constraint_report_) == 0
    alone = ConstrainedClassifierCV(NB, None, cv=3).fit(X, y)
    np.testing.assert_array_equal(alone.predict(X), model.predict(X))


# Pipelines, searches, routing ---------------------------------------------------------


@pytest.mark.slow
def test_models_of_groups_get_the_features_of_the_last_step(data):
    X, y, sex = data
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["town"] = np.where(X[:, 0] > 0.5, "north", "south")
    columns = make_column_transformer((OneHotEncoder(), ["town"]), (StandardScaler(), list("abc")))
    pipeline = make_pipeline(columns, LogisticRegression())
    for estimator in (
        pipeline,
        GridSearchCV(pipeline, {"logisticregression__C": [0.1, 1.0]}, cv=2),
    ):
        model = fit((frame, y, sex), estimator)
        assert gap(data, model) <= 0.05
        assert model.predict(frame).shape == (400,)
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
    frozen = fit((frame, y, sex), FrozenEstimator(pipeline.fit(frame, y)))
    assert gap(data, frozen) <= 0.05


class ArrayLike:
    """Features that numpy can read, and that have no len."""

    def __init__(self, X):
        self.X = X

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.X, dtype=dtype)


def test_features_may_be_any_array_like(data):
    model = fit(data)
    np.testing.assert_array_equal(model.predict(ArrayLike(data[0])), model.predict(data[0]))


class Oversampler(BaseEstimator):
    """A step that repeats training samples of the positive class, and transforms nothing."""

    def fit_resample(self, X, y):
        rows = np.append(np.arange(len(y)), np.flatnonzero(y))
        return X[rows], y[rows]


class ResamplingPipeline(Pipeline):
    """A pipeline with steps that change the training data alone, such as imbalanced-learn's."""

    def _validate_steps(self):
        pass

    def _iter(self, *args, **kwargs):
        steps = super()._iter(*args, **kwargs)
        return ((*place, step) for *place, step in steps if not hasattr(step, "fit_resample"))

    def fit(self, X, y):
        for _, step in self.steps[:-1]:
            is_sampler = hasattr(step, "fit_resample")
            X, y = step.fit_resample(X, y) if is_sampler else (step.fit_transform(X, y), y)
        self.steps[-1][1].fit(X, y)
        return self


@pytest.mark.parametrize("cv", [3, "prefit"])
def test_steps_that_resample_leave_samples_of_predictions_as_they_are(data, cv):
    X, y, sex = data
    steps = [("scale", StandardScaler()), ("repeat", Oversampler()), ("nb", GaussianNB())]
    pipeline = ResamplingPipeline(steps)
    if cv == "prefit":
        pipeline.fit(*map(np.concatenate, zip((X, y), (X + 0.1, y), strict=True)))
    model = fit(data, pipeline, cv=cv)
    assert gap(data, model) <= 0.05
    assert model.predict(X).shape == (400,)


def test_out_of_bag_scores_of_resampled_data_are_refused(data):
    steps = [("repeat", Oversampler()), ("forest", RandomForestClassifier(20, random_state=0))]
    with pytest.raises(ValueError, match=r"cannot be fitted without y. Pass cv=5"):
        fit(data, ResamplingPipeline(steps), cv="oob")


def test_sparse_features(data):
    X, y, sex = data
    words = sparse.csr_array(np.maximum(X, 0))
    model = fit((words, y, sex), LogisticRegression(), group_estimator=LogisticRegression())
    assert gap(data, model) <= 0.05
    assert model.predict(words).shape == (400,)


def test_metadata_is_routed_through_a_pipeline(data, enable_routing):
    X, y, sex = data
    weights = np.where(np.arange(400) % 2, 1.0, 3.0)
    fold_weights = []

    class Weighted(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            fold_weights.append(sample_weight)
            return super().fit(X, y, sample_weight)

    pipeline = make_pipeline(StandardScaler(), Weighted().set_fit_request(sample_weight=True))
    pipeline.named_steps["standardscaler"].set_fit_request(sample_weight=False)
    model = ConstrainedClassifierCV(pipeline, tolerance=0.05, cv=GroupKFold(4), group_estimator=NB)
    model.set_fit_request(sample_weight=True)
    towns = np.arange(400) // 20
    model.fit(X, y, sensitive_features=sex, sample_weight=weights, groups=towns)
    assert [len(weight) for weight in fold_weights] == [300] * 4
    assert set(np.concatenate(fold_weights)) == {1.0, 3.0}


@pytest.mark.timeout(60)
def test_a_fit_without_metadata_returns_while_routing_is_on(data, enable_routing):
    X, y, _ = data
    with pytest.warns(MissingSensitiveFeaturesWarning, match="unconstrained"):
        model = ConstrainedClassifierCV(NB, cv=3).fit(X, y)
    assert model.status_ == "unconstrained"


def test_folds_may_come_from_a_generator(data, enable_routing):
    X = data[0]
    assert gap(data, fit(data, cv=(fold for fold in KFold(3).split(X)))) <= 0.05


def test_splits_by_a_third_party(data, enable_routing):
    X, y, sex = data
    model = ConstrainedClassifierCV(NB, tolerance=0.05, cv=LeaveOneGroupOut(), group_estimator=NB)
    model.fit(X, y, sensitive_features=sex, groups=np.arange(400) % 3)
    assert len(model.estimators_) == 3


@pytest.mark.slow
def test_a_search_over_tolerances(data, enable_routing):
    X, y, sex = data
    scorer = get_scorer("neg_demographic_parity_difference")
    search = GridSearchCV(
        ConstrainedClassifierCV(NB, cv=3, group_estimator=NB),
        {"tolerance": [0.02, 0.2]},
        scoring=scorer,
        cv=2,
    )
    search.fit(X, y, sensitive_features=sex)
    assert search.best_params_ == {"tolerance": 0.02}


def test_the_classifier_may_be_a_step_of_a_pipeline(data, enable_routing):
    X, y, sex = data
    model = make_pipeline(
        StandardScaler(),
        ConstrainedClassifierCV(NB, tolerance=0.05, cv=3, group_estimator=NB),
    )
    model.fit(X, y, sensitive_features=sex)
    assert gap(data, model[-1]) <= 0.05


def test_a_constrained_classifier_may_be_inside(data):
    inside = ConstrainedERMClassifier(tolerance=0.1)
    with sklearn.config_context(enable_metadata_routing=True):
        model = fit(data, inside)
    assert gap(data, model) <= 0.05


@pytest.mark.slow
def test_several_jobs_give_the_same(data):
    np.testing.assert_array_equal(
        fit(data, n_jobs=2).oof_decision_function_, fit(data).oof_decision_function_
    )


# Export -------------------------------------------------------------------------------


def apply_rule(rule, scores, probabilities):
    """The rule as the documentation has it."""
    z = rule["slope"] * scores + rule["offset"]
    eta = 1 / (1 + np.exp(-z))
    terms = np.stack([np.ones_like(z), eta, z, z * eta])
    moved = np.einsum("ti,ieg,teg->i", terms, probabilities, rule["weights"])
    return rule["log_odds"] * z + rule["intercept"] + moved


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"constraint": "equal_opportunity"},
        {"constraint": "equalized_odds", "group_estimator": "sensitive_features"},
        {"constraint": "loss_parity", "tolerance": 0.1},
        {"constraint": None},
        {"pos_label": 0},
        {"estimator": LogisticRegression(), "ensemble": False},
    ],
    ids=str,
)
def test_the_rule_that_is_exported_decides_as_predict_does(data, params):
    X, _, sex = data
    model = fit(data, **params)
    rule = json.loads(json.dumps(model.export_rule()))
    groups = {"sensitive_features": sex}
    scores = apply_rule(rule, *model.rule_inputs(X, **groups))
    decided = model.predict(X, **groups) == rule["pos_label"]
    np.testing.assert_array_equal(scores > 0, decided)
    for query in DATABASES:
        in_sql = query(model.export_rule("sql"), *model.rule_inputs(X, **groups))
        np.testing.assert_array_equal(np.asarray(in_sql, dtype=bool), decided)
    sign = 1 if model.pos_label_ == model.classes_[1] else -1
    np.testing.assert_allclose(
        sign * scores, model.decision_function(X, **groups), rtol=1e-9, atol=1e-9
    )


def test_rules_of_more_than_two_classes_are_not_exported(data):
    X, y, sex = data
    model = fit((X, y + (X[:, 1] > 1), sex), constraint=None)
    with pytest.raises(ValueError, match="between 2 classes, but there are 3"):
        model.export_rule()
    with pytest.raises(ValueError, match="between 2 classes, but there are 3"):
        model.rule_inputs(X)


def test_parameters_of_other_estimators_are_no_attributes():
    assert not hasattr(ConstrainedClassifierCV(), "enforcement")


# Progress -----------------------------------------------------------------------------


class Tasks:
    """A callback that notes which tasks end."""

    def __init__(self):
        self.ended = []

    def setup(self, estimator, context):
        """Nothing to prepare."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.task_name, context.max_subtasks))


@pytest.mark.callbacks
@pytest.mark.parametrize("ensemble", [True, False])
def test_callbacks_get_every_fold(data, ensemble):
    X, y, sex = data
    tasks = Tasks()
    monitor = FitMonitor()
    model = ConstrainedClassifierCV(NB, cv=3, ensemble=ensemble, group_estimator=NB).set_callbacks(
        tasks, monitor
    )
    model.fit(X, y, sensitive_features=sex)
    n_folds = [(f"classifier of fold {k} of 3", 0) for k in (1, 2, 3)]
    refit = [] if ensemble else [("classifier of all samples", 0)]
    iterations = [("iteration", 0)] * model.n_iter_
    steps = [*n_folds, ("classifiers", 3), *refit, *iterations, ("final linear model", None)]
    assert tasks.ended[: len(steps)] == steps
    assert len(monitor.log) == model.n_iter_
    assert monitor.log["run"].unique().tolist() == [0]


@pytest.mark.slow
@pytest.mark.callbacks
def test_callbacks_get_folds_that_are_fitted_in_parallel(data):
    X, y, sex = data
    monitor = FitMonitor()
    model = ConstrainedClassifierCV(NB, cv=3, n_jobs=2, group_estimator=NB).set_callbacks(monitor)
    model.fit(X, y, sensitive_features=sex)
    assert len(monitor.log) == model.n_iter_


def test_verbose_names_what_is_fitted(data, capsys):
    model = fit(data, verbose=1, constraint="equalized_odds")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [f"classifier of fold {k} of 3: done" for k in (1, 2, 3)]
    assert lines[4].startswith("final linear model, problem 2, iteration 1: objective 0.")
    solved = [line.split(": ")[0] for line in lines if "iteration" in line]
    assert len(solved) == len(set(solved)) == model.n_iter_
    fit(data, RandomForestClassifier(20, random_state=0), verbose=1, cv="oob")
    assert capsys.readouterr().out.startswith("classifier of all samples: done")


@pytest.mark.slow
def test_wrappers_have_no_coefficients_that_are_not_of_the_columns(data):
    X, y, sex = data
    models = ConstrainedClassifierCV(NB, tolerance=0.2), PartialParityPostprocessor(NB)
    for model in models:
        model.fit(X, y, sensitive_features=sex)
        assert not {"coef_", "intercept_", "feature_importances_"} & {*dir(model)}
    with pytest.raises(ValueError, match="feature_importances_|coef_"):
        SelectFromModel(models[0], prefit=True).transform(X)


class _Unfitted(ClassifierMixin, BaseEstimator):
    """A classifier that must not be fitted."""

    def fit(self, X, y):
        raise AssertionError

    def predict_proba(self, X):
        raise AssertionError


@pytest.mark.parametrize("constraint", [PartialStatisticalParity, PartialEqualizedOdds])
def test_intervals_with_too_few_samples_are_refused_before_folds_are_fitted(constraint):
    groups = np.where(np.arange(200) < 60, "few", "many")
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = ConstrainedClassifierCV(_Unfitted(), constraint((0.0, 0.3)))
    with pytest.raises(ValueError, match=r"group 'few' \(18\)"):
        model.fit(X, (X[:, 0] > 0).astype(int), sensitive_features=groups)
