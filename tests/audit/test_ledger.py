"""Certificates tried on one held-out set, which share the error of the level."""

import json
import threading

import numpy as np
import pytest

from skfair.__main__ import main
from skfair._groups import check_groups
from skfair.audit import Audit, certify_in_order
from skfair.audit._ledger import count_attempt, digest_samples, divide_level
from skfair.groups import Samples
from tests.audit.doors import certify_predictions, skip_unexamined_numbers

RNG = np.random.default_rng(0)
GROUPS = np.repeat(["a", "b"], 1000)
DECISIONS = (RNG.random(2000) < np.where(GROUPS == "a", 0.4, 0.45)).astype(int)
OUTCOMES = RNG.integers(2, size=2000)
SAMPLES = Samples(None, check_groups(GROUPS[:50], 50), np.ones(50))
SALT, OTHER_SALT = "a secret of the owner", "another secret text"


def certify(decisions=DECISIONS, **params):
    data = {"sensitive_features": GROUPS, "tolerance": 0.1} | params
    return certify_predictions(OUTCOMES, decisions, **data)


def test_errors_of_all_attempts_add_up_to_that_of_the_level():
    errors = [1.0 - divide_level(0.95, t) for t in range(1, 10_001)]
    assert errors[0] == pytest.approx(0.025) and errors[2] == pytest.approx(0.05 / 12)
    assert 0.0499 < sum(errors) <= 0.05


@pytest.mark.slow
def test_attempts_on_the_same_data_are_counted(tmp_path):
    ledger = tmp_path / "ledger.json"
    first = certify(ledger=ledger)
    assert first.attempt == 1 and first.confidence_level == pytest.approx(0.975)
    assert first.high == pytest.approx(certify(confidence_level=0.975).high)
    order = RNG.permutation(2000)
    again = certify_predictions(
        OUTCOMES[order],
        1 - DECISIONS[order],
        sensitive_features=GROUPS[order],
        constraint="equal_opportunity",
        tolerance=0.2,
        ledger=ledger,
    )
    assert again.attempt == 2 and again.confidence_level == pytest.approx(1 - 0.05 / 6)
    assert "read as attempt 2 on these held-out data, all of which together have 95 %" in str(again)
    assert json.loads(again.to_json())["attempt"] == 2
    # Other outcomes, groups, weights or samples are other data.
    for change in (
        {"sample_weight": np.r_[2.0, np.ones(1999)]},
        {"sensitive_features": np.r_[["b"], GROUPS[1:]]},
    ):
        assert certify(ledger=ledger, **change).attempt == 1
    assert certify().attempt is None and "attempt" not in str(certify())


def test_audits_of_rows_and_the_command_have_the_ledger_too(tmp_path):
    ledger = tmp_path / "ledger.json"
    path = tmp_path / "decisions.csv"
    audit = Audit.from_predictions(None, DECISIONS, sensitive_features=GROUPS)
    attempts = [audit.certify(tolerance=0.1, ledger=ledger).attempt for _ in range(3)]
    assert attempts == [1, 2, 3]
    lines = [f"{group},{one}" for group, one in zip(GROUPS, DECISIONS, strict=True)]
    path.write_text("\n".join(["group,decision", *lines]), encoding="utf-8")
    options = ["--sensitive", "group", "--prediction", "decision", "--tolerance", "0.2"]
    out = tmp_path / "certificate.json"
    for attempt in (4, 5):
        main(["certify", str(path), *options, "--ledger", str(ledger), "--json", str(out)])
        stored = json.loads(out.read_text(encoding="utf-8"))
        assert stored["attempt"] == attempt


def test_a_damaged_ledger_is_refused(tmp_path):
    ledger = tmp_path / "ledger.json"
    for text in ("{", "[]", '{"format": "skfair.Ledger", "version": 2, "attempts": {"a": 0}}'):
        ledger.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="ledger|JSON"):
            certify(ledger=ledger)
        assert ledger.read_text(encoding="utf-8") == text


def test_threads_count_every_attempt(tmp_path):
    ledger = tmp_path / "ledger.json"

    def count():
        for _ in range(10):
            count_attempt(ledger, SAMPLES, {"y_true": OUTCOMES[:50]})

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert count_attempt(ledger, SAMPLES, {"y_true": OUTCOMES[:50]}) == 41


def audit_counts(n_ill_women, n_ill_men):
    """The audit of predictions that all of twelve women and twelve men are ill."""
    ill = np.repeat([1, 0, 1, 0], [n_ill_women, 12 - n_ill_women, n_ill_men, 12 - n_ill_men])
    sex = np.repeat(["f", "m"], 12)
    return Audit.from_predictions(ill, np.ones(24), sensitive_features=sex, min_group_size=1)


