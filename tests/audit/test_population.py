"""Shares of groups against a population, declared groups, and data without a model."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

from skfair.audit import Audit, Claim, FairnessReport, SensitiveFeatures, verify
from skfair.audit._population import GroupShares, find_share_limits, tabulate_shares

RNG = np.random.default_rng(0)
N = 800
SEX = pd.Series(np.repeat(["f", "m"], [320, 480]), name="sex")
OUTCOMES = np.where(RNG.random(N) < np.where(SEX == "f", 0.3, 0.5), "yes", "no")
POPULATION = {"sex": {"f": 0.51, "m": 0.49}}


def audit_outcomes(sensitive_features=SEX, outcomes=OUTCOMES, **settings):
    """The audit of outcomes without predictions."""
    settings = {"pos_label": "yes"} | settings
    settings |= {"sensitive_features": sensitive_features}
    return Audit.from_predictions(outcomes, None, **settings)


def draw_table(seed):
    """Groups of samples by one attribute, of which some are rare or absent, and a level."""
    rng = np.random.default_rng(seed)
    labels = list("abcdefg")[: rng.integers(2, 8)]
    shares = rng.dirichlet(rng.choice([0.1, 1.0, 10.0]) * np.ones(len(labels)))
    groups = rng.choice(labels, size=rng.choice([31, 200, 3000]), p=shares)
    column = pd.Series(pd.Categorical(groups, categories=labels), name="one")
    return column, rng.choice([0.8, 0.95, 0.99])


@pytest.mark.slow
def test_intervals_of_sixty_drawn_tables_are_those_of_scipy():
    differing = 0
    for seed in range(60):
        column, level = draw_table(seed)
        population = {"one": dict.fromkeys(column.cat.categories, 1.0 / len(column.cat.categories))}
        audit = audit_outcomes(column, np.arange(len(column)) % 2, pos_label=1)
        shares = tabulate_shares(audit, population, None, level)
        for row in shares.to_dict("records"):
            hits = int((column == row["group"]).sum())
            test = stats.binomtest(hits, len(column))
            low, high = test.proportion_ci(level, method="exact")
            values = row["n"], row["estimate"], row["low"], row["high"]
            differing += values != pytest.approx((hits, hits / len(column), low, high), abs=1e-12)
        assert {*shares["group"]} == {*column.cat.categories}
    assert differing == 0


def test_a_row_has_the_difference_and_its_verdict():
    """320 of 800 are 40 %, 11 points less than 51 %; the limits are 36.6 and 43.5 %."""
    shares = (
        audit_outcomes().report(population=POPULATION, tolerance=0.05).shares.set_index("group")
    )
    row = shares.loc["f"]
    assert row[["n", "population", "estimate"]].tolist() == [320, 0.51, 0.4]
    assert row[["low", "high"]].tolist() == pytest.approx([0.36585, 0.43489], abs=1e-5)
    expected = [-0.11, 0.36585 - 0.51, 0.43489 - 0.51]
    names = ["difference", "difference_low", "difference_high"]
    assert row[names].tolist() == pytest.approx(expected, abs=1e-5)
    assert shares["verdict"].tolist() == ["contradicted"] * 2


@pytest.mark.parametrize(
    ("tolerance", "verdict"),
    [(0.05, "contradicted"), (0.1, "open"), (0.2, "shown"), (None, "contradicted")],
)
def test_report_and_claim_have_the_same_verdict(tolerance, verdict):
    audit = audit_outcomes()
    report = audit.report(population=POPULATION, tolerance=tolerance)
    assert {*report.shares["verdict_of_all"]} == {verdict}
    assert report.has_finding  # of outcomes
    if tolerance is not None:
        claim = audit.certify(tolerance=tolerance, population=POPULATION)
        assert claim.verdict == verdict
        assert claim.is_exact and "the share of no group by sex differs" in claim.text
        assert f"Here they differ by {100 * claim.estimate:.3g} percentage points" in claim.text
        assert claim.sizes == {"f": 320, "m": 480}


def test_a_share_alone_is_a_finding():
    outcomes = np.resize(["yes", "no"], N)
    audit = audit_outcomes(outcomes=outcomes)
    assert not audit.report().has_finding
    assert not audit.report(population=POPULATION, tolerance=0.2).has_finding
    assert audit.report(population=POPULATION, tolerance=0.05).has_finding


@pytest.mark.parametrize("n_groups", [2, 3])
def test_verdicts_err_as_often_as_the_level_allows(n_groups):
    """The error of the claim, summed over all samples of 40, at the edge of its tolerance."""
    n, tolerance, level = 40, 0.1, 0.9
    targets = np.full(n_groups, 1.0 / n_groups)
    true = targets.copy()
    true[:2] += [tolerance, -tolerance]
    is_shown, is_contradicted = 0.0, 0.0
    for first in range(n + 1):
        for second in range(n + 1 - first) if n_groups == 3 else [n - first]:
            rest = [n - first - second] * (n_groups - 2)
            counts = np.array([first, second, *rest])
            shares = [GroupShares("one", list("abc")[:n_groups], counts, targets)]
            weight = stats.multinomial.pmf(counts, n, true)
            verdict = find_share_limits(shares, tolerance, level).verdict
            is_shown += weight * (verdict == "shown")
            is_contradicted += weight * (verdict == "contradicted")
    assert 0.0 <= is_shown <= 0.1 and 0.0 < is_contradicted <= 0.1


def test_limits_of_the_largest_difference_are_those_of_clopper_and_pearson():
    """Of three groups the lower limit divides its error by six; the upper one does not."""
    counts, targets = np.array([60, 30, 10]), np.array([0.4, 0.35, 0.25])
    limits = find_share_limits([GroupShares("one", list("abc"), counts, targets)], 0.05, 0.95)

    def ends(level):
        exact = [stats.binomtest(int(k), 100).proportion_ci(level, "exact") for k in counts]
        return np.array(exact).T - targets

    low, high = ends(0.9)  # each end at .95
    assert limits.high == pytest.approx(max(high.max(), -low.min()))
    low, high = ends(1.0 - 0.05 / 3)
    assert limits.low == pytest.approx(max(low.max(), -high.min()))
    assert limits.estimate == pytest.approx(0.2)


def test_two_attributes_and_their_intersection():
    table = pd.DataFrame({"sex": SEX, "old": np.resize([True, False, False, False], N)})
    both = {"f × True": 0.12, "f × False": 0.39, "m × True": 0.13, "m × False": 0.36}
    population = POPULATION | {"old": {True: 0.25, False: 0.75}, "sex × old": both}
    audit = audit_outcomes(table)
    shares = audit.report(population=population).shares
    assert shares.groupby("attribute", sort=False).size().to_dict() == {
        "sex": 2,
        "old": 2,
        "sex × old": 4,
    }
    assert shares.set_index("group").loc["f × True", "n"] == 80
    claim = audit.certify(tolerance=0.15, population=population)
    assert claim.verdict == "shown" and claim.sizes["sex × old: f × True"] == 80
    assert verify(claim.to_json(), audit) == []


def test_counts_have_the_shares_of_their_samples():
    table = pd.DataFrame({"sex": SEX, "y": OUTCOMES}).value_counts().rename("n").reset_index()
    counted = Audit.from_counts(
        table, counts="n", sensitive_features="sex", y_true="y", pos_label="yes"
    )
    report = counted.report(population=POPULATION)
    assert report.shares.equals(audit_outcomes().report(population=POPULATION).shares)
    assert report.frame.equals(audit_outcomes().report().frame)


def test_samples_of_unknown_group_are_left_out_or_a_group():
    groups = SEX.where(np.arange(N) % 4 > 0)
    left_out = SensitiveFeatures(groups, missing="exclude")
    shares = audit_outcomes(left_out).report(population=POPULATION).shares
    assert shares["n"].tolist() == [240, 360]
    claim = audit_outcomes(left_out).certify(tolerance=0.2, population=POPULATION)
    assert claim.n_missing == {"group": 200}
    table = pd.DataFrame({"sex": groups, "old": np.resize([True, False, None, None, None], N)})
    population = POPULATION | {"old": {"True": 0.4, "False": 0.6}}
    audit = audit_outcomes(SensitiveFeatures(table, missing="exclude"))
    claim = audit.certify(tolerance=0.2, population=population)
    assert claim.n_missing == {"group by sex": 200, "group by old": 480}
    assert claim.sizes["sex: f"] == 240 and claim.sizes["old: True"] == 160
    as_group = SensitiveFeatures(groups, missing="group")
    with pytest.raises(ValueError, match=r"lacks '\(missing\)'.*missing='exclude'"):
        audit_outcomes(as_group).report(population=POPULATION)
    population = {"sex": {"f": 0.4, "m": 0.4, "(missing)": 0.2}}
    assert audit_outcomes(as_group).report(population=population).shares["n"].sum() == N


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sample_weight": np.arange(1, N + 1) / 7.3}, "samples have weights, .* or of weights"),
        ({"groups": np.arange(N) // 2}, "clusters .* of samples or of clusters"),
    ],
)
def test_two_readings_of_a_share_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        audit_outcomes(**settings).report(population=POPULATION)


def test_overlapping_and_estimated_groups_have_no_shares():
    decisions = OUTCOMES == "yes"
    members = sparse.csr_array(pd.get_dummies(SEX).to_numpy())
    with pytest.raises(ValueError, match="groups overlap"):
        audit_outcomes(members).report(population={"group": {"0": 0.5, "1": 0.5}})
    known = SensitiveFeatures(SEX.where(np.arange(N) % 4 > 0), missing="at_random")
    audit = Audit.from_predictions(None, decisions, sensitive_features=known)
    with pytest.raises(ValueError, match="groups are not all known"):
        audit.certify(tolerance=0.1, population=POPULATION)


@pytest.mark.parametrize(
    ("population", "message"),
    [
        ({"sex": {"f": 0.51, "m": 0.48}}, "sum to 1, but those by 'sex' sum to 0.99"),
        ({"sex": {"f": 1.0}}, "lacks 'm'. Add their shares"),
        ({"sex": {"F": 0.51, "m": 0.49}}, "lacks 'f'.*No sample is of 'F': write labels as the"),
        ({"sex": {"f": 0.5, "m": 0.4, "M ": 0.1}}, "has 'M ' in addition to 'm', which differs"),
        ({"race": {"a": 1.0}}, "'race' is no attribute of sensitive_features, which has 'sex'"),
        ({"f": 0.51, "m": 0.49}, "must have the share of each group by attribute"),
        ({}, "must have the share of each group by attribute"),
        ({"sex": {"f": "51 %", "m": 0.49}}, "that of 'f' by 'sex' is '51 %'. Write 51 % as 0.51"),
        ({"sex": {"f": 51, "m": 49}}, "that of 'f' by 'sex' is 51. Write"),
    ],
)
def test_populations_that_do_not_fit(population, message):
    audit = audit_outcomes()
    for question in (audit.report, lambda **one: audit.certify(tolerance=0.1, **one)):
        with pytest.raises(ValueError, match=message):
            question(population=population)


def test_a_group_of_the_population_without_a_sample_has_a_share_of_0():
    """Limits of 0 of 800 by Clopper and Pearson: up to 1 - .025 ** (1 / 800)."""
    population = {"sex": {"f": 0.5, "m": 0.4, "x": 0.1}}
    report = audit_outcomes().report(population=population, tolerance=0.05)
    row = report.shares.set_index("group").loc["x"]
    assert row[["n", "population", "estimate", "low"]].tolist() == [0, 0.1, 0.0, 0.0]
    high = 1.0 - 0.025 ** (1.0 / N)
    assert row["high"] == pytest.approx(high, abs=1e-12)
    assert row["verdict"] == "contradicted"
    sentence = f"group by sex: 'x', a share of 0 % (0 to {100 * high:.2f}"
    assert any(sentence in one for one in report.findings)
    # As if the group had been declared as a category.
    declared = SEX.astype(pd.CategoricalDtype(["f", "m", "x"]))
    other = audit_outcomes(declared).report(population=population, tolerance=0.05)
    assert other.shares.equals(report.shares)
    assert other.findings == report.findings
    claim = audit_outcomes().certify(tolerance=0.05, population=population)
    assert claim.sizes == {"f": 320, "m": 480, "x": 0}
    assert claim == audit_outcomes(declared).certify(tolerance=0.05, population=population)
    assert verify(claim.to_json(), audit_outcomes()) == []


def test_a_label_of_unknown_groups_is_no_group_of_a_population():
    labels = SEX.where(np.arange(N) % 10 > 0, "Unknown")
    known = SensitiveFeatures(labels, unknown=["Unknown"], missing="exclude")
    population = {"sex": {"f": 0.5, "m": 0.4, "Unknown": 0.1}}
    with pytest.raises(ValueError, match="'Unknown' is a label of unknown ones. Leave it out"):
        audit_outcomes(known).report(population=population)


def test_shares_may_be_those_that_pandas_counts():
    counted = {"sex": pd.Series(["f"] * 51 + ["m"] * 49).value_counts(normalize=True)}
    expected = audit_outcomes().report(population=POPULATION).shares
    assert audit_outcomes().report(population=counted).shares.equals(expected)
    with pytest.raises(ValueError, match="of 'f' by 'sex' is 1.5. Write"):
        audit_outcomes().report(population={"sex": {"f": np.float64(1.5), "m": 0.0}})


def test_settings_that_do_not_go_together():
    audit = audit_outcomes()
    with pytest.raises(ValueError, match="tolerance is that of differences from the shares"):
        audit.report(tolerance=0.1)
    for question in (audit.report, lambda **one: audit.certify(tolerance=0.1, **one)):
        with pytest.raises(ValueError, match="Leave one of the two out"):
            question(population=POPULATION, min_published=5)
    with pytest.raises(ValueError, match="constraint must be left out with population"):
        audit.certify("equal_opportunity", 0.1, population=POPULATION)
    with pytest.raises(ValueError, match="tolerance must be the largest difference"):
        audit.certify(population=POPULATION)


def test_shares_are_on_the_page_and_in_the_json():
    report = audit_outcomes().report(population=POPULATION, tolerance=0.05)
    page = report.to_html()
    assert "Shares by sex against a population" in page and "differs by more" in page
    assert "The share of f by sex is 40 % (36.5 to 43.5) of the samples and 51 %" in str(report)
    read = FairnessReport.from_json(report.to_json())
    assert read.shares.equals(report.shares) and read.to_html() == page


def test_a_filed_claim_is_verified():
    audit = audit_outcomes()
    text = audit.certify(tolerance=0.1, population=POPULATION).to_json()
    assert verify(text, audit) == []
    assert "population" in Claim.from_json(text).to_html()
    other = audit_outcomes(SEX.replace({"f": "m"}).where(np.arange(N) < 700, "f"))
    assert {"estimate", "high", "sizes"} <= {*verify(text, other)}
    edited = text.replace("0.51", "0.5").replace("0.49", "0.5")
    assert "estimate" in verify(edited, audit)


# Declared groups that no sample has.


def test_declared_groups_without_samples_are_named():
    """Of 0 among 800 the exact limit at .975 is 1 - .025 ** (1 / 800), .46 %."""
    column = pd.Series(pd.Categorical(SEX, categories=["f", "m", "d", "unknown"]), name="sex")
    known = SensitiveFeatures(column, unknown=["Unknown"])
    with pytest.warns(UserWarning, match="unknown"):
        report = audit_outcomes(known).report()
    assert report.empty_groups == {"sex": ["d"]}
    sentence = "No sample is of a declared group by sex: 'd', a share of 0 % (0 to 0.461 %)."
    assert sentence in report.findings and sentence in report.to_markdown()
    population = {"sex": {"f": 0.5, "m": 0.48, "d": 0.02}}
    row = (
        audit_outcomes(column.cat.remove_categories("unknown")).report(population=population).shares
    )
    row = row.set_index("group").loc["d"]
    assert row[["n", "estimate", "low"]].tolist() == [0, 0.0, 0.0]
    assert row["high"] == pytest.approx(1.0 - 0.025 ** (1 / 800))
    assert row["verdict"] == "contradicted"


def test_columns_without_declared_groups_have_none():
    for groups in (SEX, SEX.tolist(), SEX.astype("category"), SEX.to_numpy()):
        assert audit_outcomes(groups).report().empty_groups == {}


# Data without a model.


def test_data_without_a_model_have_shares_of_outcomes():
    report = audit_outcomes().report()
    assert report.frame["metric"].unique().tolist() == ["share of rows with outcome yes"]
    rows = report.frame.set_index("group")["estimate"]
    assert rows["f"] == pytest.approx((OUTCOMES[SEX == "f"] == "yes").mean())
    text = report.to_markdown()
    assert "Share of rows with outcome yes by sex" in text
    for word in ("election rate", "Selected", "model treats", "mpact ratio by"):
        assert word not in text
    claim = audit_outcomes().certify(tolerance=0.4)
    assert "shares of rows with outcome yes of f and m differ" in claim.text
    decided = Audit.from_predictions(
        None, OUTCOMES, sensitive_features=SEX, pos_label="yes"
    ).certify(tolerance=0.4)
    assert (claim.estimate, claim.high) == (decided.estimate, decided.high)
    assert verify(claim.to_json(), audit_outcomes()) == []


def test_several_outcomes_numbers_and_missing_ones():
    several = audit_outcomes(outcomes=np.resize(list("uvw"), N), pos_label=None)
    assert len(several.report().frame["metric"].unique()) == 3
    claim = several.certify(tolerance=0.2)
    assert "shares of rows with each outcome of f and m differ" in claim.text
    values = np.linspace(0.1, 7.3, N)
    numbers = audit_outcomes(outcomes=values, pos_label=None)
    assert numbers.report().title.startswith("Mean target")
    with pytest.raises(ValueError, match="must compare shares of outcomes"):
        numbers.certify("mean_parity", 0.1)
    missing = audit_outcomes(outcomes=np.where(np.arange(N) % 4 > 0, OUTCOMES, None))
    rows = missing.report().frame.set_index("group")
    assert rows.loc["overall", "n"] == 600
    assert "count the other 600." in str(missing.report())
    assert missing.certify(tolerance=0.4).n_missing == {"outcome": 200}


def test_questions_about_predictions_are_refused():
    audit = audit_outcomes()
    for question in (audit.subgroups, lambda: audit.compare(audit)):
        with pytest.raises(ValueError, match="These are outcomes without predictions"):
            question()
    with pytest.raises(ValueError, match="must compare shares of outcomes"):
        audit.certify("equal_opportunity", 0.1)
    with pytest.raises(ValueError, match="burden"):
        audit_outcomes(burden=True)
    known = SensitiveFeatures(SEX.where(np.arange(N) % 4 > 0), missing="at_random")
    with pytest.raises(ValueError, match="y_pred must hold predictions, since missing="):
        audit_outcomes(known)
