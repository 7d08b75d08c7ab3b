"""Limited places: the k highest scores keep a constraint, against all cuts by group."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skfair.classification import ConstrainedClassifierCV
from skfair.constraints import DemographicParity, RateParity
from skfair.preprocessing import ScoreColumn

KNOWN = {"group_estimator": "sensitive_features"}
CELLS = {
    "demographic_parity": lambda y: np.ones(len(y), dtype=bool),
    "equal_opportunity": lambda y: y == 1,
    "false_positive_rate_parity": lambda y: y == 0,
}


def draw(seed, n_samples=600, n_groups=2):
    """Features of which the second shows the group, classes, and groups."""
    rng = np.random.default_rng(seed)
    group = rng.choice(
        n_groups, size=n_samples, p=np.arange(n_groups, 0, -1) * 2 / n_groups / (n_groups + 1)
    )
    X = rng.normal(size=(n_samples, 3))
    X[:, 0] += 0.7 * (group == 0)
    X[:, 1] += 1.5 * group
    y = (X[:, 0] + X[:, 2] + rng.logistic(size=n_samples) > 1.0).astype(int)
    return X, y, group


def gap_of(selected, cell, group, weights=None):
    """Largest difference of the shares of the groups that are selected in a cell."""
    weights = np.ones(len(group)) if weights is None else weights
    rates = [
        np.average(selected[cell & (group == one)], weights=weights[cell & (group == one)])
        for one in np.unique(group)
    ]
    return np.ptp(rates)


def fit_scores(X, y, group, **params):
    """A fit around scores that exist, in the first column."""
    vendor = FrozenEstimator(ScoreColumn(0, scale="log_odds").fit(X, y))
    return ConstrainedClassifierCV(vendor, **params).fit(X, y, sensitive_features=group)


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("seed", range(3))
def test_known_groups_are_as_good_as_the_best_cuts_by_group(name, seed):
    X, y, group = draw(seed)
    k = 60
    cell = CELLS[name](y)
    tolerance = gap_of(np.argsort(np.argsort(-X[:, 0])) < k, cell, group) / 3
    fair = fit_scores(X, y, group, constraint=name, tolerance=tolerance, k=k, **KNOWN)
    selected = fair.oof_decision_function_ > 0
    assert selected.sum() == k
    assert gap_of(selected, cell, group) <= tolerance + 1e-12
    # All numbers of places of the first group, each with the best samples of both.
    chances = expit(fair.calibration_[0] * X[:, 0] + fair.calibration_[1])
    order = [np.flatnonzero(group == one) for one in (0, 1)]
    order = [one[np.argsort(-X[one, 0])] for one in order]
    best = -np.inf
    for first in range(max(0, k - len(order[1])), min(k, len(order[0])) + 1):
        chosen = np.zeros(len(y), dtype=bool)
        chosen[order[0][:first]] = True
        chosen[order[1][: k - first]] = True
        if gap_of(chosen, cell, group) <= tolerance:
            best = max(best, chances[chosen].sum())
    assert chances[selected].sum() >= best - 1e-9
    np.testing.assert_array_equal(fair.select(X, sensitive_features=group), selected)
    np.testing.assert_array_equal(fair.predict(X, sensitive_features=group) == 1, selected)


@pytest.mark.covering(0)
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("known", [False, True])
def test_the_bound_holds_for_the_highest_scores_of_three_groups(name, known):
    X, y, group = draw(5, n_samples=900, n_groups=3)
    params = KNOWN if known else {}
    model = ConstrainedClassifierCV(LogisticRegression(), name, tolerance=0.03, k=0.1, **params)
    fair = model.fit(X, y, sensitive_features=group)
    selected = fair.oof_decision_function_ > 0
    assert selected.sum() == 90
    assert gap_of(selected, CELLS[name](y), group) <= 0.03 + 1e-12
    assert fair.constraint_violation_ == 0.0
    assert fair.status_ in ("optimal", "feasible")
    report = fair.constraint_report_
    assert report["gap"].max() == pytest.approx(gap_of(selected, CELLS[name](y), group))
    passed = {"sensitive_features": group} if known else {}
    assert fair.select(X, **passed).sum() == 90
    # Probabilities are above 1/2 where samples are selected.
    proba = fair.predict_proba(X, **passed)[:, 1]
    np.testing.assert_array_equal(proba > 0.5, fair.predict(X, **passed) == 1)


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    "params", [KNOWN, {}, {"group_estimator": DecisionTreeClassifier(max_depth=3)}]
)
@pytest.mark.parametrize("name", CELLS)
def test_the_rule_is_exported(params, name):
    X, y, group = draw(6)
    model = ConstrainedClassifierCV(LogisticRegression(), name, tolerance=0.03, k=80, **params)
    model.fit(X, y, sensitive_features=group)
    passed = {"sensitive_features": group} if params == KNOWN else {}
    rule = model.export_rule()
    scores, chances = model.rule_inputs(X, **passed)
    z = rule["slope"] * scores + rule["offset"]
    eta = expit(z)
    factors = np.array([np.ones(len(z)), eta, z, eta * z])
    value = rule["log_odds"] * z + rule["intercept"]
    value += np.einsum("teg,ti,ieg->i", np.array(rule["weights"]), factors, chances)
    np.testing.assert_array_equal(value > 0, model.decision_function(X, **passed) > 0)


def test_scores_alone_are_kept_where_their_cut_keeps_the_bound():
    X, y, group = draw(7)
    fair = fit_scores(X, y, group, tolerance=0.9, k=50)
    top = np.argsort(np.argsort(-X[:, 0])) < 50
    np.testing.assert_array_equal(fair.oof_decision_function_ > 0, top)
    assert fair.status_ == "optimal"
    plain = fit_scores(X, y, group, constraint=None, k=50)
    np.testing.assert_array_equal(plain.predict(X) == 1, top)


@pytest.mark.parametrize("params", [KNOWN, {"group_estimator": LogisticRegression()}])
def test_ratios_and_weights(params):
    X, y, group = draw(8)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    model = ConstrainedClassifierCV(
        LogisticRegression(), DemographicParity(ratio=0.8), k=0.15, **params
    )
    model.fit(X, y, sensitive_features=group, sample_weight=weights)
    selected = model.oof_decision_function_ > 0
    # Places are samples, whatever they weigh.
    assert np.count_nonzero(selected) == int(0.15 * len(y))
    rates = [np.average(selected[group == one], weights=weights[group == one]) for one in (0, 1)]
    assert min(rates) / max(rates) >= 0.8 - 1e-12


def test_a_group_of_one_percent_counts_ties_and_names_do_not_matter():
    X, y, group = draw(9)
    X = np.round(X)
    group = np.where(np.arange(len(y)) % 100 == 0, "small", "large")
    for one in (X, y, group):
        one.setflags(write=False)
    model = ConstrainedClassifierCV(
        LogisticRegression(), DemographicParity(min_group_size=1), tolerance=0.17, k=100, **KNOWN
    ).fit(X, y, sensitive_features=group)
    selected = model.oof_decision_function_ > 0
    assert gap_of(selected, np.ones(len(y), dtype=bool), group) <= 0.17
    renamed = clone(model).fit(X, y, sensitive_features=np.where(group == "small", 9, 3))
    np.testing.assert_array_equal(renamed.oof_decision_function_ > 0, selected)
    # A batch has exactly k samples, ties or not, of which the first are taken.
    mask = model.select(X, sensitive_features=group)
    scores = model.decision_function(X, sensitive_features=group)
    np.testing.assert_array_equal(
        np.flatnonzero(mask), np.sort(np.argsort(-scores, kind="stable")[:100])
    )


@pytest.mark.covering(0)
@pytest.mark.parametrize("params", [KNOWN, {}])
def test_the_positive_class_may_be_the_first_of_the_labels(params):
    X, y, group = draw(0)
    groups = {"sensitive_features": group} if params else {}
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05, k=0.2, **params)
    numbers = clone(model).fit(X, y, sensitive_features=group)
    words = clone(model).set_params(pos_label="approved")
    words.fit(X, np.where(y == 1, "approved", "denied"), sensitive_features=group)
    mask = words.select(X, **groups)
    np.testing.assert_array_equal(mask, numbers.select(X, **groups))
    assert mask.sum() == 120 and y[mask].mean() > 0.6


@pytest.mark.slow
def test_batches_that_are_cut_elsewhere_are_warned_of():
    X, y, group = draw(10, n_samples=2000)
    model = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.03, k=0.1)
    model.fit(X, y, sensitive_features=group)
    new, _, _ = draw(11, n_samples=1000)
    assert model.select(new).sum() == 100
    assert model.select(new[:105]).sum() == 10
    with pytest.warns(
        UserWarning, match="cut at a score of .*, but 95% of batches of 1000 samples"
    ):
        assert model.select(new, 300).sum() == 300
    with pytest.warns(UserWarning, match="the constraint may not hold at this cut"):
        model.select(new + [3.0, 0.0, 0.0])
    with pytest.raises(
        ValueError, match="k must be a number of samples from 1 to 1000, or a share"
    ):
        model.select(new, 1001)
    plain = ConstrainedClassifierCV(LogisticRegression()).fit(X, y, sensitive_features=group)
    with pytest.raises(ValueError, match="select needs a fit with k"):
        plain.select(new, 10)


REFUSED = (
    ({"k": 601}, "k must be a number of samples from 1 to 600"),
    ({"confidence_level": 0.9}, "not with confidence_level=0.9; pass confidence_level=None"),
    ({"constraint": ["demographic_parity", "equal_opportunity"]}, "not with 2 constraints"),
    ({"constraint": RateParity("precision")}, "k selects the highest of one score, not with"),
    ({"constraint": "mean_parity"}, "k selects the highest of one score, not with"),
    ({"missing": "exclude"}, "not with missing='exclude'"),
)


@pytest.mark.slow
def test_what_k_does_not_select_is_refused():
    X, y, group = draw(12)
    for params, message in REFUSED:
        model = ConstrainedClassifierCV(LogisticRegression(), k=50).set_params(**params)
        with pytest.raises(ValueError, match=message):
            model.fit(X, y, sensitive_features=group)
    # The next call is not affected.
    model = ConstrainedClassifierCV(LogisticRegression(), k=50, tolerance=0.05)
    assert (model.fit(X, y, sensitive_features=group).oof_decision_function_ > 0).sum() == 50


def test_several_classes_are_refused():
    X, y, group = draw(13)
    y = y + (X[:, 2] > 1)
    with pytest.raises(ValueError, match="not with 3 classes; pass 2 classes, as in y == label"):
        ConstrainedClassifierCV(LogisticRegression(), k=50).fit(X, y, sensitive_features=group)


@pytest.mark.filterwarnings("ignore:.*hardly any positives")
@pytest.mark.parametrize("params", [{}, KNOWN], ids=["blind", "known"])
@pytest.mark.parametrize("k", [30, 120])
def test_k_counts_samples_whatever_their_weights(k, params):
    X, y, group = draw(0, 1200)
    weights = np.random.default_rng(0).choice([1.0, 3.0, 0.2], size=len(y))
    model = ConstrainedClassifierCV(
        LogisticRegression(), "equal_opportunity", tolerance=0.1, k=k, **params
    )
    model.fit(X, y, sensitive_features=group, sample_weight=weights)
    assert np.count_nonzero(model.oof_decision_function_ > 0) == k


def test_equal_scores_at_the_cut_are_warned_of():
    X, y, group = draw(0)
    X[:, 0] = np.clip(np.round(X[:, 0]), -2, 2)
    with pytest.warns(UserWarning, match="k=100 selects 100 of the samples, but"):
        model = fit_scores(X, y, group, constraint="equal_opportunity", tolerance=0.5, k=100)
    selected = np.count_nonzero(model.oof_decision_function_ > 0)
    counts = np.cumsum(np.bincount(-X[:, 0].astype(int) + 2))
    assert selected == counts[np.argmin(np.abs(counts - 100))]
