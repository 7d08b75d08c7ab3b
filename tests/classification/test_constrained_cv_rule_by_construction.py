"""What the rule of any model guarantees, on populations that are drawn: decisions never fall."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB

from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import DemographicParity, EqualizedOdds, RateParity

KNOWN = {"group_estimator": "sensitive_features"}
BASES = {
    "logistic": LogisticRegression(class_weight="balanced"),
    "threshold": FixedThresholdClassifier(GaussianNB(), threshold=0.3),
    "boosting": HistGradientBoostingClassifier(max_iter=10, random_state=0),
}
CONSTRAINTS = {
    "parity": DemographicParity(),
    "opportunity": "equal_opportunity",
    "odds": EqualizedOdds(),
    "precision": RateParity("precision"),
    "two": [DemographicParity(), EqualizedOdds()],
}


def draw(seed, n_samples=1500):
    """A population whose shares, shifts and rates of success depend on the seed."""
    rng = np.random.default_rng(seed)
    n_groups = rng.integers(2, 4)
    group = rng.choice(n_groups, p=rng.dirichlet(np.full(n_groups, 8.0)), size=n_samples)
    X = rng.normal(size=(n_samples, 4)) + rng.normal(scale=0.7, size=(n_groups, 4))[group]
    slopes = rng.normal(size=4)
    y = (X @ slopes + rng.logistic(size=n_samples) > rng.normal()).astype(int)
    return X, y, group, rng.choice([1.0, 3.0], size=n_samples)


def decide(rule, z, chances):
    """Decisions of an exported rule at log-odds and probabilities of events."""
    factors = np.array([np.ones_like(z), expit(z), z, z * expit(z)])
    moved = np.einsum("teg,ti,ieg->i", np.array(rule["weights"]), factors, chances)
    return rule["log_odds"] * z + rule["intercept"] + moved > 0


def decide_along_scores(rule, scores, chances):
    """Decisions of each sample at rising scores and its own probabilities of groups."""
    z = rule["slope"] * scores + rule["offset"]
    levels = np.quantile(z, np.linspace(0.0, 1.0, 41))
    return np.array([decide(rule, np.full(len(z), one), chances) for one in levels])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, KNOWN], ids=["blind", "known"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_decisions_never_fall_with_the_score(name, settings, is_weighted, base):
    numbers = list(CONSTRAINTS).index(name), len(settings), is_weighted, list(BASES).index(base)
    X, y, group, weights = draw([*map(int, numbers)])
    model = ConstrainedClassifierCV(BASES[base], CONSTRAINTS[name], tolerance=0.04, cv=3)
    model.set_params(**settings)
    weights = weights if is_weighted else None
    model.fit(X, y, sensitive_features=group, sample_weight=weights)
    passed = {"sensitive_features": group} if settings else {}
    scores, chances = model.rule_inputs(X, **passed)
    accepted = decide_along_scores(model.export_rule(), scores[:300], chances[:300])
    assert not (accepted[:-1] & ~accepted[1:]).any()
    if settings:  # one threshold for each group
        decisions = model.predict(X, **passed)
        for one in np.unique(group):
            rows = np.argsort(scores[group == one], kind="stable")
            assert (np.diff(decisions[group == one][rows]) >= 0).all()


@pytest.mark.parametrize("settings", [{}, KNOWN], ids=["blind", "known"])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_tolerance_that_forbids_nothing_leaves_decisions_of_the_base(settings, base, is_weighted):
    X, y, group, weights = draw([7, list(BASES).index(base)])
    rows = np.arange(len(y)) % 2 == 0
    fitted = BASES[base].fit(X[rows], y[rows])
    model = ConstrainedClassifierCV(fitted, tolerance=1.0, cv="prefit", **settings)
    weights = weights[~rows] if is_weighted else None
    model.fit(
        X[~rows], y[~rows], sensitive_features=group[~rows], sample_weight=weights, X_fit=X[rows]
    )
    out_of_fold = model.oof_decision_function_ > 0
    np.testing.assert_array_equal(out_of_fold, fitted.predict(X[~rows]) == 1)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, KNOWN], ids=["blind", "known"])
@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_column_that_may_only_help_never_hurts(name, settings):
    X, y, group, _ = draw([8, list(CONSTRAINTS).index(name)])
    base = HistGradientBoostingClassifier(max_iter=15, monotonic_cst=[1, 0, -1, 0], random_state=0)
    model = ConstrainedClassifierCV(base, CONSTRAINTS[name], tolerance=0.04, cv=3, **settings)
    model.fit(X, y, sensitive_features=group)
    passed = {"sensitive_features": group} if settings else {}
    accepted = model.predict(X, **passed)
    for column, step in ((0, 0.3), (0, 2.0), (2, -0.3), (2, -2.0)):
        moved = X.copy()
        moved[:, column] += step
        assert (model.predict(moved, **passed) >= accepted).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, KNOWN], ids=["blind", "known"])
@pytest.mark.parametrize("k", [20, 75, 0.1])
def test_places_are_samples(k, settings, is_weighted):
    X, y, group, weights = draw([9, int(100 * k)])
    model = ConstrainedClassifierCV(
        LogisticRegression(), "equal_opportunity", tolerance=0.1, k=k, cv=3, **settings
    )
    model.fit(X, y, sensitive_features=group, sample_weight=weights if is_weighted else None)
    assert np.count_nonzero(model.oof_decision_function_ > 0) == (150 if k == 0.1 else k)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"group_estimator": LogisticRegression()}, KNOWN])
def test_samples_that_no_score_accepts_are_counted(settings):
    rng = np.random.default_rng(0)
    group = rng.choice(3, p=[0.5, 0.3, 0.2], size=3000)
    X = rng.normal(size=(3000, 4))
    X[:, 0] += group == 1
    X[:, 1] -= group == 2
    y = (X[:, 0] + X[:, 1] + rng.logistic(size=3000) > 0.3).astype(int)
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.02, **settings)
    model.fit(X, y, sensitive_features=group)
    passed = {"sensitive_features": group} if settings == KNOWN else {}
    decided = decide_along_scores(model.export_rule(), *model.rule_inputs(X, **passed))
    refused = 1.0 - decided[-1].mean()
    # Probabilities of the fit are out of fold, and these are not.
    assert model.refused_at_any_score_ == pytest.approx(refused, abs=0.02)
