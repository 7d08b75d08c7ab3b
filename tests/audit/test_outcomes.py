"""Outcomes as audits take them: what is said of missing ones, the decision made, and times."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skfair.audit import Audit, Outcomes, verify
from skfair.constraints import RateParity

RNG = np.random.default_rng(0)
N = 8000
SEX = pd.Series(RNG.choice(["F", "M"], N), name="sex")
MERIT = RNG.normal(size=N)
REPAYS = (MERIT + RNG.normal(size=N) > -0.3).astype(int)
GRANTED = (MERIT + 0.4 * (SEX == "M") + 0.3 * RNG.normal(size=N) > 0.2).astype(int)
NEW = (MERIT + 0.5 * RNG.normal(size=N) > 0.0).astype(int)
KNOWN = (GRANTED == 1) | (RNG.random(N) < 0.2)
Y = np.where(KNOWN, REPAYS, np.nan)
OUTCOMES = Outcomes(Y, missing="by_decision", decided=GRANTED)


def weigh(group=None):
    """Accuracy and true positive rate of the new model, by weights of both decisions by hand."""
    inside = np.ones(N, dtype=bool) if group is None else (SEX == group).to_numpy()
    weights = np.zeros(N)
    for sex in ("F", "M"):
        for made in (0, 1):
            for new in (0, 1):
                cell = (SEX == sex).to_numpy() & (GRANTED == made) & (NEW == new)
                weights[cell & KNOWN] = cell.sum() / (cell & KNOWN).sum()
    weights = weights * inside
    is_true = weights * REPAYS
    return {
        "accuracy": weights @ (NEW == REPAYS) / weights.sum(),
        "true_positive_rate": is_true @ NEW / is_true.sum(),
    }


@pytest.mark.parametrize("group", [None, "F", "M"])
def test_a_new_model_is_weighed_by_the_decision_that_was_made(group):
    report = Audit.from_predictions(OUTCOMES, NEW, sensitive_features=SEX).report()
    frame = report.frame[report.frame["group"] == (group or "overall")].set_index("metric")
    for name, expected in weigh(group).items():
        assert frame.loc[name, "estimate"] == pytest.approx(expected)
        assert frame.loc[name, "low"] < expected < frame.loc[name, "high"]
    inside = np.ones(N, dtype=bool) if group is None else (SEX == group).to_numpy()
    # Of the refused who would be granted now only some are known: the precision is weighed, too.
    assert frame.loc["positive_predictive_value", "n"] == (KNOWN & (NEW == 1) & inside).sum()


def test_without_the_decision_that_was_made_numbers_are_wrong():
    by_new = Outcomes(Y, missing="by_decision")
    frame = Audit.from_predictions(by_new, NEW, sensitive_features=SEX).report().frame
    row = frame[(frame["group"] == "overall") & (frame["metric"] == "true_positive_rate")]
    truth = NEW[REPAYS == 1].mean()
    assert abs(row["estimate"].item() - truth) > 0.02 > abs(weigh()["true_positive_rate"] - truth)


def test_all_ways_into_an_audit_take_outcomes(tmp_path):
    table = pd.DataFrame(
        {"y": Y, "granted": GRANTED, "new": NEW, "sex": SEX, "time": np.arange(N) % 12}
    )
    expected = Audit.from_predictions(OUTCOMES, NEW, sensitive_features=SEX).report().frame
    named = Outcomes("y", missing="by_decision", decided="granted")
    counts = table.groupby(["y", "granted", "new", "sex"], dropna=False).size()
    counted = Audit.from_counts(
        counts.rename("n").reset_index(),
        counts="n",
        sensitive_features="sex",
        y_true=named,
        y_pred="new",
    )
    table.astype({"y": "Int64"}).to_csv(tmp_path / "loans.csv", index=False)
    columns = {"y_true": named, "y_pred": "new", "sensitive_features": "sex"}
    filed = Audit.from_file(tmp_path / "loans.csv", columns)
    X = NEW[:, np.newaxis]
    model = LogisticRegression().fit(X, NEW)
    predicted = Audit.from_estimator(model, X, OUTCOMES, sensitive_features=SEX)
    for audit in (counted, filed, predicted):
        frame = audit.report().frame
        frame = frame[frame["metric"].isin(expected["metric"])].reset_index(drop=True)
        columns = ["metric", "group", "n", "estimate", "low", "high"]
        pd.testing.assert_frame_equal(frame[columns], expected[columns], check_dtype=False)
        assert audit.known_outcomes.labels == ("0", "1")


def test_times_separate_late_outcomes_from_outcomes_of_one_decision():
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.sort(RNG.integers(365, size=N)), "D")
    month = days.month.to_numpy()
    granted = (RNG.random(N) < 0.6 - 0.04 * month).astype(int)
    late = np.where(month < 10, REPAYS, np.nan)
    for time in (days, days.strftime("%Y-%m-%d"), month):
        audit = Audit.from_predictions(Outcomes(late, time=time), granted, sensitive_features=SEX)
        assert audit.known_outcomes.case == "by_chance"
        assert "time" in {one.role for one in audit.reading.columns}
    audit = Audit.from_predictions(Outcomes(late), granted, sensitive_features=SEX)
    assert audit.known_outcomes.case == "by_decision"
    with pytest.raises(ValueError, match="time must hold dates"):
        Audit.from_predictions(Outcomes(late, time=RNG.random(N)), granted, sensitive_features=SEX)


@pytest.mark.parametrize("decided", [None, np.ones(N, dtype=int)])
def test_one_decision_cannot_be_weighed(decided):
    outcomes = Outcomes(Y, missing="by_decision", decided=decided)
    with pytest.raises(ValueError, match="all samples are decided '1'"):
        Audit.from_predictions(outcomes, np.ones(N, dtype=int), sensitive_features=SEX)


def test_an_audit_of_one_decision_says_that_no_other_sample_shows_what_is_known():
    everyone = Audit.from_predictions(Y, np.ones(N, dtype=int), sensitive_features=SEX)
    assert everyone.report().findings[1].startswith("All samples are decided '1': no sample of")
    assert "no two decisions show" in everyone.certify("equal_opportunity", 0.1).assumption
    # What the finding advises.
    one_decision = Outcomes(np.where(GRANTED, REPAYS, np.nan), decided=GRANTED)
    by_made = Audit.from_predictions(one_decision, np.ones(N, dtype=int), sensitive_features=SEX)
    assert by_made.known_outcomes.case == "of_one_decision"
    with pytest.raises(ValueError, match="None of the .* samples decided '0'"):
        by_made.certify("equal_opportunity", 0.1)


def test_a_table_of_accepted_samples_only_is_named():
    rows = GRANTED == 1
    accepted = Audit.from_predictions(REPAYS[rows], GRANTED[rows], sensitive_features=SEX[rows])
    assert accepted.report().findings[1].startswith("All samples are decided '1': if samples of")
    expected = "if no samples of another decision are missing from the data"
    assert accepted.certify("equal_opportunity", 0.1).assumption == expected
    assert accepted.certify(RateParity("precision"), 0.9).assumption == ""
    both = Audit.from_predictions(REPAYS, GRANTED, sensitive_features=SEX)
    assert both.certify("equal_opportunity", 0.9).assumption == ""
    assert not any("All samples" in one for one in both.report().findings)


def test_complete_outcomes_need_no_decision():
    outcomes = Outcomes(REPAYS, missing="by_decision", decided=GRANTED, time=np.arange(N) % 12)
    audit = Audit.from_predictions(outcomes, NEW, sensitive_features=SEX)
    plain = Audit.from_predictions(REPAYS, NEW, sensitive_features=SEX)
    assert audit.columns.keys() == plain.columns.keys() and audit.known_outcomes is None
    assert not verify(plain.certify("equal_opportunity", 0.2), audit)


def test_what_is_said_is_in_the_digest():
    salt = "a secret of some length"
    digests = set()
    for missing in (None, "by_decision", "at_random"):
        outcomes = Outcomes(Y, missing=missing, decided=GRANTED)
        audit = Audit.from_predictions(outcomes, NEW, sensitive_features=SEX)
        digests.add(audit.report(salt=salt).provenance["salted_sha256"])
    assert len(digests) == 3


def test_wrong_arguments():
    with pytest.raises(ValueError, match="missing must be"):
        Outcomes(Y, missing="by decision")
    with pytest.raises(ValueError, match="y must hold outcomes"):
        Outcomes(None)
    with pytest.raises(ValueError, match="decided"):
        Audit.from_predictions(Outcomes(Y, decided=Y), NEW, sensitive_features=SEX)
    assert repr(OUTCOMES) == "<Outcomes: missing='by_decision', decided=True>"


def test_sampling_weights_multiply_the_weights_of_known_outcomes():
    drawn = RNG.uniform(0.5, 2.0, size=N)
    y = Outcomes(Y, missing="by_decision")
    audit = Audit.from_predictions(y, GRANTED, sensitive_features=SEX, sample_weight=drawn)
    weights = np.zeros(N)
    for sex in ("F", "M"):
        for made in (0, 1):
            cell = (SEX == sex).to_numpy() & (GRANTED == made)
            weights[cell & KNOWN] = drawn[cell].sum() / drawn[cell & KNOWN].sum()
    weights *= drawn
    rates = {
        sex: np.average(GRANTED[rows], weights=weights[rows])
        for sex, rows in ((one, (SEX == one).to_numpy() & (REPAYS == 1)) for one in ("F", "M"))
    }
    claim = audit.certify("equal_opportunity", 0.5)
    assert claim.estimate == pytest.approx(rates["M"] - rates["F"])
    plain = Audit.from_predictions(y, GRANTED, sensitive_features=SEX)
    frames = [one.report().frame.set_index(["metric", "group"]) for one in (audit, plain)]
    widths = [
        frame.loc["true_positive_rate", "high"] - frame.loc["true_positive_rate", "low"]
        for frame in frames
    ]
    assert (widths[0] > widths[1]).all()


def test_questions_that_messages_name_are_answered():
    """Outcomes of released people only, where the positive decision is to detain."""
    detained = GRANTED
    y = np.where(detained == 0, REPAYS, np.nan)
    audit = Audit.from_predictions(y, detained, sensitive_features=SEX)
    with pytest.raises(ValueError, match="selection rates or the negative predictive value"):
        audit.certify("equal_opportunity", 0.5)
    assert audit.certify(RateParity("negative_predictive_value"), 0.5).verdict == "shown"
    with pytest.raises(ValueError, match="does not tell RateParity"):
        audit.certify(RateParity("precision"), 0.5)
    classes = np.where(GRANTED == 0, "none", np.where(NEW == 1, "large", "small"))
    truth = pd.Series(np.where(REPAYS == 1, classes, "none"), dtype=object)
    several = Audit.from_predictions(truth.where(GRANTED == 1), classes, sensitive_features=SEX)
    with pytest.raises(ValueError, match="selection rates or the precision of other classes"):
        several.certify("equal_opportunity", 0.5)
    assert "positive_predictive_value of class large" in set(several.report().frame["metric"])


def test_limits_of_households_are_wider():
    y = Outcomes(Y, missing="by_decision")
    alone = Audit.from_predictions(y, GRANTED, sensitive_features=SEX)
    households = SEX.astype(str) + pd.Series(np.arange(N) // 4).astype(str)
    together = Audit.from_predictions(y, GRANTED, sensitive_features=SEX, groups=households)
    first, second = (one.certify("equal_opportunity", 0.6) for one in (alone, together))
    assert first.verdict == second.verdict == "shown" and first.estimate == second.estimate
    assert first.high < second.high


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:There is no Dask client")
def test_partitioned_outcomes_are_weighed_by_counts():
    dask = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame({"y": Y, "granted": GRANTED, "new": NEW, "sex": SEX})
    lazy = dask.from_pandas(table, npartitions=3)
    outcomes = Outcomes(lazy["y"], missing="by_decision", decided=lazy["granted"])
    audit = Audit.from_predictions(outcomes, lazy["new"], sensitive_features=lazy[["sex"]])
    expected = Audit.from_predictions(OUTCOMES, NEW, sensitive_features=SEX).report().frame
    columns = ["metric", "group", "n", "estimate", "low", "high"]
    pd.testing.assert_frame_equal(
        audit.report().frame[columns], expected[columns], check_dtype=False
    )
    late = Outcomes(lazy["y"], time=lazy["granted"])
    with pytest.raises(ValueError, match="time must be None where data are partitioned"):
        Audit.from_predictions(late, lazy["new"], sensitive_features=lazy[["sex"]])
