"""Training samples of wrappers: the order of rows decides nothing, unless a splitter reads it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import KFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfair._groups.arguments import FitArguments
from skfair._postprocessing.scored_samples import score_samples
from skfair.classification import ConstrainedClassifierCV
from skfair.conformal import ConformalClassifier
from skfair.constraints import MeanParity
from skfair.ranking import ConstrainedRankerCV
from skfair.regression import ConstrainedRegressorCV


def draw(n=400, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    X = rng.normal(size=(n, 4))
    X[:, 0] += 0.8 * (sex == "m")
    score = X[:, 0] + X[:, 1] + rng.normal(size=n)
    return X, (score > 0.8).astype(int), sex, score


def draw_orders(n, n_orders=2):
    return [np.random.default_rng(seed).permutation(n) for seed in range(n_orders)]


MODELS = [
    ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05),
    ConstrainedClassifierCV(LogisticRegression(), "equalized_odds", cv=2, ensemble=False),
    ConstrainedClassifierCV(HistGradientBoostingClassifier(max_iter=5), tolerance=0.05),
    ConstrainedClassifierCV(
        RandomForestClassifier(20, max_depth=4, random_state=0), tolerance=0.1, cv="oob"
    ),
    ConstrainedClassifierCV(SGDClassifier(shuffle=False, random_state=0), tolerance=0.05),
    ConformalClassifier(LogisticRegression()),
]


@pytest.mark.covering(0)
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", MODELS, ids=lambda one: f"{type(one).__name__}-{one.cv}")
def test_another_order_of_rows_changes_no_decision(model):
    X, y, sex, _ = draw()
    expected = model.fit(X, y, sensitive_features=sex).predict(X)
    for order in draw_orders(len(y)):
        model.fit(X[order], y[order], sensitive_features=sex[order])
        np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_attributes_of_samples_are_in_the_order_that_was_passed():
    X, y, sex, _ = draw()
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05)
    scores = model.fit(X, y, sensitive_features=sex).oof_decision_function_
    (order,) = draw_orders(len(y), 1)
    model.fit(X[order], y[order], sensitive_features=sex[order])
    np.testing.assert_array_equal(model.oof_decision_function_, scores[order])
    # Each score is near that of the folds' mean, so that none is of another sample.
    model.set_params(constraint=None).fit(X, y, sensitive_features=sex)
    scores = model.oof_decision_function_
    assert np.corrcoef(scores, model.decision_function(X))[0, 1] > 0.98


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("base", ["fitted", "frozen"])
def test_regressors_weights_and_ids(base):
    X, _, sex, target = draw()
    weight = np.random.default_rng(1).integers(1, 4, len(sex))
    ids = np.arange(len(sex)) // 2
    estimator = LinearRegression()
    if base == "frozen":
        estimator = FrozenEstimator(LinearRegression().fit(X[::2], target[::2]))
    model = ConstrainedRegressorCV(estimator, MeanParity(ratio=0.95))
    predictions = [
        model.fit(
            X[order],
            target[order] + 10,
            sensitive_features=sex[order],
            sample_weight=weight[order],
            groups=ids[order],
        ).predict(X)
        for order in (np.arange(len(sex)), *draw_orders(len(sex)))
    ]
    np.testing.assert_array_equal(predictions, [predictions[0]] * 3)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rankers():
    X, _, sex, target = draw(240)
    query = np.arange(240) // 12
    grades = np.digitize(target, [0.0, 1.0])
    model = ConstrainedRankerCV(LinearRegression(), tolerance=0.1)
    scores = [
        model.fit(
            X[order], grades[order], query_id=query[order], sensitive_features=sex[order]
        ).predict(X)
        for order in (np.arange(240), *draw_orders(240))
    ]
    np.testing.assert_allclose(scores, [scores[0]] * 3, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_few_distinct_rows_text_and_other_containers():
    rng = np.random.default_rng(0)
    n = 600
    sex = rng.permutation(np.repeat(["f", "m"], n // 2))  # of equal size
    job = rng.choice(["clerk", "cook", "judge"], n)
    job[sex == "f"] = rng.choice(["clerk", "cook"], n // 2)
    age = rng.integers(1, 4, n)
    y = (age + (job == "clerk") + rng.normal(size=n) > 2.5).astype(int)
    frame = pd.DataFrame({"job": job, "age": age})
    model = ConstrainedClassifierCV(
        make_pipeline(OneHotEncoder(), LogisticRegression()), tolerance=0.05
    )
    expected = model.fit(frame, y, sensitive_features=sex).predict(frame)
    for order in draw_orders(n):
        model.fit(frame.iloc[order], y[order], sensitive_features=sex[order])
        np.testing.assert_array_equal(model.predict(frame), expected)
    # Names of groups, and the container, decide nothing either.
    model.fit(frame.to_numpy(dtype=object), y, sensitive_features=np.where(sex == "f", "z", "a"))
    np.testing.assert_array_equal(model.predict(frame.to_numpy(dtype=object)), expected)
    X = np.column_stack([job == "clerk", job == "judge", age]).astype(float)
    dense = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05)
    folds = [
        score_samples(dense, FitArguments(X=one, y=y, sensitive_features=sex), [], {}).rows
        for one in (X, X.astype(np.float32), pd.DataFrame(X), sparse.csr_array(X), X.tolist())
    ]
    for other in folds[1:]:
        np.testing.assert_array_equal(other, folds[0])


@pytest.mark.parametrize("cv", [KFold(3), TimeSeriesSplit(3)])
def test_splitters_of_the_user_get_the_order_that_was_passed(cv):
    X, y, sex, _ = draw(90)
    passed = []

    class Recorded(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            passed.append(X)
            return super().fit(X, y)

    model = ConstrainedClassifierCV(Recorded(), None, cv=cv)
    model.fit(X, y, sensitive_features=sex)
    for features, (train, _) in zip(passed, cv.split(X), strict=True):
        np.testing.assert_array_equal(features, X[train])


def test_samples_are_in_no_order_that_a_model_could_learn():
    X, y, sex, _ = draw(2000)
    arguments = FitArguments(X=X, y=y, sensitive_features=sex)
    model = ConstrainedClassifierCV(LogisticRegression())
    rows = score_samples(model, arguments, [], {}).rows
    position = np.arange(len(rows))
    for column in (*X[rows].T, y[rows], sex[rows] == "m", rows):
        assert abs(np.corrcoef(position, column)[0, 1]) < 3.5 / np.sqrt(len(rows))
