"""Rules that are fitted again to the scores of kept classifiers: equal to a fit, or refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skfair.classification import ConstrainedClassifierCV
from skfair.model_selection import fit_ladder
from tests.postprocessing.test_folds_memory import FITS, GROUPS, Counted, X, Y

LINEAR = LogisticRegression()
SAMPLES = {"X": X, "y": Y, "sensitive_features": GROUPS}
FITTED = (
    "rule_coef_",
    "rule_intercept_",
    "oof_decision_function_",
    "multipliers_",
    "constraint_violation_",
    "refused_at_any_score_",
    "status_",
    "n_iter_",
)


def make(estimator=LINEAR, **params):
    params = {"cv": 3, "group_estimator": LINEAR, "tolerance": 0.05} | params
    return ConstrainedClassifierCV(estimator, **params)


def assert_equal_fits(one, other, X=X, **passed):
    """Fitted attributes, reports and predictions are equal to the bit."""
    for name in FITTED:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.constraint_report_.equals(other.constraint_report_)
    scores = (model.decision_function(X, **passed) for model in (one, other))
    np.testing.assert_array_equal(*scores)


def check_refit(model, change, samples=SAMPLES, **passed):
    """A rule that is fitted again equals a fit, after the model was stored and read too."""
    fitted = pickle.loads(pickle.dumps(clone(model).fit(**samples)))
    estimators = fitted.estimators_
    fitted.set_params(**change).refit_rule(**samples)
    assert fitted.estimators_ is estimators
    alone = clone(model).set_params(**change).fit(**samples)
    assert_equal_fits(fitted, alone, samples["X"], **passed)


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
WEIGHTED = SAMPLES | {"sample_weight": np.arange(300) % 4}
PERSONS = SAMPLES | {"groups": np.arange(300) // 2}
PARTLY_KNOWN = SAMPLES | {"sensitive_features": np.where(np.arange(300) % 3, GROUPS, np.nan)}
CLASSES = SAMPLES | {"y": Y + (X[:, 1] > 0.5)}
FRAME = SAMPLES | {"X": pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": GROUPS + 0.5})}
TREES = HistGradientBoostingClassifier(max_iter=5, random_state=0)
FOREST = RandomForestClassifier(30, max_depth=3, random_state=0)
SCALED = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    ("model", "change", "samples"),
    [
        (make(), {}, SAMPLES),
        (make(TREES), {}, FRAME),
        (make(SCALED, confidence_level=0.5), {"confidence_level": 0.8}, SAMPLES),
        (make(), {"constraint": ["demographic_parity", "equal_opportunity"]}, SAMPLES),
        (make(), {"class_weight": "balanced"}, WEIGHTED),
        (make(), {}, PERSONS),
        (make(missing="at_random"), {}, PARTLY_KNOWN),
        (make(), {}, CLASSES),
        (make(k=0.3), {}, SAMPLES),
        (make(FOREST, cv="oob"), {}, SAMPLES),
        (make(FOREST, cv="oob", ensemble=False), {}, SAMPLES),
        (make(cv=TimeSeriesSplit(3)), {}, SAMPLES),
        (make(FrozenEstimator(clone(LINEAR).fit(X[:50], Y[:50]))), {}, SAMPLES),
        (make(cv=KFold(3, shuffle=True, random_state=1)), {}, SAMPLES),
    ],
)  # fmt: skip
def test_a_rule_that_is_fitted_again_equals_a_fit(model, change, samples):
    check_refit(model, {"tolerance": 0.2} | change, samples)


@pytest.mark.slow
def test_default_models_of_the_group_are_fitted_again():
    check_refit(make(TREES, group_estimator=None), {"tolerance": 0.2})


def test_known_groups_and_rules_of_a_ladder():
    model = make(group_estimator="sensitive_features")
    check_refit(model, {"tolerance": 0.2}, sensitive_features=GROUPS)
    # A model of a ladder has the classifiers of all.
    values = (0.05, 0.2)
    ladder = fit_ladder(make(), parameter="tolerance", values=values, **SAMPLES)
    again = ladder[0].set_params(tolerance=0.2).refit_rule(**SAMPLES)
    assert_equal_fits(again, ladder[1])


def test_the_classifier_is_not_fitted_again():
    model = make(Counted(random_state=None)).fit(**SAMPLES)
    FITS.clear()
    model.set_params(tolerance=0.2).refit_rule(**SAMPLES)
    assert FITS == []
    assert 0.05 < model.constraint_report_["gap"].max() <= 0.2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", X + 1e-9),
        ("X", X[::-1]),
        ("X", X.tolist()),
        ("y", 1 - Y),
        ("sensitive_features", 1 - GROUPS),
        ("sensitive_features", GROUPS.astype(str)),
        ("sample_weight", 1.0 + GROUPS),
    ],
)
def test_other_samples_are_refused(name, value):
    model = make().fit(**SAMPLES)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=f"{name} must be"):
        model.refit_rule(**(SAMPLES | {name: value}))
    assert vars(model) == before


def test_other_folds_are_refused():
    drawn = make(cv=KFold(3, shuffle=True)).fit(**SAMPLES)
    with pytest.raises(ValueError, match=r"cv must be .*a splitter with a fixed random_state"):
        drawn.refit_rule(**SAMPLES)
    model = make().fit(**SAMPLES)
    for change in ({"cv": 4}, {"cv": "prefit"}):
        with pytest.raises(ValueError, match="cv must be"):
            clone_fit(model, **change).refit_rule(**SAMPLES)
    with pytest.raises(ValueError, match="cv must be"):
        model.refit_rule(**PERSONS)


def clone_fit(model, **change):
    """A copy of a fitted model with other parameters."""
    return pickle.loads(pickle.dumps(model)).set_params(**change)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"estimator__C": 0.5}, "C"),
        ({"estimator": TREES}, "\\w+"),
        ({"estimator": SCALED}, "\\w+"),
    ],
)
def test_other_parameters_of_the_classifier_are_refused(change, name):
    model = make(clone(LINEAR)).fit(**SAMPLES)
    with pytest.raises(ValueError, match=f"estimator must have the parameters .* but {name} is"):
        model.set_params(**change).refit_rule(**SAMPLES)


def test_models_that_were_not_kept_are_named():
    model = make(ensemble=False).fit(**SAMPLES)
    for ensemble in (False, True):
        with pytest.raises(ValueError, match="ensemble must be True for refit_rule"):
            model.set_params(ensemble=ensemble).refit_rule(**SAMPLES)
    with pytest.raises(ValueError, match="ensemble must be True"):
        make().fit(**SAMPLES).set_params(ensemble=False).refit_rule(**SAMPLES)


def test_rows_without_a_hash_are_fitted_but_not_compared():
    words = pd.DataFrame({"words": [["a"] * count for count in 1 + 2 * GROUPS + Y]})
    counts = FunctionTransformer(lambda frame: frame["words"].map(len).to_numpy()[:, np.newaxis])
    model = make(make_pipeline(counts, LogisticRegression()))
    model.fit(words, Y, sensitive_features=GROUPS)
    with pytest.raises(ValueError, match="X must be an array, a DataFrame or a sparse matrix of"):
        model.refit_rule(words, Y, sensitive_features=GROUPS)
