"""Limits of audits whose samples belong together: clusters, and pairs of two versions."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multinomial
from sklearn.linear_model import LogisticRegression

from skfair._groups.events import Events
from skfair._statistics.bounded_means import BoundedMeans, make_estimates
from skfair._statistics.estimates import pairwise_contrasts
from skfair._statistics.limits_of_rates import clopper_pearson_limits
from skfair.audit import Audit, Claim, SensitiveFeatures, verify
from skfair.constraints import (
    DemographicParity,
    MinimumRate,
    PartialStatisticalParity,
    RateParity,
)
from skfair.monitoring import GapMonitor


def draw_pairs(n, gains, losses, n_both):
    """Decisions about n texts in two versions, the version of each sample, and its text."""
    first, second = np.zeros((2, n), dtype=int)
    first[: n_both + losses], second[:n_both] = 1, 1
    second[n_both + losses : n_both + losses + gains] = 1
    return np.append(first, second), np.repeat(["A", "B"], n), np.tile(np.arange(n), 2)


def draw_families(n, rng, size=4):
    """Decisions about families of equal group whose members are with one decision each."""
    group = rng.integers(2, size=n)
    decided = rng.random(n) < 0.3
    return (np.repeat(one, size) for one in (decided.astype(int), group, np.arange(n)))


def audit_clusters(decisions, group, clusters, order=slice(None), **settings):
    settings = {"groups": clusters[order]} | settings
    return Audit.from_predictions(
        None, decisions[order], sensitive_features=group[order], **settings
    )


def test_limit_of_pairs_is_exact_for_gains_alone():
    sample = draw_pairs(1000, 39, 0, 400)
    exact = clopper_pearson_limits(39, 1000, 0.95)[1]
    for order in (slice(None), np.random.default_rng(0).permutation(2000)):
        claim = audit_clusters(*sample, order).certify(tolerance=0.0507)
        assert claim.is_shown
        assert claim.high == pytest.approx(exact, abs=1e-5)
        assert claim.high == pytest.approx(0.0506, abs=5e-5)
        assert claim.sizes == {"A": 1000, "B": 1000}
    assert audit_clusters(*sample, groups=None).certify(tolerance=0.06).high > 0.07
    report = audit_clusters(*sample).report()
    gap = report.gaps.set_index("metric").loc["selection_rate"]
    assert gap["gap_high"] - gap["gap_low"] < 0.026
    assert "Limits count clusters of samples, not samples: 1,000 by groups." in report.findings


@pytest.mark.slow
def test_no_truth_just_above_limits_of_pairs_is_missed_too_often():
    # All outcomes of 9 pairs, at truths just above each limit, for a grid of nuisance rates.
    n = 9
    gains, losses = np.array([(a, b) for a in range(n + 1) for b in range(n + 1 - a)]).T
    events = Events.disjoint(np.repeat([0, 1], n), 2)
    units = np.tile(np.arange(n), 2)
    form = pairwise_contrasts(2)[[1]]
    limits = np.array(
        [
            BoundedMeans(events, draw_pairs(n, a, b, 0)[0].astype(float), (0.0, 1.0), units).upper(
                form, 0.95
            )[0]
            for a, b in zip(gains, losses, strict=True)
        ]
    )

    outcomes = np.column_stack((gains, losses, n - gains - losses))
    for truth in np.unique(limits[limits < 1.0])[::4] + 1e-6:
        for share in np.linspace(0.0, 1.0, 6):
            loss = share * max(0.0, (1.0 - truth) / 2.0) if truth >= 0 else share * 0.5 - truth
            rates = loss + truth, loss, 1.0 - truth - 2.0 * loss
            if min(rates) >= 0.0:
                probability = multinomial.pmf(outcomes, n, rates)
                assert probability[limits < truth].sum() <= 0.05 + 1e-9


def test_a_claim_is_that_of_one_sample_for_each_family_of_equal_members():
    decisions, group, family = draw_families(200, np.random.default_rng(0))
    claim = audit_clusters(decisions, group, family).certify(tolerance=0.1)
    first = slice(None, None, 4)
    one = audit_clusters(decisions, group, family, first).certify(tolerance=0.1)
    # Ids that are all different make samples independent.
    assert one.is_exact and "clusters" not in one.source
    assert claim.estimate == pytest.approx(one.estimate)
    assert claim.high == pytest.approx(one.high, rel=0.08)
    assert claim.sizes == {name: 4 * n for name, n in one.sizes.items()}
    assert "This holds if clusters of samples are independent." in claim.text
    for repeated in (Claim.from_json(claim.to_json()), claim):
        assert verify(repeated, audit_clusters(decisions, group, family)) == []


def test_families_show_few_false_claims():
    rng = np.random.default_rng(1)
    pairs = pairwise_contrasts(2)
    false = 0
    for _ in range(40):
        decided, group, family = draw_families(150, rng)
        shift = (rng.random(150) < 0.1 / 0.7)[family] & (group == 1)
        events = Events.disjoint(group, 2)
        rates = make_estimates(events, np.where(shift, 1, decided), family)
        false += rates.upper(pairs, 0.95).max() <= 0.1
    assert false <= 3


def test_clusters_of_unequal_size_and_weights_of_samples_are_one_unit():
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 6, size=120)
    cluster = np.repeat(np.arange(120), sizes)
    x = rng.random(len(cluster))
    weights = rng.integers(1, 4, size=len(cluster)).astype(float)
    group = cluster % 2
    events = Events.disjoint(group, 2, weights)
    totals = np.bincount(cluster, weights)
    means = np.bincount(cluster, weights * x) / totals
    joined = BoundedMeans(Events.disjoint(np.arange(120) % 2, 2, totals), means, (0.0, 1.0))
    order = rng.permutation(len(x))
    shuffled = Events.disjoint(group[order], 2, weights[order])
    for one in (
        BoundedMeans(events, x, (0.0, 1.0), cluster),
        BoundedMeans(shuffled, x[order], (0.0, 1.0), cluster[order]),
    ):
        np.testing.assert_allclose(one.limits(0.95), joined.limits(0.95), rtol=1e-6)
        assert one.counts.tolist() == np.bincount(group).tolist()
    # Student's limits of values without bound count units too.
    several = make_estimates(events, x, cluster)
    single = make_estimates(joined_events(), means)
    assert several.n_units.tolist() == [60, 60] and single.n_units.tolist() == [60, 60]


def joined_events():
    return Events.disjoint(np.arange(120) % 2, 2)


def test_a_single_cluster_has_no_limit_of_its_mean():
    x = np.arange(40.0)
    group = np.repeat([0, 1], 20)
    cluster = np.append(np.zeros(20), range(1, 21))
    means = make_estimates(Events.disjoint(group, 2), x, cluster.astype(int))
    assert np.isinf(means.limits(0.95)[1][0])


def test_an_incomplete_pair_hardly_widens_limits():
    sample = draw_pairs(400, 20, 4, 150)
    complete = audit_clusters(*sample).certify(tolerance=0.2).high
    incomplete = audit_clusters(*sample, order=np.arange(1, 800)).certify(tolerance=0.2).high
    independent = audit_clusters(*sample, groups=None).certify(tolerance=0.2).high
    assert incomplete == pytest.approx(complete, abs=0.003)
    assert incomplete < independent - 0.02


@pytest.mark.parametrize(
    ("constraint", "tolerance"),
    [
        ("equal_opportunity", 0.9),
        ("mean_parity", 0.9),
        ("loss_parity", 5.0),
        (RateParity("f1_score"), 0.9),
        (MinimumRate("recall", 0.01), None),
        (DemographicParity(ratio=0.1), None),
    ],
)
def test_limits_of_all_kinds_count_clusters(constraint, tolerance):
    decisions, group, family = draw_families(100, np.random.default_rng(3))
    truth = np.repeat(np.arange(100) % 2, 4)
    model = LogisticRegression()
    X = np.column_stack((decisions + 0.2 * truth, group))
    model.fit(X, truth)
    one, several = (
        Audit.from_estimator(
            model, X, truth, sensitive_features=group, groups=groups, pos_label=1
        ).certify(constraint, tolerance)
        for groups in (np.arange(400), family)
    )
    assert several.estimate == pytest.approx(one.estimate, abs=1e-9)
    name = "low" if one.form in ("floor", "ratio") else "high"
    reach = [abs(getattr(claim, name) - claim.estimate) for claim in (one, several)]
    assert reach[1] > 1.3 * reach[0]


@pytest.mark.slow
def test_reports_count_clusters_and_leave_out_what_cannot():
    decisions, group, family = draw_families(200, np.random.default_rng(4))
    truth = np.tile([0, 1], 400)
    scores = 0.6 * decisions + 0.2
    settings = {"sensitive_features": group, "y_score": scores}
    report = Audit.from_predictions(truth, decisions, groups=family, **settings).report()
    plain = Audit.from_predictions(truth, decisions, **settings).report()
    frame, other = (one.frame.set_index(["group", "metric"]) for one in (report, plain))
    at = ("overall", "selection_rate")
    assert frame.loc[at, "n"] == 800
    width, narrow = (one.loc[at, "high"] - one.loc[at, "low"] for one in (frame, other))
    assert width == pytest.approx(2.0 * narrow, rel=0.1)
    assert "roc_auc" not in set(report.frame["metric"]) and report.reliability is None
    assert "roc_auc" in set(plain.frame["metric"])
    with pytest.raises(ValueError, match="independent"):
        report.adverse_impact()


@pytest.mark.slow
def test_changes_count_clusters():
    rng = np.random.default_rng(5)
    decisions, group, family = draw_families(200, rng)
    later = np.where((rng.random(200) < 0.1)[family], 1, decisions)
    before = audit_clusters(decisions, group, family)
    order = rng.permutation(800)
    of_audit = before.compare(audit_clusters(later, group, family, order)).gaps
    of_model = before.compare(later).gaps
    pd.testing.assert_frame_equal(of_audit, of_model)
    plain = audit_clusters(decisions, group, family, groups=None).compare(later).gaps
    assert (of_model["change_high"] > 1.5 * plain["change_high"]).all()
    with pytest.raises(ValueError, match="groups must be left out for one of two audits alone"):
        before.compare(audit_clusters(later, group, family, groups=None))


@pytest.mark.slow
def test_clusters_are_refused_where_limits_count_samples():
    decisions, group, family = draw_families(60, np.random.default_rng(6))
    settings = {"sensitive_features": group, "y_score": np.linspace(0.1, 0.9, 240)}
    audit = Audit.from_predictions(np.tile([0, 1], 120), decisions, groups=family, **settings)
    refused = [
        lambda: audit.subgroups(),
        lambda: audit.top(10),
        lambda: audit.report(min_published=10),
        lambda: audit.certify(tolerance=0.5, min_published=10),
        lambda: audit.compare(decisions, min_published=10),
        lambda: audit.report(metrics=["roc_auc"]),
        lambda: audit.certify(PartialStatisticalParity((0.0, 0.5)), 0.5),
        lambda: GapMonitor("demographic_parity", 0.1).update_from(audit),
        lambda: audit_clusters(
            decisions, SensitiveFeatures(np.where(group, "a", None), missing="at_random"), family
        ),
    ]
    for ask in refused[:-1]:
        with pytest.raises(
            ValueError, match="groups must be left out for .*one by one|not those of clusters"
        ):
            ask()
    for wrong in (np.zeros(240), family[:-1], np.where(family, family, np.nan)):
        with pytest.raises(ValueError, match="groups|lengths"):
            Audit.from_predictions(None, decisions, sensitive_features=group, groups=wrong)
    # The audit is as before.
    assert audit.certify(tolerance=0.5).is_shown


def test_models_are_not_warned_of_where_groups_are_passed(recwarn):
    rng = np.random.default_rng(7)
    X = np.hstack((rng.normal(size=(100, 4))[np.arange(300) // 3], rng.normal(size=(300, 1))))
    y = (X[:, 0] > 0).astype(int)
    group = rng.integers(2, size=300)
    model = LogisticRegression().fit(X, y)
    audit = Audit.from_estimator(
        model, X, y, sensitive_features=group, groups=pd.Series(np.arange(300) // 3, name="home")
    )
    assert not len(recwarn) and audit.clusters.name == "home"
    assert audit.source["clusters"] == "100 by home"
