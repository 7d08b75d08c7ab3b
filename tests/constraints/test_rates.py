"""Constraints on any rate: parity, floors and ceilings."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, jaccard_score, precision_score, recall_score

from skfair._bound.bound import ConstraintSystem
from skfair._groups import check_groups
from skfair._partitions.blocks import Blocks
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    ConstrainedMLPClassifier,
)
from skfair.constraints import (
    CONSTRAINTS as NAMED,
)
from skfair.constraints import (
    DemographicParity,
    EqualOpportunity,
    MaximumRate,
    MinimumRate,
    RateParity,
    check_constraint,
)
from skfair.constraints._rates import NamedRateParity
from skfair.groups import Samples
from skfair.losses import LogisticLoss
from skfair.metrics import RATES, Rate, get_scorer, group_report, make_scorer
from skfair.metrics._rates import RATE_SYNONYMS, find_rate, is_share
from skfair.metrics._synonyms import SYNONYMS
from skfair.monitoring import GapMonitor
from skfair.surrogates import Sigmoid
from tests.audit.doors import certify_model, certify_predictions

COST = Rate("cost", {"fp": 1, "fn": 5})
CONSTRAINTS = [
    *(RateParity(name, tolerance=0.1) for name in RATES if name != "base_rate"),
    RateParity("recall", ratio=0.8),
    RateParity(COST, reference="overall", tolerance=0.1),
    RateParity(Rate("scaled", {"tp": 3}, {"tp": 2, "fn": 2}), tolerance=0.1),
    MinimumRate("recall", 0.75),
    MinimumRate("f1_score", 0.5),
    MaximumRate("false_positive_rate", 0.1),
    MaximumRate(COST, 0.5),
    MaximumRate("treatment_equality", 2.0),
]


def make_data(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n_samples)
    X = rng.normal(size=(n_samples, 4))
    X[:, 0] += 0.8 * (group == 0)
    y = X.sum(axis=1) - 0.3 * (group == 0) + 1.5 * rng.normal(size=n_samples) > 0.3
    return X, y, np.array(["a", "b", "c"])[group]


def bind(constraint, y, groups):
    samples = Samples(np.where(y, 1.0, -1.0), check_groups(groups, len(y)), np.ones(len(y)))
    return constraint.bind(samples, Sigmoid(), LogisticLoss(), 0.1)


def score_groups(score, y, decisions, groups, **options):
    return np.array(
        [score(y[groups == g], decisions[groups == g], **options) for g in np.unique(groups)]
    )


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=str)
def test_derivatives_counts_and_blocks(constraint):
    check_constraint(constraint)


@pytest.mark.parametrize(
    "name, score, options",
    [
        ("precision", precision_score, {}),
        ("recall", recall_score, {}),
        ("specificity", recall_score, {"pos_label": 0}),
        ("npv", precision_score, {"pos_label": 0}),
        ("f1", f1_score, {}),
        ("jaccard", jaccard_score, {}),
    ],
)
def test_gaps_are_those_of_scikit_learn(name, score, options):
    X, y, groups = make_data(500)
    scores = X @ [1.0, -0.5, 0.2, 0.0]
    rates = score_groups(score, y.astype(int), (scores > 0).astype(int), groups, **options)
    assert bind(RateParity(name), y, groups).value(scores) == pytest.approx(np.ptp(rates))
    assert bind(MaximumRate(name, 0.9), y, groups).value(scores) == pytest.approx(rates.max())
    floor = bind(MinimumRate(name, 0.6), y, groups)
    assert floor.value(scores) == pytest.approx(1.0 - rates.min())
    assert floor.tolerance == pytest.approx(0.4)
    # The rates themselves are reported.
    assert pd.DataFrame(ConstraintSystem((floor,)).report_columns(scores))[
        "estimate"
    ].tolist() == pytest.approx(rates.tolist())


def draw_gaps(seed):
    """Gaps of all rates between two groups of drawn outcomes and decisions, by numpy."""
    rng = np.random.default_rng(seed)
    y, decisions = rng.random((2, 200)) < 0.4
    groups = rng.choice(["a", "b"], 200)
    gaps = {}
    for name, rate in RATES.items():
        tables = zip(rate.numerator, rate.denominator, strict=True)
        masks = (y & decisions, ~y & decisions, y & ~decisions, ~y & ~decisions)
        counts = [
            [np.array([n * (mask & (groups == g)).sum() for n in pair]) for g in "ab"]
            for pair, mask in zip(tables, masks, strict=True)
        ]
        (hits, n), (other_hits, other_n) = np.sum(counts, axis=0)
        gaps[name] = abs(hits / n - other_hits / other_n)
    return (y, decisions, groups), gaps


def find_name(gap, gaps_by_name):
    """Names of the constraints with a gap in every draw."""
    return [name for name, gaps in gaps_by_name.items() if np.allclose(gaps, gap, atol=1e-12)]


def test_every_gap_of_a_rate_has_one_name_and_messages_know_it():
    draws = [draw_gaps(seed) for seed in range(3)]
    on_decisions = [name for name, kind in NAMED.items() if kind.applies_to == ("decisions",)]
    gaps_by_name = {
        name: [
            bind(NAMED[name](), y, groups).value(np.where(decisions, 1.0, -1.0))
            for (y, decisions, groups), _ in draws
        ]
        for name in on_decisions
    }
    single = {name: one for name, one in gaps_by_name.items() if not NAMED[name].rates_by_cell}
    for rate in {*RATES} - {"base_rate"}:  # no model changes base rates
        (name,) = find_name([gaps[rate] for _, gaps in draws], single)
        if rate not in NAMED:
            with pytest.raises(ValueError, match=f"Did you mean '{name}'"):
                certify_predictions(
                    [0, 1], [0, 1], sensitive_features=["a", "b"], constraint=rate, tolerance=0.1
                )
    for other, rate in RATE_SYNONYMS.items():
        (name,) = find_name([gaps[rate] for _, gaps in draws], single)
        assert SYNONYMS[other].constraint == name


@pytest.mark.parametrize("name", [one for one in NAMED if issubclass(NAMED[one], NamedRateParity)])
def test_a_named_rate_is_certified_monitored_and_scored_as_its_parity(name):
    X, y, groups = make_data(3000)
    decisions = (X @ [1.0, -0.5, 0.2, 0.0] > 0).astype(int)
    rate = NAMED[name]().compared_rate
    settings = {"sensitive_features": groups, "tolerance": 0.2}
    claims = [
        certify_predictions(y.astype(int), decisions, constraint=one, **settings)
        for one in (name, RateParity(rate.name))
    ]
    assert claims[0].findings == claims[1].findings
    assert claims[0].metric == claims[1].metric
    if name in ("f1_score_parity", "treatment_equality"):  # no means, and no shares of samples
        with pytest.raises(ValueError, match="unlike F1 and treatment equality"):
            GapMonitor(name, tolerance=0.2).update(y, decisions, sensitive_features=groups)
    else:
        monitors = [
            GapMonitor(one, tolerance=0.2).update(y, decisions, sensitive_features=groups)
            for one in (name, RateParity(rate.name))
        ]
        pd.testing.assert_frame_equal(monitors[0].to_frame(), monitors[1].to_frame())
    model = LogisticRegression().fit(X, y)
    scores = [
        make_scorer(one, confidence_level=0.9)(model, X, y, sensitive_features=groups)
        for one in (name, RateParity(rate.name))
    ]
    assert scores[0] == scores[1] < 0.0
    with pytest.raises(ValueError, match="make_scorer") as caught:
        get_scorer(f"neg_{name}")
    call = re.search(r"make_scorer\('(\w+)', transform='(\w+)'\)", str(caught.value))
    advised = make_scorer(call[1], transform=call[2])
    bound = bind(RateParity(rate.name), y, groups)
    expected = bound.value(np.where(model.predict(X), 1.0, -1.0))
    assert advised(model, X, y, sensitive_features=groups) == pytest.approx(-expected)


def test_a_cost_by_hand():
    y = np.array([1, 1, 0, 0, 1, 0]) > 0
    groups = np.array(list("aaabbb"))
    scores = np.array([1.0, -1.0, 1.0, -1.0, -1.0, -1.0])
    # a: a true positive, a false negative and a false positive, (5 + 1) / 3; b: 5 / 3.
    assert bind(RateParity(COST), y, groups).value(scores) == pytest.approx(1 / 3)
    assert bind(MaximumRate(COST, 1.0), y, groups).value(scores) == pytest.approx(2.0)


def test_rates_that_have_a_criterion_give_the_same_fit():
    X, y, groups = make_data(1500)
    for one, other in (
        (RateParity("recall"), EqualOpportunity()),
        (RateParity("selection_rate"), DemographicParity()),
    ):
        models = [
            ConstrainedERMClassifier(constraint, tolerance=0.02).fit(
                X, y, sensitive_features=groups
            )
            for constraint in (one, other)
        ]
        np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-6)


FITTED = [
    (RateParity("precision", tolerance=0.01), ["parity"]),
    (RateParity("f1_score", tolerance=0.005), ["parity"]),
    (RateParity(COST, tolerance=0.02), ["parity"]),
    (MinimumRate("recall", 0.82), ["floor"]),
    (MinimumRate("precision", 0.85), ["floor"]),
    (MaximumRate("false_positive_rate", 0.1), ["ceiling"]),
    ([MinimumRate("recall", 0.76), RateParity("precision", tolerance=0.03)], ["floor", "parity"]),
]


# A ratio's denominator moves with the decisions: the solver may keep a bound before it converges.
@pytest.mark.filterwarnings("ignore:SQP stopped:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("constraint, kinds", FITTED, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize(
    "base",
    [None, pytest.param(LogisticRegression(), marks=pytest.mark.slow)],
    ids=["linear", "any model"],
)
def test_fits_keep_what_a_plain_model_breaks(base, constraint, kinds):
    X, y, groups = make_data(2500)
    fair = (
        ConstrainedERMClassifier(constraint)
        if base is None
        else ConstrainedClassifierCV(base, constraint)
    )
    report = fair.fit(X, y, sensitive_features=groups).constraint_report_
    assert fair.constraint_violation_ <= 1e-9
    plain = LogisticRegression().fit(X, y).decision_function(X)
    excesses = []
    for one, kind in zip(np.ravel(constraint), kinds, strict=True):
        bound = bind(one, y, groups)
        excesses.append(bound.value(plain) - bound.tolerance)
        rates = report.loc[report["constraint"] == one.name, "estimate"]
        assert len(rates) == 3
        if kind == "parity":
            assert np.ptp(rates) <= one.tolerance + 1e-9
        elif kind == "floor":
            assert rates.min() >= one.bound - 1e-9
            stated = report.loc[report["constraint"] == one.name, ["gap", "tolerance"]]
            np.testing.assert_allclose(stated, [[rates.min(), one.bound]] * 3)
        else:
            assert rates.max() <= one.bound + 1e-9
    assert max(excesses) > 0.0, "the constraint does not bind"


@pytest.mark.parametrize("constraint", [one for one, _ in FITTED[:6]], ids=str)
def test_partitioned_samples_have_the_fit_of_those_in_memory(constraint):
    X, y, groups = make_data(2000)
    codes = np.unique(groups, return_inverse=True)[1]
    table = np.column_stack((X, y, codes)).astype(float)
    rows = Blocks(
        lambda i, names: table[i * 500 : (i + 1) * 500, names], [500] * 4, range(table.shape[1])
    )
    model = ConstrainedERMClassifier(constraint)
    stored = clone(model).fit(rows[[0, 1, 2, 3]], rows[4], sensitive_features=rows[5])
    model.fit(X, y, sensitive_features=codes)
    assert stored.constraint_violation_ <= 1e-9
    assert stored.objective_ == pytest.approx(model.objective_, rel=0.02)


@pytest.mark.slow
def test_guarantees_and_certificates_of_bounds():
    X, y, groups = make_data(4000)
    model = ConstrainedERMClassifier(MinimumRate("recall", 0.75), confidence_level=0.95)
    model.fit(X, y, sensitive_features=groups)
    assert model.guarantee_probability_ >= 0.95
    X, y, groups = make_data(20_000, seed=1)
    recall = score_groups(recall_score, y, model.predict(X), groups).min()
    assert recall >= 0.75
    for floor, is_shown in ((recall - 0.03, True), (recall - 0.001, False)):
        certificate = certify_model(
            model, X, y, sensitive_features=groups, constraint=MinimumRate("recall", floor)
        )
        assert certificate.is_shown == is_shown
        assert certificate.estimate == pytest.approx(recall)


@pytest.mark.slow
def test_certificates_of_bounds_err_as_often_as_stated():
    """Models on the edge of a floor, of groups of 40 to 400 samples, and one group that is not."""
    rng = np.random.default_rng(0)
    n_shown = 0
    for _ in range(400):
        sizes = rng.integers(40, 400, 2)
        y = np.ones(sizes.sum(), dtype=bool)
        groups = np.repeat(["a", "b"], sizes)
        decisions = rng.random(len(y)) < np.where(groups == "a", 0.9, 0.95)
        scores = np.where(decisions, 1.0, -1.0)
        bound = bind(MinimumRate("recall", 0.9), y, groups)
        estimates, forms = bound.estimates(scores)
        n_shown += estimates.upper(forms, 0.95).max() < bound.tolerance
    assert n_shown <= 400 * 0.05 + 2 * np.sqrt(400 * 0.05 * 0.95)


@pytest.mark.parametrize(
    "constraint",
    [
        RateParity("precision", tolerance=0.15),
        RateParity("f1_score", tolerance=0.15),
        RateParity(COST, tolerance=0.9),
        MinimumRate("precision", 0.5),
        MinimumRate("f1_score", 0.4),
    ],
    ids=lambda one: one.name if hasattr(one, "name") else None,
)
def test_quotients_and_counts_are_guaranteed(constraint):
    X, y, groups = make_data(3000)
    model = ConstrainedERMClassifier(constraint, confidence_level=0.9)
    model.fit(X, y, sensitive_features=groups)
    assert model.status_ in ("optimal", "feasible", "max_iter")
    assert model.guarantee_probability_ >= 0.9
    # A much larger sample of the population keeps the bound.
    X, y, groups = make_data(100_000, seed=1)
    bound = bind(constraint, y, groups)
    assert bound.value(model.decision_function(X)) <= bound.tolerance


def count_false_certificates(constraint, n_samples, n_draws, truth):
    """How often decisions whose gap is the tolerance are certified."""
    n_shown = 0
    for seed in range(n_draws):
        y, decisions, groups = truth(np.random.default_rng(seed), n_samples)
        bound = bind(constraint, y, groups)
        estimates, forms = bound.estimates(2.0 * decisions - 1.0)
        n_shown += estimates.upper(forms, 0.95).max() < bound.tolerance
    return n_shown


def draw_precisions(rng, n_samples):
    """Decisions at random; of those accepted .7 and .55 are positive, so that F1 differ too."""
    groups = rng.integers(2, size=n_samples)
    decisions = rng.random(n_samples) < 0.4
    rates = np.where(decisions, np.where(groups == 0, 0.7, 0.55), 0.2)
    return rng.random(n_samples) < rates, decisions, groups


# By hand: of both groups .28 and .22 are true positives, .12 and .18 false positives, .12 false
# negatives.
RATES_DRAWN = {
    "precision": (0.7, 0.55),
    "f1_score": (0.56 / 0.8, 0.44 / 0.74),
    COST: (0.6 + 0.12, 0.6 + 0.18),
}


@pytest.mark.slow
@pytest.mark.parametrize("metric", RATES_DRAWN, ids=["ppv", "f1", "cost"])
@pytest.mark.parametrize(
    "is_floor", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["parity", "floor"]
)
def test_certificates_of_quotients_err_as_stated(metric, is_floor):
    rates = RATES_DRAWN[metric]
    constraint = RateParity(metric, tolerance=abs(rates[0] - rates[1]))
    if is_floor:
        constraint = MinimumRate(metric, min(rates))
    n_shown = count_false_certificates(constraint, 400, 200, draw_precisions)
    # Certificates that err in .12 of samples would pass with a probability of .05.
    assert n_shown <= 200 * 0.05 + 2 * np.sqrt(200 * 0.05 * 0.95)


@pytest.mark.parametrize(
    "constraint",
    [RateParity("precision", tolerance=0.1), MinimumRate("precision", 0.6)],
    ids=["parity", "floor"],
)
def test_a_group_that_is_hardly_accepted_has_no_guarantee(constraint):
    # Of the second group .5 % are positive, so that plain fits, and folds, accept none of it.
    rng = np.random.default_rng(0)
    group = (rng.random(2000) < 0.1).astype(int)
    X = rng.normal(size=(2000, 3)) - np.outer(group, [3.0, 0.0, 0.0])
    y = X[:, 0] + rng.normal(size=2000) > 0.5
    model = ConstrainedERMClassifier(constraint, confidence_level=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y, sensitive_features=group)  # no RuntimeWarning
    assert model.verdict_ == "open"
    predictions = y, y & (group == 0)
    with pytest.warns(UserWarning, match=r"nothing is said of them: 1 \(0\)"):
        if isinstance(constraint, MinimumRate):
            claim = certify_predictions(
                *predictions, sensitive_features=group, constraint=constraint
            )
            assert claim.left_out == ("1",) and list(claim.sizes) == ["0"]
            return
        with pytest.raises(ValueError, match="needs two groups"):
            certify_predictions(*predictions, sensitive_features=group, constraint=constraint)


def test_precision_is_that_of_the_accepted_samples():
    y, decisions, groups = draw_precisions(np.random.default_rng(0), 300)
    bound = bind(RateParity("precision"), y, groups)
    estimates, _ = bound.estimates(2.0 * decisions - 1.0)
    for g in (0, 1):
        accepted = decisions & (groups == g)
        assert estimates.sizes[g] == accepted.sum()
        assert estimates.values[g] == pytest.approx(y[accepted].mean())


def test_standard_errors_of_quotients_are_those_of_reports():
    y, decisions, groups = draw_precisions(np.random.default_rng(0), 300)
    scores = 2.0 * decisions - 1.0
    for metric in ("precision", "treatment_equality", COST):
        bound = bind(RateParity(metric), y, groups)
        estimates, _ = bound.estimates(scores)
        columns = pd.DataFrame(ConstraintSystem((bound,)).report_columns(scores))
        np.testing.assert_allclose(estimates.values, columns["estimate"])
        # Reports divide by n, means by n - 1.
        np.testing.assert_allclose(estimates.standard_errors, columns["standard_error"], rtol=0.01)


@pytest.mark.parametrize("metric", ["recall", "precision", "f1_score"])
def test_groups_that_a_floor_leaves_out_are_named_by_warning_report_and_certificate(metric):
    y, decisions, groups = draw_precisions(np.random.default_rng(0), 400)
    names = np.array(["large", "larger"])[groups]
    names[:20] = "small"
    floor = MinimumRate(metric, 0.3, min_group_size=30)
    with pytest.warns(UserWarning, match=r"not compared: 'small' \(20\)"):
        bound = bind(floor, y, names)
    report = pd.DataFrame(
        ConstraintSystem((bound,)).report_columns(2.0 * decisions - 1.0)
    ).set_index("group")
    assert report.index.tolist() == ["large", "larger", "small"]
    assert report["gap"].isna().tolist() == [False, False, True]
    expected = group_report(y, decisions, sensitive_features=names, metrics=[metric])
    rates = expected[metric][["large", "larger", "small"]]
    np.testing.assert_allclose(report["estimate"], rates)
    with pytest.warns(UserWarning, match=r"nothing is said of them: 'small' \((positives: )?\d+\)"):
        certificate = certify_predictions(y, decisions, sensitive_features=names, constraint=floor)
    assert certificate.left_out == ("small",)
    assert "; left out as too small: 'small'. Here the smallest" in str(certificate)
    assert json.loads(certificate.to_json())["left_out"] == ["small"]


@pytest.mark.parametrize("metric", ["precision", "f1_score", "jaccard", "accuracy"])
def test_certificates_and_reports_have_equal_limits_of_shares(metric):
    y, decisions, groups = draw_precisions(np.random.default_rng(0), 300)
    estimates, _ = bind(RateParity(metric), y, groups).estimates(2.0 * decisions - 1.0)
    columns = {"y_true": y, "decisions": decisions}
    reported, _ = find_rate(metric).estimate(columns, check_groups(groups, 300), np.ones(300))
    np.testing.assert_allclose(estimates.limits(0.95), reported.limits(0.95))


def test_limits_of_shares_in_overlapping_groups_are_those_of_each_attribute():
    y, decisions, groups = draw_precisions(np.random.default_rng(0), 300)
    table = np.column_stack((groups, np.arange(300) % 3)).astype(str)
    bound = bind(RateParity("f1_score", attributes="each"), y, table)
    low, high = bound.estimates(2.0 * decisions - 1.0)[0].limits(0.95)
    columns = {"y_true": y, "decisions": decisions}
    rate = find_rate("f1_score")
    estimates = [rate.estimate(columns, check_groups(one, 300), np.ones(300))[0] for one in table.T]
    np.testing.assert_allclose(low, np.concatenate([one.limits(0.95)[0] for one in estimates]))
    np.testing.assert_allclose(high, np.concatenate([one.limits(0.95)[1] for one in estimates]))


@pytest.mark.parametrize(
    "numerator, denominator, is_one",
    [
        ({"tp": 1}, {"tp": 1, "fp": 1}, True),
        ({"tp": 2}, {"tp": 2, "fp": 1, "fn": 1}, True),  # of weighted samples
        ({"tp": 3, "fp": 3}, (3, 3, 3, 3), True),
        ({"fn": 5, "fp": 1}, (1, 1, 1, 1), False),
        ({"tp": 1}, {"tp": 2, "fp": 2}, False),
        ({"fn": 1}, {"fp": 1}, False),  # counts in the numerator alone
    ],
)
def test_shares_are_recognised_by_tables_and_by_samples(numerator, denominator, is_one):
    rate = Rate("custom", numerator, denominator)
    outcomes = np.tile(np.arange(4), 3)
    of_samples = [np.array(table)[outcomes] for table in (rate.numerator, rate.denominator)]
    assert rate.is_share == is_share(*of_samples) == is_one


@pytest.mark.parametrize("metric", ["precision", "jaccard_score", COST], ids=["ppv", "j", "cost"])
def test_monitors_of_shares_and_costs_measure_as_reports_do(metric):
    y, decisions, groups = draw_precisions(np.random.default_rng(0), 4000)
    monitor = GapMonitor(RateParity(metric), tolerance=0.9)
    for rows in np.array_split(np.arange(4000), 5):
        monitor.update(y[rows], decisions[rows], sensitive_features=groups[rows])
    # A row is a batch.
    gap = bind(RateParity(metric), y[rows], groups[rows]).value(2.0 * decisions[rows] - 1.0)
    summary = monitor.summary()
    assert summary["batch_gap"].iloc[-1] == pytest.approx(gap, abs=1e-12)
    assert summary["verdict"].iloc[-1] == "shown"


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["precision", COST], ids=["ppv", "cost"])
def test_monitors_of_shares_and_costs_err_as_stated(metric):
    rates = RATES_DRAWN[metric]
    n_false = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        monitor = GapMonitor(RateParity(metric), tolerance=abs(rates[0] - rates[1]))
        for _ in range(6):
            y, decisions, groups = draw_precisions(rng, 300)
            monitor.update(y, decisions, sensitive_features=groups)
        n_false += (monitor.summary()["verdict"] == "shown").any()
    # Monitors that err in .2 of streams would pass with a probability of .01.
    assert n_false <= 80 * 0.05 + 2 * np.sqrt(80 * 0.05 * 0.95)


def test_monitors_take_bounds_from_above():
    X, y, groups = make_data(5000)
    model = LogisticRegression().fit(X, y)
    rates = score_groups(recall_score, ~y, ~model.predict(X), groups)
    monitor = GapMonitor(MaximumRate("false_positive_rate", 0.5))
    summary = monitor.update(y, model.predict(X), sensitive_features=groups).summary()
    assert summary["gap"].iloc[-1] == pytest.approx((1.0 - rates).max())
    assert summary["verdict"].iloc[-1] == "shown"
    for constraint in (RateParity("f1_score"), RateParity("treatment_equality")):
        with pytest.raises(ValueError, match="MaximumRate or MinimumRate; got"):
            GapMonitor(constraint, tolerance=0.1).update(
                y, model.predict(X), sensitive_features=groups
            )


def test_monitors_take_floors_and_state_the_rates_themselves():
    X, y, groups = make_data(5000)
    decisions = LogisticRegression().fit(X, y).predict(X)
    recalls = score_groups(recall_score, y, decisions, groups)
    lowest = recalls.min()
    for floor, verdict in ((lowest - 0.1, "shown"), (lowest + 0.1, "contradicted")):
        monitor = GapMonitor(MinimumRate("recall", floor), run_length=20, windows=(1,))
        monitor.update(y, decisions, sensitive_features=groups)
        summary = monitor.summary().iloc[-1]
        assert summary["verdict"] == verdict
        assert summary["gap"] == pytest.approx(lowest)
        assert summary["low"] <= lowest <= summary["high"]
        assert sorted(monitor.to_frame()["estimate"]) == pytest.approx(np.sort(recalls))
        ((name, rate, _),) = monitor.windows_["extremes"].item()
        assert rate == pytest.approx(lowest)
        assert str(np.unique(groups)[recalls.argmin()]) in str(name)


@pytest.mark.parametrize(
    "constraint, match",
    [
        (RateParity("recal"), "Did you mean 'recall'"),
        (MinimumRate("recall", 75), "bound must be at most 1"),
        (MinimumRate("treatment_equality", 0.5), "without a largest value"),
        (MaximumRate("recall", -0.1), "bound"),
        (RateParity("recall", tolerance=5), "more than any gap"),
    ],
)
def test_bad_parameters(constraint, match):
    X, y, groups = make_data(200)
    with pytest.raises(ValueError, match=match):
        ConstrainedERMClassifier(constraint).fit(X, y, sensitive_features=groups)


@pytest.mark.parametrize(
    "tables, match",
    [
        (({"tp": 1}, {"tn": -1}), "less than 0"),
        (({"tp": 1}, {}), "one more"),
        (({"TP": 1},), "keys"),
        (((1, 0, 0),), "four finite numbers"),
        (({"tp": np.inf},), "four finite numbers"),
        (("recall",), "four finite numbers"),
    ],
)
def test_bad_tables(tables, match):
    with pytest.raises(ValueError, match=match):
        Rate("mine", *tables)


def test_groups_without_selected_samples_have_no_precision():
    X, y, groups = make_data(300)
    scores = np.where(groups == "a", -1.0, 1.0)
    assert np.isnan(bind(RateParity("precision"), y, groups).value(scores))


def test_networks_keep_a_floor():
    X, y, groups = make_data(1000)
    model = ConstrainedMLPClassifier(MinimumRate("recall", 0.85), random_state=0)
    model.fit(X, y, sensitive_features=groups)
    assert score_groups(recall_score, y, model.predict(X), groups).min() >= 0.85
