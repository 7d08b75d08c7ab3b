"""Linear classifiers exported to ONNX through scikit-learn."""

import numpy as np
import pytest

from skfair.classification import ConstrainedERMClassifier
from skfair.datasets import load_patients

skl2onnx = pytest.importorskip("skl2onnx")
onnxruntime = pytest.importorskip("onnxruntime")

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
