"""What users see who pass another thing than what a call takes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from skfair.__main__ import main
from skfair.audit import Audit
from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.cluster import FairKMeans
from skfair.regression import ConstrainedRegressorCV

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
