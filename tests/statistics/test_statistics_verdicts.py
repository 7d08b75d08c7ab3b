"""One word for what is known of a bound: in claims, monitors and fits."""

import numpy as np
import pytest

from skfair._statistics.gaps import find_verdict
from skfair.audit import Audit
from skfair.audit._claims import EXIT_STATUSES
from skfair.classification import ConstrainedERMClassifier
from skfair.monitoring import GapMonitor


@pytest.mark.parametrize(
    "is_shown, is_contradicted, verdict",
    [(True, False, "shown"), (False, False, "open"), (False, True, "contradicted")],
)
def test_a_verdict_is_one_of_three_words(is_shown, is_contradicted, verdict):
    assert find_verdict(is_shown, is_contradicted) == verdict and verdict in EXIT_STATUSES


@pytest.mark.parametrize("rates, n", [((0.5, 0.5), 2000), ((0.5, 0.4), 40), ((0.5, 0.2), 2000)])
def test_claims_and_monitors_of_the_same_samples_use_the_same_words(rates, n):
    decisions = np.concatenate([np.arange(n) < rate * n for rate in rates]).astype(int)
    groups = np.repeat(["a", "b"], n)
    claim = Audit.from_predictions(None, decisions, sensitive_features=groups).certify(
        tolerance=0.1
    )
    monitor = GapMonitor("demographic_parity", 0.1, run_length=100, windows=(1,))
    monitor.update(None, decisions, sensitive_features=groups)
    assert monitor.verdict_ == claim.verdict == monitor.summary()["verdict"].item()
    assert monitor.windows_["verdict"].tolist() == [claim.verdict]


@pytest.mark.filterwarnings("ignore:Decisions are nearly constant")
def test_the_verdict_of_a_fit_is_about_the_population_and_its_status_about_training_data():
    rng = np.random.default_rng(0)
    groups = rng.integers(2, size=2000)
    X = rng.normal(size=(2000, 2)) + 0.3 * groups[:, np.newaxis]
    y = X.sum(axis=1) + rng.normal(size=2000) > 0
    fit = ConstrainedERMClassifier(tolerance=0.2).fit(X, y, sensitive_features=groups)
    assert fit.status_ in ("optimal", "feasible") and fit.verdict_ == "open"
    fit.set_params(confidence_level=0.9).fit(X, y, sensitive_features=groups)
    assert fit.status_ in ("optimal", "feasible") and fit.verdict_ == "shown"
    assert fit.guarantee_probability_ >= 0.9
    fit.set_params(tolerance=0.001)
    with pytest.warns(UserWarning, match="with a probability of at least"):
        fit.fit(X, y, sensitive_features=groups)
    assert fit.status_ in ("optimal", "feasible", "max_iter") and fit.verdict_ == "open"
