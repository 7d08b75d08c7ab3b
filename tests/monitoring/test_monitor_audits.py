"""GapMonitor.update_from: monitors of audits are those of the same samples as arrays."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.audit import Audit, SensitiveFeatures
from skfair.constraints import DemographicParity
from skfair.monitoring import GapMonitor


def draw_month(seed, n=400):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "race": rng.choice(["a", "b"], n)})
    return table, rng.integers(0, 2, n), rng.integers(0, 2, n)


def count(table, y_true, y_pred):
    rows = table.assign(y=y_true, d=y_pred)
    return rows.groupby([*rows], as_index=False).size().rename(columns={"size": "n"})


@pytest.mark.parametrize("constraint", ["equalized_odds", DemographicParity(attributes="each")])
def test_a_monitor_of_audits_and_one_of_counts_are_those_of_arrays(constraint):
    monitors = [GapMonitor(constraint, 0.1, run_length=20) for _ in range(3)]
    for time in range(5):
        table, y_true, y_pred = draw_month(time)
        monitors[0].update(y_true, y_pred, sensitive_features=table, time=time)
        audit = Audit.from_predictions(y_true, y_pred, sensitive_features=table)
        monitors[1].update_from(audit, time=time)
        names = {"y_true": "y", "y_pred": "d", "sensitive_features": ["sex", "race"]}
        counts = count(table, y_true, y_pred)
        monitors[2].update_from(Audit.from_counts(counts, counts="n", **names), time=time)
    states = [monitor.to_json() for monitor in monitors]
    assert states[0] == states[1] == states[2]


def test_samples_of_unknown_group_and_of_no_weight_are_left_out():
    table, y_true, y_pred = draw_month(0)
    sex = table["sex"].to_numpy(object)
    is_known = np.arange(400) >= 50
    sex[:50] = "n/a"
    weights = np.r_[np.ones(390), np.zeros(10)]
    known = SensitiveFeatures(sex, unknown=["n/a"])
    ids = np.array([f"applicant {i}" for i in range(400)])
    late = GapMonitor("equal_opportunity", 0.2)
    audit = Audit.from_predictions(None, y_pred, sensitive_features=known, sample_weight=weights)
    late.update_from(audit, ids=ids, time=1)
    counted = is_known & (weights > 0)
    assert late.outstanding_ids_ == ids[counted].tolist()
    late.update_labels(ids[counted], y_true[counted])
    plain = GapMonitor("equal_opportunity", 0.2)
    plain.update(None, y_pred[counted], sensitive_features=sex[counted], ids=ids[counted], time=1)
    plain.update_labels(ids[counted], y_true[counted])
    assert late.summary().equals(plain.summary()) and late.summary()["n_outstanding"].iloc[-1] == 0


def test_the_features_of_an_audited_model_make_strata():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (600, 1)).astype(float)
    sex = rng.choice(["f", "m"], 600)
    y = rng.integers(0, 2, 600)
    model = LogisticRegression().fit(X, y)
    constraint = DemographicParity(control_features=0)
    audit = Audit.from_estimator(model, X, y, sensitive_features=sex)
    from_audit = GapMonitor(constraint, 0.1).update_from(audit)
    from_arrays = GapMonitor(constraint, 0.1).update(
        None, model.predict(X), sensitive_features=sex, X=X
    )
    assert from_audit.to_frame().equals(from_arrays.to_frame())


TABLE, Y_TRUE, Y_PRED = draw_month(1)


@pytest.mark.parametrize(
    ("data", "params", "match"),
    [
        ({"min_group_size": 5}, {}, "min_group_size of an audit must be that of the monitor"),
        ({"pos_label": 0}, {}, "pos_label of an audit must be .* which is 1, but is 0"),
        ({}, {"pos_label": 0}, "pos_label of an audit must be .* which is 0, but is 1"),
    ],
)
def test_an_audit_of_another_question_is_refused(data, params, match):
    audit = Audit.from_predictions(Y_TRUE, Y_PRED, sensitive_features=TABLE["sex"], **data)
    with pytest.raises(ValueError, match=match):
        GapMonitor("demographic_parity", 0.1, **params).update_from(audit)


def test_groups_that_are_modelled_counts_with_ids_and_scores_are_refused():
    sex = TABLE["sex"].to_numpy(object, copy=True)
    sex[:100] = None
    modelled = SensitiveFeatures(sex, missing="at_random", X=np.c_[Y_TRUE])
    audit = Audit.from_predictions(Y_TRUE, Y_PRED, sensitive_features=modelled)
    monitor = GapMonitor("equal_opportunity", 0.1)
    with pytest.raises(ValueError, match="missing='at_random' models them"):
        monitor.update_from(audit)
    counts = count(TABLE, Y_TRUE, Y_PRED)
    audit = Audit.from_counts(counts, counts="n", sensitive_features="sex", y_pred="d")
    with pytest.raises(ValueError, match="ids name single samples"):
        monitor.update_from(audit, ids=np.arange(400))
    audit = Audit.from_predictions(None, None, y_score=Y_PRED / 3, sensitive_features=TABLE)
    with pytest.raises(ValueError, match="scores without decisions"):
        monitor.update_from(audit)
    assert not hasattr(monitor, "verdict_")


@pytest.mark.parametrize("size", [0, 2.5, True])
def test_a_size_that_is_no_positive_integer_is_refused(size):
    monitor = GapMonitor("demographic_parity", 0.1, min_group_size=size)
    with pytest.raises(ValueError, match="min_group_size must be a positive whole number"):
        monitor.update(None, Y_PRED, sensitive_features=TABLE["sex"])
