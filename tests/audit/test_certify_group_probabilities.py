"""Certificates of groups that are known as probabilities."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skfair.__main__ import main
from skfair._statistics.hidden_groups import ProbabilisticGroups
from skfair.constraints import DemographicParity, EqualOpportunity, MinimumRate
from skfair.statistics import gap_interval
from tests.audit.doors import certify_model, certify_predictions, skip_unexamined_numbers

RNG = np.random.default_rng(0)
N = 6000
SEX = RNG.integers(2, size=N)
Y = (RNG.random(N) < 0.4).astype(int)
DECISIONS = (RNG.random(N) < np.where(SEX, 0.5, 0.4)).astype(int)
MALE = 1.0 / (1.0 + np.exp(-1.5 * (RNG.normal(size=N) + 1.5 * SEX - 0.75)))
PROBABILITIES = pd.DataFrame({"female": 1.0 - MALE, "male": MALE})
RECORDED = np.where(RNG.random(N) < 0.2, np.where(SEX, "male", "female"), None)
SENTENCES = {
    "error": "however group and value are linked",
    "sufficient": "if values and groups are uncorrelated among samples of equal probabilities",
    "independent": "if the probabilities do not depend on values among samples of one group",
}


def certificate(**settings):
    settings = {"group_probabilities": PROBABILITIES, "tolerance": 0.3} | settings
    return certify_predictions(Y, DECISIONS, **settings)


@pytest.mark.parametrize("missing", SENTENCES)
def test_the_limit_is_that_of_the_largest_possible_difference(missing):
    """Limit each difference of rates by probabilities at the level of the claim."""
    groups = ProbabilisticGroups(PROBABILITIES, missing)
    masks = {"demographic_parity": np.ones(N, dtype=bool), "equal_opportunity": Y == 1}
    differences = sparse.csr_array([[1.0, 0.0, 0.0, -1.0], [0.0, 1.0, -1.0, 0.0]])
    for constraint, within in masks.items():
        ends = groups.extreme_rates(DECISIONS.astype(float), [(within, [0, 1])])
        high = min(1.0, ends.upper(differences, 0.95).max())
        shown = certificate(constraint=constraint, missing=missing, tolerance=0.6)
        assert shown.high == pytest.approx(high, abs=1e-6)
        assert shown.is_shown == (high <= 0.6)
        assert str(shown).endswith(f" This holds {SENTENCES[missing]}.")
        assert shown.required_sample_size is None and shown.n_smallest is None
        assert shown.estimate == pytest.approx((differences @ ends.values).max())


def test_certain_probabilities_are_groups():
    certain = pd.DataFrame({"0": 1.0 - SEX, "1": SEX.astype(float)})
    limit = gap_interval(DECISIONS, sensitive_features=SEX, confidence_level=0.9).high
    for missing in SENTENCES:
        shown = certificate(group_probabilities=certain, missing=missing)
        assert shown.high == pytest.approx(limit, abs=2e-3) and shown.is_shown


def test_bounds_contain_what_any_assumption_gives():
    bounds = certificate()
    for missing in ("sufficient", "independent"):
        shown = certificate(missing=missing)
        assert bounds.low <= shown.low and shown.high <= bounds.high
    assert bounds.estimate > 0.3 and not bounds.is_shown and not bounds.is_contradicted


def test_an_exceeded_tolerance_is_shown_under_the_assumption_that_holds():
    assert certificate(missing="independent", tolerance=0.02).is_contradicted


def test_ratios_and_several_cells():
    ratio = certificate(
        constraint=DemographicParity(ratio=0.6), tolerance=None, missing="sufficient"
    )
    assert ratio.is_shown and ratio.unit == "ratio"
    odds, alone = (
        certificate(constraint=name, missing="independent")
        for name in ("equalized_odds", "equal_opportunity")
    )
    assert odds.high >= alone.high and odds.estimate >= alone.estimate


def test_probabilities_narrow_the_limits_of_missing_groups():
    settings = {"sensitive_features": RECORDED, "missing": "at_random", "X": Y[:, np.newaxis]}
    both = certificate(**settings)
    without = certificate(**settings, group_probabilities=None)
    assert both.high < without.high and both.low > without.low
    assert both.low < 0.1 < both.high
    assert both.assumption == "if groups are missing at random given X, predictions and outcomes"


def test_models_and_their_predictions_have_the_same_certificate():
    from sklearn.dummy import DummyClassifier

    model = DummyClassifier(strategy="stratified", random_state=0).fit(Y[:, np.newaxis], Y)
    X = Y[:, np.newaxis]
    settings = {"group_probabilities": PROBABILITIES, "missing": "sufficient", "tolerance": 0.2}
    expected = certify_predictions(Y, model.predict(X), **settings)
    assert certify_model(model, X, Y, **settings) == expected
    settings = {"sensitive_features": RECORDED, "missing": "at_random", "tolerance": 0.2, "X": X}
    expected = certify_predictions(Y, model.predict(X), odds_ratio=1.3, **settings)
    assert certify_model(model, y=Y, odds_ratio=1.3, **settings) == expected


@pytest.mark.slow
def test_at_most_one_in_twenty_is_certified_on_the_edge(monkeypatch):
    """Probabilities are independent of decisions given the group; the gap equals the tolerance."""
    skip_unexamined_numbers(monkeypatch)
    certified = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        sex = rng.integers(2, size=2000)
        decisions = (rng.random(2000) < np.where(sex, 0.5, 0.4)).astype(int)
        male = 1.0 / (1.0 + np.exp(-1.5 * (rng.normal(size=2000) + 1.5 * sex - 0.75)))
        certified += certify_predictions(
            None,
            decisions,
            group_probabilities=np.column_stack([1.0 - male, male]),
            missing="independent",
            tolerance=0.1,
        ).is_shown
    assert certified / 200 <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group_probabilities": None}, "pass sensitive_features, or SensitiveFeatures"),
        ({"missing": "random"}, "missing must be one of"),
        ({"missing": "at_random"}, "are known as probabilities alone"),
        ({"missing": "group"}, "missing must be one of 'error', 'sufficient', 'independent'"),
        ({"odds_ratio": 2.0}, "is about samples whose group is missing"),
        ({"sensitive_features": SEX}, "missing='at_random' only; got missing='error'"),
        ({"sensitive_features": SEX, "missing": "sufficient"}, "where groups have labels"),
        (
            {"sample_weight": np.random.default_rng(0).random(N)},
            "not implemented for sample_weight",
        ),
        (
            {"constraint": EqualOpportunity(reference="overall")},
            "a table of probabilities of groups is for differences",
        ),
        (
            {"constraint": MinimumRate("recall", 0.2), "tolerance": None},
            "a table of probabilities of groups is for differences",
        ),
        ({"group_probabilities": np.ones((N, 2))}, "sum to 1"),
        ({"group_probabilities": PROBABILITIES[:9]}, "inconsistent|index"),
        ({"group_probabilities": PROBABILITIES.set_axis(range(N, 0, -1))}, None),
        (
            {"group_probabilities": np.full((N, 2), 0.5), "missing": "independent"},
            "nearly collinear",
        ),
        (
            {"group_probabilities": np.column_stack([np.full(N, 0.001), np.full(N, 0.999)])},
            "must each have 30 recorded samples, or as many expected ones",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_certified_is_refused(settings, message):
    if message is None:  # the index of another column differs
        with pytest.raises(ValueError, match="index"):
            decisions = pd.Series(DECISIONS, index=range(1, N + 1))
            certify_predictions(Y, decisions, tolerance=0.3, **settings)
        return
    settings = {"constraint": DemographicParity(min_group_size=1)} | settings
    with pytest.raises(ValueError, match=message):
        certificate(**settings)


# The command line -----------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "decisions.csv"
    table = PROBABILITIES.assign(d=DECISIONS, y=Y, recorded=RECORDED, x=Y)
    table.to_csv(path, index=False)
    return str(path)


@pytest.mark.slow
def test_commands_take_probabilities_of_groups(path, capsys):
    command = ["certify", path, "--prediction", "d", "--target", "y", "--tolerance", "0.3"]
    probabilities = ["--group-probability", "female", "male"]
    status = main([*command, *probabilities, "--missing", "independent"])
    assert str(certificate(missing="independent")) in capsys.readouterr().out and status == 0
    status = main([*command, *probabilities])
    assert str(certificate()) in capsys.readouterr().out and status == 1
    options = ["--sensitive", "recorded", "--missing", "at_random", "--features", "x"]
    main([*command, *probabilities, *options, "--odds-ratio", "1.2"])
    expected = certificate(
        sensitive_features=pd.Series(RECORDED, name="recorded"),
        missing="at_random",
        X=Y[:, np.newaxis],
        odds_ratio=1.2,
    )
    assert str(expected) in capsys.readouterr().out
    report = ["report", path, "--prediction", "d", "--target", "y", "--json", "-"]
    main([*report, *probabilities, "--missing", "sufficient"])
    assert SENTENCES["sufficient"] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "by --group-probability"),
        (["--group-probability", "female", "x"], "must be in [0, 1] and sum to 1"),
        (["--group-probability", "female", "recorded"], "must be complete"),
        (["--sensitive", "recorded", "--features", "x"], "--features is about samples"),
        (["--sensitive", "x", "--odds-ratio", "2"], "missing='at_random' only"),
        (["--sensitive", "x", "--missing", "sufficient"], "where groups have labels"),
        (["--group-probability", "d", "male"], "--group-probability"),
    ],
)
def test_options_that_contradict_each_other_are_errors(path, options, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["certify", path, "--prediction", "d", "--tolerance", "0.3", *options])
    error = " ".join(capsys.readouterr().err.split())
    assert caught.value.code == 2 and message in error, error
