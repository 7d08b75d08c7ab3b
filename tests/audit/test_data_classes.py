"""Truth and predictions whose classes are written in different words."""

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit
from skfair.metrics import group_report
from skfair.plotting import GroupRateDisplay

SEX = ["f", "m"] * 40
OUTCOMES = ["yes", "no", "no", "yes"] * 20
DECISIONS = ["high", "low"] * 40

NOTHING_SHARED = "classes in common, but .* has 'no', 'yes' and .* has 'high', 'low'"


@pytest.mark.parametrize("pos_label", [None, "yes", "high"])
def test_an_audit_of_predictions_without_a_class_of_the_truth_is_refused(pos_label):
    with pytest.raises(ValueError, match=NOTHING_SHARED):
        Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=SEX, pos_label=pos_label)


def test_metrics_refuse_predictions_without_a_class_of_the_truth():
    arguments = (OUTCOMES, DECISIONS)
    with pytest.raises(ValueError, match=NOTHING_SHARED):
        group_report(*arguments, sensitive_features=SEX, pos_label="yes")
    pytest.importorskip("matplotlib").use("Agg")
    with pytest.raises(ValueError, match=NOTHING_SHARED):
        GroupRateDisplay.from_predictions(*arguments, sensitive_features=SEX, pos_label="yes")


def test_a_command_names_the_columns_and_the_option(tmp_path, capsys):
    path = tmp_path / "risk.csv"
    pd.DataFrame({"recid": OUTCOMES, "risk": DECISIONS, "sex": SEX}).to_csv(path, index=False)
    columns = ["--prediction", "risk", "--target", "recid", "--sensitive", "sex"]
    with pytest.raises(SystemExit):
        main(["report", str(path), *columns, "--json", "-"])
    message = capsys.readouterr().err
    assert "'risk' has 'high', 'low' and 'recid' has 'no', 'yes'" in message
    assert "--positive LABEL --positive yes" in message
    # The option makes them comparable: half of the decisions are right.
    named = ["--positive", "high", "--positive", "yes", "--out", str(tmp_path / "report.json")]
    main(["report", str(path), *columns, *named])
    assert "accuracy 50 %" in capsys.readouterr().out


@pytest.mark.parametrize("predicted", [[1] * 80, [0] * 40 + [1] * 40])
def test_predictions_that_are_all_wrong_are_audited(predicted):
    truth = 1 - np.array(predicted)
    audit = Audit.from_predictions(truth, predicted, sensitive_features=SEX)
    rates = audit.report().to_frame().set_index(["metric", "group"])["estimate"]
    assert rates["accuracy", "overall"] == 0.0


def test_few_samples_of_many_classes_may_all_be_wrong():
    truth, predicted = ["a", "b", "c"], ["d", "e", "f"]
    audit = Audit.from_predictions(truth, predicted, sensitive_features=["u", "u", "v"])
    rates = audit.report().to_frame().set_index(["metric", "group"])["estimate"]
    assert rates["accuracy", "overall"] == 0.0
