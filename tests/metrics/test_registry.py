import pickle
from dataclasses import FrozenInstanceError

import pytest

from skfair import metrics
from skfair.metrics import METRICS, Metric, get_scorer


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
    labels, group = [0, 0, 0, 1, 1, 1], list("aabaab")
    assert METRICS["balance"](labels, sensitive_features=group) == 0.5
    assert METRICS["relative_balance"](labels, sensitive_features=group) == 1
