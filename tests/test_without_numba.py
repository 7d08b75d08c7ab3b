"""Where numba is blocked: imports and audits need none, and fits interpret their kernels."""

import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numba
import pytest

import skfair
from skfair._names import SUBMODULES

HOME = Path(skfair.__file__).parent

START = """
import sys
import warnings

sys.modules["numba"] = None
import numpy as np

rng = np.random.default_rng(0)
sex = rng.choice(["f", "m"], 300)
X = np.column_stack([rng.normal(size=300), rng.normal(size=300) + (sex == "m")])
y = (X.sum(axis=1) + rng.logistic(size=300) > 0.5).astype(int)
groups = {"sensitive_features": sex}
"""
"""Draws data in a process that has no numba."""

AUDITS = """
from skfair.audit import Audit, certify_in_order, verify
from skfair.monitoring import GapMonitor

predicted = (X[:, 0] > 0).astype(int)
audit = Audit.from_predictions(y, predicted, y_score=X[:, 0], **groups)
assert "<html" in audit.report().to_html()
claim = audit.certify(tolerance=0.5)
assert verify(claim.to_json(), audit) == []
assert certify_in_order([audit], tolerance=0.5)[0] == 0
assert audit.certify("mean_parity", 5.0).verdict in ("shown", "open")
assert len(audit.subgroups().searches)
assert len(audit.compare(1 - predicted).gaps)
counts = audit.report().frame
monitor = GapMonitor("demographic_parity", 0.5)
monitor.update(y, predicted, **groups)
print("audited")
"""

FITS = """
from sklearn.linear_model import LogisticRegression
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
)
from skfair.cluster import FairKMeans, FairSpectralClustering
from skfair.regression import ConstrainedERMRegressor

fits = [
    ConstrainedERMClassifier(tolerance=0.1),
    ConstrainedClassifierCV(LogisticRegression(), tolerance=0.1),
    PartialParityClassifier(tolerance=0.1),
    ConstrainedERMRegressor(tolerance=0.1),
    FairKMeans(3, min_balance=0.8, random_state=0),
    FairSpectralClustering(3, random_state=0),
]
results = []
for estimator in fits:
    estimator.fit(X[:120], y[:120], sensitive_features=sex[:120])
    fitted = getattr(estimator, "labels_", None)
    results.append((fitted if fitted is not None else estimator.predict(X)).tolist())
print(results)
"""


def run(code, *, path=None, blocks_numba=True):
    """Standard output and error of Python code in a process of its own."""
    start = START if blocks_numba else START.replace('sys.modules["numba"] = None', "")
    where = "" if path is None else f"import sys; sys.path.insert(0, {str(path)!r})\n"
    command = [sys.executable, "-c", where + start + textwrap.dedent(code)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, cwd=HOME.parent if not path else "/"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_audits_and_imports_need_no_numba():
    names = [name for name in SUBMODULES if name != "torch"]
    imports = "".join(f"import skfair.{name}\n" for name in names)
    mark = 'print("imports", file=sys.stderr)\n'
    printed, warned = run(AUDITS + mark + imports + "skfair.show_versions()")
    printed, _, versions = printed.partition("\n")
    assert printed == "audited"
    # One warning, by the kernels of clusterings, whatever is imported.
    by_audits, _, by_imports = warned.partition("imports\n")
    assert by_audits == "" and by_imports.count("numba cannot be imported") == 1
    assert re.search(rf"^ *numba: {numba.__version__}$", versions, flags=re.MULTILINE)


@pytest.mark.slow
def test_fits_without_numba_are_equal():
    interpreted, _ = run(FITS)
    compiled, _ = run(FITS, blocks_numba=False)
    assert interpreted == compiled


@pytest.mark.slow
def test_the_package_works_in_an_archive(tmp_path):
    archive = tmp_path / "skfair.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in HOME.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                file.write(path, Path("skfair") / path.relative_to(HOME))
    code = """
    import skfair.losses
    import skfair.metrics

    assert skfair.__file__.startswith(sys.path[0])
    assert not hasattr(skfair.metrics, "no_such")
    assert getattr(skfair.losses, "x", None) is None
    assert not hasattr(skfair.losses, "float")
    assert not hasattr(skfair.metrics, "FairKMeans")
    """
    printed, _ = run(textwrap.dedent(code) + AUDITS, path=archive)
    assert printed == "audited\n"