@pytest.mark.parametrize(("salt", "recovered"), [(None, [(3, 5)]), (SALT, [])])
def test_counts_are_recovered_from_a_ledger_without_a_salt_alone(salt, recovered, tmp_path):
    ledger = tmp_path / "ledger.json"
    audit_counts(3, 5).certify(tolerance=0.5, ledger=ledger, salt=salt)
    filed = ledger.read_text(encoding="utf-8")
    matching = []
    for counts in np.ndindex(13, 13):
        if not {0, 12} & {*counts}:
            audit = audit_counts(*counts)
            guesses = [digest_samples(audit.samples, audit.outcomes, key) for key in ("", "salt")]
            if any(guess in filed for guess in guesses):
                matching.append(counts)
    assert matching == recovered
    assert SALT not in filed


def test_a_salt_replaces_the_digests_of_earlier_attempts(tmp_path):
    ledger = tmp_path / "ledger.json"
    first, second = ({"y_true": OUTCOMES[start : start + 50]} for start in (0, 50))
    assert count_attempt(ledger, SAMPLES, first) == 1
    assert [count_attempt(ledger, SAMPLES, second) for _ in range(2)] == [1, 2]
    content = json.loads(ledger.read_text(encoding="utf-8"))
    plain = {*content["attempts"]}
    assert plain == {digest_samples(SAMPLES, one) for one in (first, second)}
    assert count_attempt(ledger, SAMPLES, first, SALT) == 2
    assert count_attempt(ledger, SAMPLES, second, SALT) == 3
    salted = json.loads(ledger.read_text(encoding="utf-8"))["attempts"]
    assert sorted(salted.values()) == [2, 3] and not plain & {*salted}


@pytest.mark.parametrize(
    ("salt", "problem"), [(None, "no salt is passed"), (OTHER_SALT, "another one is passed")]
)
def test_attempts_under_different_salts_are_refused(salt, problem, tmp_path):
    ledger = tmp_path / "ledger.json"
    outcomes = {"y_true": OUTCOMES[:50]}
    count_attempt(ledger, SAMPLES, outcomes, SALT)
    filed = ledger.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        count_attempt(ledger, SAMPLES, outcomes, salt)
    assert ledger.read_text(encoding="utf-8") == filed
    assert count_attempt(ledger, SAMPLES, outcomes, SALT) == 2


def test_a_salt_that_can_be_guessed_counts_no_attempt(tmp_path):
    with pytest.raises(ValueError, match="16 characters"):
        certify(ledger=tmp_path / "ledger.json", salt="salt")
    assert not (tmp_path / "ledger.json").exists()


def test_certify_in_order_and_alternatives_pass_the_salt_on(tmp_path):
    ledger = tmp_path / "ledger.json"
    audit = Audit.from_predictions(OUTCOMES, DECISIONS, sensitive_features=GROUPS)
    certify_in_order([audit], tolerance=0.1, ledger=ledger, salt=SALT)
    candidates = {"other": 1 - DECISIONS}
    audit.alternatives(candidates, margin=0.1, ledger=ledger, salt=SALT)
    assert audit.certify(tolerance=0.1, ledger=ledger, salt=SALT).attempt == 3
    assert digest_samples(audit.samples, audit.outcomes) not in ledger.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="salt must be passed with a ledger"):
        audit.alternatives(candidates, margin=0.1, salt=SALT)


def try_candidates(rng, ledger=None):
    """Whether one of forty models on the edge of the tolerance is certified on one set."""
    groups = np.repeat(["a", "b"], 300)
    for _ in range(40):
        decisions = (rng.random(600) < np.repeat([0.5, 0.4], 300)).astype(int)
        certificate = certify_predictions(
            None, decisions, sensitive_features=groups, tolerance=0.1, ledger=ledger
        )
        if certificate.is_shown:
            return True
    return False


@pytest.mark.slow
def test_of_forty_candidates_none_is_certified_by_luck(tmp_path, monkeypatch):
    skip_unexamined_numbers(monkeypatch)
    # Of sets whose attempts all have the full level, .87 would have a certified candidate.
    rng = np.random.default_rng(1)
    n_sets = 10
    shared = [try_candidates(rng, tmp_path / f"{number}.json") for number in range(n_sets)]
    alone = [try_candidates(rng) for _ in range(5)]
    assert np.mean(shared) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / n_sets)
    assert np.mean(alone) >= 0.5
