import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

from skfair import metrics
from skfair.audit import SensitiveFeatures
from skfair.metrics import METRICS, class_report, get_scorer
from skfair.metrics._registry import Metric
from skfair.statistics import gap_interval


def test_records_are_frozen_and_picklable():
    record = METRICS["relative_balance"]
    with pytest.raises(FrozenInstanceError):
        record.best = 0
    assert pickle.loads(pickle.dumps(record)) == record


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_is_public_and_has_a_scorer(name):
    record = METRICS[name]
    assert isinstance(record, Metric)
    assert getattr(metrics, record.function.__name__) is record.function
    scorer = get_scorer(name if record.greater_is_better else f"neg_{name}")
    assert scorer.metric == name


def test_a_record_fills_in_its_parameters():
    labels = [0, 0, 0, 1, 1, 1]
    group = list("aabaab")
    assert METRICS["balance"](labels, sensitive_features=group) == 0.5
    assert METRICS["relative_balance"](labels, sensitive_features=group) == 1


def predictions(kind, n=400):
    """Positional arguments of a metric of a kind."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    decided = rng.integers(2, size=n)
    scores = rng.normal(size=n)
    return {
        "clustering": (decided,),
        "regression": (scores, rng.normal(size=n)),
        "classification": (y, decided),
        "score": (scores,),
        "decision": (scores,),
        "labelled_decision": (y, scores),
        "labelled_margin": (y, scores),
    }[kind]


@pytest.mark.parametrize("name", METRICS)
def test_tables_of_one_column_are_columns(name):
    metric = METRICS[name]
    groups = np.arange(400) % 3
    columns = predictions(metric.kind)
    expected = metric(*columns, sensitive_features=groups)
    tables = [pd.DataFrame({"column": column}) for column in columns]
    assert metric(*tables, sensitive_features=pd.DataFrame({"g": groups})) == expected
    assert metric(*(table.to_numpy() for table in tables), sensitive_features=groups) == expected


def test_reports_by_class_take_tables_of_one_column():
    y, decided = predictions("classification")
    grouped = {"sensitive_features": np.arange(400) % 3}
    tables = [pd.DataFrame({"column": column}) for column in (y, decided)]
    expected = class_report(y, decided, **grouped)
    pd.testing.assert_frame_equal(class_report(*tables, **grouped), expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("name", METRICS)
def test_measurements_as_groups_are_refused(name):
    """Forty ages are no groups; as text they may be names."""
    metric = METRICS[name]
    ages = pd.Series(20 + np.arange(400) % 40, name="age")
    columns = predictions(metric.kind)
    refusal = r"'age' .* 40 different numbers, from 20 to 59, but .*bins=\{'age': \[40, 65\]\}"
    with pytest.raises(ValueError, match=refusal):
        metric(*columns, sensitive_features=ages)
    metric(*columns, sensitive_features=ages.astype(str))
    binned = SensitiveFeatures(ages, bins={"age": [40]}).bin_labels()
    by_hand = np.where(ages < 40, "young", "old")
    values = [metric(*columns, sensitive_features=one) for one in (binned, by_hand)]
    assert values[0] == pytest.approx(values[1], nan_ok=True)


def test_thirty_numbers_may_be_groups():
    values = np.tile([0, 1, 1], 100)
    gap_interval(values, sensitive_features=np.arange(300) % 30)
    with pytest.raises(ValueError, match="has 31 different numbers"):
        gap_interval(values, sensitive_features=np.arange(300) % 31)


@pytest.mark.parametrize("name", METRICS)
def test_no_value_exceeds_the_largest_one(name):
    """Separation and sufficiency are sums of two differences."""
    metric = METRICS[name]
    groups = np.arange(400) % 2
    columns = predictions(metric.kind)
    # Predictions depend on the group, and classes nearly do.
    columns = (*columns[:-1], np.where(np.arange(400) < 390, groups, columns[-1]))
    assert metric(*columns, sensitive_features=groups) <= metric.largest
    assert (metric.largest == 2.0) == (name in ("separation_gap", "sufficiency_gap"))
    assert metric.largest in (1.0, 2.0, np.inf)
