"""What users see who pass another thing than what a call takes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score

from skfair.__main__ import main
from skfair.audit import Audit, FairnessReport, certify_in_order
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    suggest_interval,
)
from skfair.cluster import FairKMeans, FairKMedoids, cluster_front
from skfair.constraints import DemographicParity, check_constraint
from skfair.datasets import load_patients, make_fair_sbm
from skfair.losses import HingeLoss, QuantileLoss
from skfair.metrics import (
    GroupMetric,
    accuracy_score_difference,
    expected_calibration_error,
    exposure_difference,
    normalized_cut,
    ranking_parity_difference,
)
from skfair.model_selection import fit_ladder
from skfair.monitoring import GapMonitor
from skfair.preprocessing import reweighing_weights
from skfair.ranking import rerank
from skfair.regression import ConstrainedERMRegressor, ConstrainedRegressorCV
from skfair.statistics import gap_interval

RNG = np.random.default_rng(0)
GROUP = np.tile(["a", "b"], 60)
X = pd.DataFrame(RNG.normal(size=(120, 3)), columns=["age", "income", "debt"])
Y = (X["age"] + (GROUP == "a") > 0.3).astype(int)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("estimator", [ConstrainedERMClassifier(tolerance=1.0), FairKMeans(2)])
def test_one_sample_as_a_dict_is_sent_to_a_table(estimator):
    estimator.fit(X, Y, sensitive_features=GROUP)
    with pytest.raises(TypeError, match=r"pass pd\.DataFrame\(\[X\]\) if this is one sample"):
        estimator.predict(dict(X.iloc[0]))


@pytest.mark.parametrize("estimator", [ConstrainedERMClassifier(), FairKMeans(2)])
def test_dates_in_features_are_named(estimator):
    dated = X.assign(day=pd.date_range("2020-01-01", periods=120))
    with pytest.raises(TypeError, match=r"^X has dates or times in 1 column\(s\): 'day'"):
        estimator.fit(dated, Y, sensitive_features=GROUP)


@pytest.mark.filterwarnings("ignore")
def test_stacks_without_a_final_estimator_are_taken():
    stack = StackingClassifier([("one", LogisticRegression())])
    model = ConstrainedClassifierCV(stack, tolerance=1.0).fit(X, Y, sensitive_features=GROUP)
    assert model.status_ == "optimal"
    stack = StackingRegressor([("one", Ridge())])
    model = ConstrainedRegressorCV(stack, tolerance=9.0).fit(X, Y, sensitive_features=GROUP)
    assert model.status_ == "optimal"


def test_a_column_that_is_called_name_is_a_column():
    """Labels in tables of one column, which pandas has as an attribute too."""
    table = pd.DataFrame({"name": Y})
    audit = Audit.from_predictions(table, Y, sensitive_features=GROUP)
    assert audit.report().gaps.equals(AUDIT.report().gaps)
    assert AUDIT.compare(table).gaps.equals(AUDIT.compare(Y).gaps)


def test_a_table_of_predictions_is_refused_as_a_change():
    audit = Audit.from_predictions(Y, Y, sensitive_features=GROUP)
    with pytest.raises(ValueError, match="after should be a 1d array"):
        audit.compare(X)


TABLE = pd.DataFrame({"sex": GROUP, "hired": np.where(Y, "yes", "no")})
FILES = {
    "pandas.json": (TABLE.to_json().encode(), r"to_json\(orient='records'\)"),
    "utf32.csv": (TABLE.to_csv(index=False).encode("utf-32"), "--encoding utf-32"),
    "excel.csv": (b"sep=;\n" + TABLE.to_csv(index=False, sep=";").encode(), "'sep=;'. Delete"),
    "comment.csv": (b"# by HR\n" + TABLE.to_csv(index=False).encode(), "'# by HR'. Delete"),
    "table.xml": (b'<?xml version="1.0"?>\n<rows/>\n', 'it is XML; save the table as "CSV UTF-8"'),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_commands_do_not_read(name, tmp_path, capsys):
    content, message = FILES[name]
    (tmp_path / name).write_bytes(content)
    command = f"report {tmp_path / name} --prediction hired --sensitive sex --positive yes"
    with pytest.raises(SystemExit) as stop:
        main(command.split())
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert message.replace("\\", "") in error and len(error) < 600


def fit_zones(connectivity):
    return FairKMedoids(2).fit(X, sensitive_features=GROUP, connectivity=connectivity)


COLUMN = X["age"].to_numpy()
QUERY = np.repeat(np.arange(12), 10)
AUDIT = Audit.from_predictions(Y, Y, sensitive_features=GROUP)
WRONG_CALLS = {
    "ragged labels": (
        lambda: accuracy_score_difference([[1], [1, 2]] * 60, Y, sensitive_features=GROUP),
        "y_true must hold one value or label for each sample, but its rows differ in length",
    ),
    "ragged table": (
        lambda: FairKMeans(2).fit([[1], [1, 2]] * 60, sensitive_features=GROUP),
        r"^X must hold numbers, but it holds \[1\] in row 0",
    ),
    "generator": (
        lambda: Audit.from_predictions((one for one in Y), Y, sensitive_features=GROUP),
        r"y_true must be in memory, but it is a generator, .*Pass list\(y_true\)",
    ),
    "generator in a monitor": (
        lambda: GapMonitor("demographic_parity", 0.1).update(
            None, (one for one in Y), sensitive_features=GROUP
        ),
        r"Pass list\(y_pred\)",
    ),
    "weights of other samples": (
        lambda: accuracy_score_difference(
            Y, Y, sensitive_features=GROUP, sample_weight=np.ones(119)
        ),
        "sample_weight must have one weight for each of the 120 samples, but has 119",
    ),
    "missing weights": (
        lambda: accuracy_score_difference(
            Y, Y, sensitive_features=GROUP, sample_weight=np.where(COLUMN > 0, np.nan, 1.0)
        ),
        "Input sample_weight contains NaN in .* row.*or leave them out",
    ),
    "text as a width": (
        lambda: ConstrainedERMClassifier(loss=HingeLoss(width="0.1")).fit(X, Y),
        "The 'width' parameter of HingeLoss must be a float",
    ),
    "a quantile in percent": (
        lambda: ConstrainedERMRegressor(loss=QuantileLoss(50)).fit(X, COLUMN),
        "The 'quantile' parameter of QuantileLoss must be a float in the range",
    ),
    "text as a share": (
        lambda: suggest_interval(COLUMN, sensitive_features=GROUP, width="0.2"),
        "width must be a number; got '0.2'",
    ),
    "values of a ladder": (
        lambda: fit_ladder(ConstrainedERMClassifier(), X, Y, values=len),
        "values must be a list with a value for each fit; got <built-in function len>",
    ),
    "audits by tolerance": (
        lambda: certify_in_order({0.1: Audit.from_predictions(Y, Y, sensitive_features=GROUP)}),
        "audits must be a list of audits, one for each model; got 0.1",
    ),
    "a function as a path": (
        lambda: Audit.from_file(len, {"sensitive_features": "sex"}),
        "path must be the name of a file or a pathlib.Path",
    ),
    "a number as JSON": (
        lambda: FairnessReport.from_json(3),
        "source must be the JSON that FairnessReport.to_json returned",
    ),
    "text as a degree": (
        lambda: make_fair_sbm(average_degree="many"),
        "The 'average_degree' parameter of make_fair_sbm must be a float",
    ),
    "text as a switch": (
        lambda: load_patients(return_X_y="yes"),
        "return_X_y must be True or False; got 'yes'",
    ),
    "facts in a list": (
        lambda: Audit.from_predictions(Y, Y, sensitive_features=GROUP, source=["2025"]),
        r"source must be a dict of str to str, .*; got \['2025'\]",
    ),
    "a number as a fact": (
        lambda: Audit.from_predictions(Y, Y, sensitive_features=GROUP, source={"year": 2025}),
        "source must be a dict of str to str",
    ),
    "a number as a title": (lambda: AUDIT.report(title=3), "title must be a str; got 3"),
    "text as a switch of a report": (
        lambda: AUDIT.report(by_threshold="no"),
        "by_threshold must be True or False; got 'no'",
    ),
    "text as a switch of a page": (
        lambda: AUDIT.report().to_html(interactive="no"),
        "interactive must be True or False; got 'no'",
    ),
    "a ledger in memory": (
        lambda: AUDIT.certify("demographic_parity", 0.5, ledger={}),
        r"ledger must be the name of a file or a pathlib.Path; got \{\}",
    ),
    "a column by position": (
        lambda: Audit.from_counts(TABLE.assign(n=1), counts=2, sensitive_features="sex"),
        "counts must be the name of a column, as a str; got 2",
    ),
    "a text as a table": (
        lambda: Audit.from_counts("counts.csv", counts="n", sensitive_features="sex"),
        "table must be a table with a row for each combination of values",
    ),
    "a name by number": (
        lambda: GroupMetric(accuracy_score, name=3),
        "name must be a str; got 3",
    ),
    "a ladder of a class": (
        lambda: fit_ladder(ConstrainedERMClassifier, X, Y),
        "estimator must be an object with get_params and fit",
    ),
    "a ladder of a dict": (
        lambda: fit_ladder(ConstrainedERMClassifier(), X, Y, values={0.9: "tight"}),
        "values must be a list with a value for each fit",
    ),
    "two parameters of a ladder": (
        lambda: fit_ladder(ConstrainedERMClassifier(), X, Y, parameter=["tolerance"]),
        "parameter must be one of ConstrainedERMClassifier",
    ),
    "a ladder of a model that clones lose": (
        lambda: fit_ladder(
            ConstrainedClassifierCV(LogisticRegression().fit(X, Y), cv="prefit"),
            X,
            Y,
            sensitive_features=GROUP,
        ),
        r"estimator must be fitted where cv='prefit'.*FrozenEstimator\(estimator\)",
    ),
    "a margin in percent": (
        lambda: AUDIT.alternatives({"other": Y}, margin=5),
        "margin must be at most 1 for the accuracy, .* Pass a fraction, such as 0.01",
    ),
    "edges that are missing": (
        lambda: fit_zones(np.where(np.eye(120) > 0, np.nan, 1.0)),
        "connectivity must hold finite numbers, of which those other than 0 are edges",
    ),
    "complex edges": (lambda: fit_zones(1j * np.ones((120, 120))), "Complex data not supported"),
    "neighbours in three dimensions": (
        lambda: fit_zones(np.ones((120, 120, 1))),
        r"connectivity must have the shape \(n_samples, n_samples\), but is \(120, 120, 1\)",
    ),
    "one number as a graph": (lambda: fit_zones(5), r"connectivity must have .* but is \(\)"),
    "a range from above": (
        lambda: gap_interval(COLUMN, sensitive_features=GROUP, value_range=(1, 0)),
        r"value_range must be two numbers, the smaller first, or None; got \(1, 0\)",
    ),
    "a range of one number": (
        lambda: gap_interval(COLUMN, sensitive_features=GROUP, value_range=1),
        "value_range must be two numbers, the smaller first, or None; got 1",
    ),
    "scores as queries": (
        lambda: rerank(QUERY, COLUMN, sensitive_features=GROUP, k=5),
        "query_id must hold labels, .* it holds .* exchange the arguments",
    ),
    "scores as queries of a metric": (
        lambda: exposure_difference(QUERY, sensitive_features=GROUP, query_id=COLUMN),
        "query_id must hold labels, .* exchange the arguments",
    ),
    "more documents than ranks": (
        lambda: rerank(COLUMN, QUERY, sensitive_features=GROUP, k=5, minimum={"a": 50}),
        "minimum must not exceed k=5, but does for 'a': 50 and 5",
    ),
    "pairs below one": (
        lambda: ranking_parity_difference(Y, COLUMN, sensitive_features=GROUP, min_pairs=-1),
        "min_pairs must be a number of pairs of at least 1; got -1",
    ),
    "a constraint by its class": (
        lambda: check_constraint(DemographicParity),
        r"constraint must be an instance of a Constraint, .*\(\); got DemographicParity",
    ),
    "a front of a class": (
        lambda: cluster_front(FairKMeans, X, sensitive_features=GROUP),
        r"estimator must be one of FairKMeans\(\), .*; got <class .*FairKMeans'>",
    ),
    "a graph of other nodes": (
        lambda: normalized_cut(Y, np.ones((5, 5))),
        r"inconsistent numbers of samples: \[120, 5\], of labels, affinity",
    ),
    "negative similarities": (
        lambda: normalized_cut(Y, -np.ones((120, 120))),
        "affinity must not be negative, but its minimum is -1. Clip it at 0",
    ),
    "probabilities of three classes": (
        lambda: expected_calibration_error(Y, np.full((120, 3), 1 / 3)),
        r"y_proba should be a 1d array, got an array of shape \(120, 3\)",
    ),
    "a burden by name": (
        lambda: Audit.from_predictions(Y, Y, sensitive_features=GROUP, burden="no"),
        "burden must be True or False; got 'no'",
    ),
}
"""Calls that fail, and what the message says of the argument."""


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_messages_name_the_argument_and_what_it_must_be(name):
    call, message = WRONG_CALLS[name]
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_real_target_where_classes_are_needed_is_named():
    with pytest.raises(ValueError, match=r"y must hold labels, .* it holds 0.5 .* y > threshold"):
        reweighing_weights([1.0, 0.5, 2.0], sensitive_features=["a", "b", "a"])


def test_a_number_of_folds_is_said_once():
    model = ConstrainedClassifierCV(LogisticRegression(), cv=1)
    with pytest.raises(ValueError, match="must be an int in the range") as error:
        model.fit(X, Y, sensitive_features=GROUP)
    assert str(error.value).count("an int") == 1
