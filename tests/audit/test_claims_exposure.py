"""Claims of exposure: attention in rankings, of which queries are the samples."""

import numpy as np
import pytest

from skfair.audit import Audit
from skfair.constraints import ExposureParity
from skfair.metrics import exposure_difference, exposure_ratio
from tests.audit.doors import skip_unexamined_numbers


def draw_rankings(seed, n_queries=100, n_documents=6, shift=0.7):
    """Scores in queries that favour a group, by more in some than in others."""
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(n_queries), n_documents)
    group = rng.choice(["a", "b"], len(query))
    favour = shift * rng.normal(1.0, 1.0, n_queries)[query]
    return rng.normal(size=len(query)) + favour * (group == "a"), group, query


def audit_rankings(scores, group, query, **columns):
    return Audit.from_predictions(
        None, None, y_score=scores, groups=query, sensitive_features=group, **columns
    )


@pytest.fixture(scope="module")
def rankings():
    return draw_rankings(0)


def test_a_claim_is_about_the_metric_and_names_its_unit(rankings):
    scores, group, query = rankings
    columns = {"sensitive_features": group, "query_id": query}
    audit = audit_rankings(scores, group, query)
    claim = audit.certify(ExposureParity(tolerance=0.3))
    assert claim.estimate == pytest.approx(exposure_difference(scores, **columns))
    assert claim.verdict == "shown" and claim.unit == "units of attention"
    assert "values of exposure of a and b differ by at most 0.3 units of attention" in str(claim)
    assert "probability" not in str(claim)
    assert claim.assumption == (
        "if clusters of samples are independent and no query has a more uneven share of the groups "
        "than those counted"
    )
    first = audit.certify(ExposureParity(ratio=0.5, k=3))
    assert first.estimate == pytest.approx(exposure_ratio(scores, k=3, **columns))
    assert "the smallest exposure of a group is at least 0.5 times" in str(first)


def test_documents_without_weight_are_not_ranked(rankings):
    scores, group, query = rankings
    weights = np.arange(len(scores)) % 3 > 0
    claim = audit_rankings(scores, group, query, sample_weight=weights).certify(
        ExposureParity(tolerance=0.3)
    )
    columns = {"sensitive_features": group[weights], "query_id": query[weights]}
    assert claim.estimate == pytest.approx(exposure_difference(scores[weights], **columns))


def test_what_no_claim_of_exposure_can_be_made_of_is_refused(rankings):
    scores, group, query = rankings
    audits = [
        Audit.from_predictions(None, None, y_score=scores, sensitive_features=group),
        Audit.from_predictions(None, scores > 0, groups=query, sensitive_features=group),
    ]
    for audit in audits:
        with pytest.raises(ValueError, match="needs scores and queries of several documents"):
            audit.certify(ExposureParity(tolerance=0.1))
    with pytest.raises(ValueError, match="without merit"):
        audit_rankings(*rankings).certify(ExposureParity(merit="relevance"), 0.1)
    with pytest.raises(ValueError, match="tolerance .* is None, and ExposureParity has none"):
        audit_rankings(*rankings).certify(ExposureParity())


@pytest.mark.slow
def test_claims_at_the_gap_of_the_population_are_rarely_shown(monkeypatch):
    skip_unexamined_numbers(monkeypatch)
    population = draw_rankings(1, n_queries=40_000)
    gap = exposure_difference(
        population[0], sensitive_features=population[1], query_id=population[2]
    )
    n_draws, n_shown, n_excluded = 80, 0, 0
    for seed in range(n_draws):
        claim = audit_rankings(*draw_rankings(100 + seed)).certify(ExposureParity(tolerance=gap))
        n_shown += claim.verdict == "shown"
        n_excluded += claim.verdict == "contradicted"
    # One of twenty is expected at most.
    limit = 0.05 * n_draws + 2.0 * np.sqrt(0.05 * 0.95 * n_draws)
    assert n_shown <= limit and n_excluded <= limit
