"""Calls in eight threads at once give the results and warnings of one thread, and change nothing.

A service, ``asyncio.to_thread`` and the threads of Dask and joblib make such calls.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier

import numpy as np
import pytest
import sklearn.metrics as sk
from sklearn.tree import DecisionTreeClassifier

from skfair.audit import Audit
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
)
from skfair.cluster import FairKMeans
from skfair.metrics import GroupMetric, group_report

RNG = np.random.default_rng(0)
N = 120
GROUPS = RNG.integers(2, size=N)
X = RNG.normal(size=(N, 2)) + GROUPS[:, np.newaxis]
Y = (X.sum(axis=1) + RNG.logistic(size=N) > 1.0).astype(int)
FITTED = FairKMeans(3, random_state=0, n_init=1).fit(X, sensitive_features=GROUPS)

UNDEFINED = [
    sk.precision_score,
    sk.recall_score,
    sk.balanced_accuracy_score,
    GroupMetric(sk.average_precision_score, response_method="decision_function"),
]
"""Functions that have no value of a group without positives."""


def fit(estimator, method):
    fitted = estimator.fit(X, Y, sensitive_features=GROUPS)
    return getattr(fitted, method)(X)


def report_gaps():
    audit = Audit.from_predictions(Y, X[:, 0] > 0, sensitive_features=GROUPS, min_group_size=1)
    return audit.report().gaps.drop(columns="verdict", errors="ignore").select_dtypes("number")


def report_undefined():
    nothing = np.where(GROUPS == 0, 0, Y)
    return group_report(
        nothing, nothing, y_score=X[:, 0], sensitive_features=GROUPS, metrics=UNDEFINED
    )


TASKS = [
    partial(fit, ConstrainedERMClassifier(tolerance=0.05), "decision_function"),
    partial(fit, FairKMeans(3, random_state=1, n_init=1), "predict"),
    report_gaps,
    report_undefined,
    partial(
        fit,
        ConstrainedClassifierCV(DecisionTreeClassifier(max_depth=2), tolerance=1e-4, cv=2),
        "predict",
    ),
    partial(fit, PartialParityClassifier(tolerance=0.2), "decision_function"),
    partial(FITTED.predict, X),
    report_undefined,
]
"""Functions without arguments, one for each thread."""


def run_in_threads(n_rounds):
    """Results of each task in each round, of threads that begin a round together."""
    barrier = Barrier(len(TASKS))

    def run(thread):
        results = []
        for number in range(n_rounds):
            barrier.wait()
            task = (thread + number) % len(TASKS)
            results.append((task, TASKS[task]()))
        return results

    with ThreadPoolExecutor(len(TASKS)) as pool:
        return [result for results in pool.map(run, range(len(TASKS))) for result in results]


@pytest.mark.parametrize("n_rounds", [1, pytest.param(24, marks=pytest.mark.slow)])
def test_threads_have_the_results_and_warnings_of_one_thread(n_rounds):
    with warnings.catch_warnings(record=True) as of_one_thread:
        warnings.simplefilter("always")
        expected = [task() for task in TASKS]
    with warnings.catch_warnings(record=True) as of_threads:
        warnings.simplefilter("always")
        filters = list(warnings.filters)
        results = run_in_threads(n_rounds)
        added = [one for one in warnings.filters if one not in filters]
    assert len(results) == n_rounds * len(TASKS)
    for task, result in results:
        np.testing.assert_array_equal(result, expected[task])
    messages = {str(one.message) for one in of_one_thread}
    assert {str(one.message) for one in of_threads} == messages
    assert len(messages) >= 1
    # Checks of scikit-learn turn warnings of numpy into errors, in filters of the process.
    assert {action for action, *_ in added} <= {"error"}


def test_functions_that_are_undefined_have_no_value_in_one_thread():
    report = report_undefined()
    assert report.iloc[0, 1:].isna().all() and report.iloc[1, 1:].notna().all()
