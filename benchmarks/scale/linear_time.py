"""Time of linear classifiers under demographic parity, in plain fits of scikit-learn."""

from functools import partial
from statistics import median

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures, normalize
from sklearn.random_projection import GaussianRandomProjection

from benchmarks.erm_cases import Split, case
from benchmarks.sizes import smallest
from benchmarks.tables import Check, Report
from benchmarks.timing import run_alternately
from skfair.classification import ConstrainedERMClassifier

CASES = {  # name: (samples, columns, tolerance, maximum of plain fits)
    "embedding, 3,000 x 768": (3000, 768, 0.03, 8.0),
    "embedding, 20,000 x 384": (20_000, 384, 0.03, 5.0),
    "normal, 10,000 x 20": (10_000, 20, 0.05, 8.0),
    "normal, 1,000 x 5": (1000, 5, 0.02, 6.0),
}
N_REPEATS = 3
"""Runs of each case and seed of the budget."""


@smallest(CASES={"embedding": (280, 220, 0.03, 8.0), "normal": (300, 5, 0.02, 6.0)}, N_REPEATS=1)
def linear_time(budget):
    """ConstrainedERMClassifier against LogisticRegression; x: median of time / plain fit."""
    records, checks = [], []
    for name, (n_samples, n_columns, tolerance, bound) in CASES.items():
        draw = _embed if name.startswith("embedding") else _generate
        samples = draw(n_samples, n_columns)
        # Embeddings are fitted with the penalty of LogisticRegression, others with defaults.
        penalty = {"alpha": 1.0 / n_samples} if draw is _embed else {}
        models = {
            "plain": LogisticRegression(max_iter=1000),
            "fair": ConstrainedERMClassifier(tolerance=tolerance, **penalty),
        }
        contenders = {key: partial(_fit, model, samples) for key, model in models.items()}
        runs = run_alternately(contenders, N_REPEATS * budget.n_runs)
        seconds = {key: [run.seconds for run in runs[key]] for key in contenders}
        ratio = median(np.divide(seconds["fair"], seconds["plain"]).tolist())
        records.append(
            {
                "case": name,
                "tolerance": tolerance,
                "plain CPU s": median(seconds["plain"]),
                "CPU s": median(seconds["fair"]),
                "x": ratio,
                "violation": models["fair"].constraint_violation_,
            }
        )
        checks += [Check(f"time / plain, {name}", [ratio], "<=", bound)]
        checks += [Check(f"violation, {name}", [records[-1]["violation"]], "<=", 0.0)]
    return Report("Linear classifiers under demographic parity", records, checks)


def _fit(model, samples, seed):
    columns = (
        {} if isinstance(model, LogisticRegression) else {"sensitive_features": samples.groups}
    )
    return model.fit(samples.X, samples.y, **columns)


def _embed(n_samples, n_columns):
    """Random projections of tf-idf weights of Adult's indicators and their pairs, in float32."""
    train = case("Adult", 0, blind=True).train
    X, y, groups = (column[:n_samples] for column in train)
    words = sparse.csr_array((X > train.X.mean(axis=0)).astype(np.float64))
    words = PolynomialFeatures(interaction_only=True, include_bias=False).fit_transform(words)
    weights = TfidfTransformer(sublinear_tf=True).fit_transform(words)
    columns = GaussianRandomProjection(n_columns, random_state=0).fit_transform(weights)
    return Split((np.sqrt(n_columns) / 5 * normalize(columns)).astype(np.float32), y, groups)


def _generate(n_samples, n_columns):
    """Normal columns whose means differ between two groups, and classes by their sum."""
    rng = np.random.default_rng(0)
    shift = 1.0 if n_columns == 5 else 0.25
    groups = rng.integers(2, size=n_samples)
    X = rng.normal(size=(n_samples, n_columns)) + shift * groups[:, np.newaxis]
    noise = (1.0 if n_columns == 5 else 2.0) * rng.logistic(size=n_samples)
    return Split(X, X.sum(axis=1) + noise > 2.0, groups)
