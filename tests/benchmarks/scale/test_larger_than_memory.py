"""The data of the benchmark beyond memory need a constraint and a balance."""

import pytest

pytest.importorskip("distributed")

from benchmarks.scale.larger_than_memory import (
    BALANCE,
    CLUSTER_FEATURES,
    FEATURES,
    TOLERANCE,
    draw_samples,
)
from skfair.classification import ConstrainedERMClassifier
from skfair.cluster import FairKMeans


def test_plain_fits_keep_neither_tolerance_nor_balance():
    table = draw_samples(5000, seed=0)
    plain = ConstrainedERMClassifier(None).fit(table[FEATURES], table["success"])
    decided = plain.predict(table[FEATURES])
    rates = table.assign(decided=decided).groupby("sex")["decided"].mean()
    assert rates[1] - rates[0] > 2 * TOLERANCE
    clusters = FairKMeans(10, min_balance=None, random_state=0)
    clusters.fit(table[CLUSTER_FEATURES], sensitive_features=table["sex"])
    assert clusters.relative_balance_ < 0.75 * BALANCE
