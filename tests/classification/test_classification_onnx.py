"""Linear classifiers exported to ONNX through scikit-learn, as the page on deployment does."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.classification import ConstrainedClassifierCV, ConstrainedERMClassifier
from skfair.datasets import load_patients

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

PAGE = Path(__file__).parents[2] / "doc" / "deploying.rst"
ROUNDING = 1e-4
"""How far a score in single precision may lie from the classifier's; no score is as near to 0."""


def run(content, X):
    """Return what the runtime computes of samples: labels, then scores or probabilities."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: X})


@pytest.fixture(scope="module")
def patients():
    data = load_patients(drop_sensitive=True)
    return data.data.to_numpy(dtype="float32"), data.target > 140, data.sensitive_features


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_the_runtime_decides_and_scores_as_the_classifier(patients, loss):
    X, high, sex = patients
    y = np.where(high, "high", "low")
    fitted = ConstrainedERMClassifier(tolerance=0.05, loss=loss, pos_label="high")
    fitted = fitted.fit(X, y, sensitive_features=sex)
    options = {"zipmap": False} if loss == "logistic" else None  # arrays in place of dictionaries
    graph = skl2onnx.to_onnx(fitted.to_sklearn(), X[:1], options=options)
    labels, scores = run(graph.SerializeToString(), X)
    expected = fitted.decision_function(X)
    assert np.abs(expected).min() > ROUNDING
    assert set(labels) == {"high", "low"}
    np.testing.assert_array_equal(labels, fitted.predict(X))
    if loss == "logistic":
        np.testing.assert_allclose(scores, fitted.predict_proba(X), atol=1e-6)
    else:
        np.testing.assert_allclose(scores[:, -1], expected, rtol=0, atol=ROUNDING)


def test_the_code_of_the_guide_exports_a_classifier_with_equal_decisions(patients):
    text = PAGE.read_text(encoding="utf-8")
    block, _ = re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text)
    assert "to_onnx" in block
    _, y, sex = patients
    X = load_patients(drop_sensitive=True).data
    linear = ConstrainedERMClassifier(tolerance=0.05).fit(X, y, sensitive_features=sex)
    names = {"served": linear.to_sklearn(), "X": X}
    exec(re.sub(r"^   ", "", block, flags=re.MULTILINE), names)
    labels = run(names["content"], X.to_numpy(dtype="float32"))[0]
    np.testing.assert_array_equal(labels, linear.predict(X))


def test_the_code_of_the_guide_serves_the_rule_around_any_model():
    text = PAGE.read_text(encoding="utf-8")
    _, block = re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text)
    data = load_patients(drop_sensitive=True)
    fair = ConstrainedClassifierCV(LogisticRegression(max_iter=1000), tolerance=0.05)
    fair.fit(data.data, data.target > 140, sensitive_features=data.sensitive_features)
    names = {"fair": fair, "X": data.data}
    exec(re.sub(r"^   ", "", block, flags=re.MULTILINE), names)
    np.testing.assert_array_equal(names["label"], fair.predict(data.data))
    expected = fair.predict_proba(data.data)
    np.testing.assert_allclose(names["probabilities"], expected, rtol=0, atol=1e-6)
