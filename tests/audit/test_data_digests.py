"""What results state of their data: files and digests, of which no small count can be guessed."""

import json

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit, verify

SALT, OTHER_SALT = "a secret of the owner", "another secret text"
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "sex": RNG.choice(["f", "m"], 600),
        "y": RNG.choice(["no", "yes"], 600),
        "d": RNG.choice(["no", "yes"], 600),
    }
)


def audit_rows(table=TABLE):
    return Audit.from_predictions(
        table["y"], table["d"], sensitive_features=table[["sex"]], pos_label="yes"
    )


def audit_counts(table=TABLE):
    counts = table.groupby([*table], as_index=False).size()
    columns = {"sensitive_features": "sex", "y_true": "y", "y_pred": "d"}
    return Audit.from_counts(counts, counts="size", pos_label="yes", **columns)


@pytest.mark.slow
def test_samples_in_any_order_and_their_counts_have_one_salted_digest():
    claim = audit_rows().certify(tolerance=0.2, salt=SALT)
    shuffled = TABLE.sample(frac=1, random_state=0).reset_index(drop=True)
    for audit in (audit_rows(), audit_rows(shuffled), audit_counts(shuffled)):
        assert verify(claim.to_json(), audit, salt=SALT) == []
        assert audit.report(salt=SALT).provenance["salted_sha256"] == claim.source["salted_sha256"]
    # Another outcome leaves the sentence as it is, but neither the labels read nor the digest.
    first = TABLE.index[(TABLE["y"] == "yes") & (TABLE["d"] == "no") & (TABLE["sex"] == "f")][0]
    other = TABLE.copy()
    other.loc[first, "y"] = "no"
    assert verify(claim, audit_rows(other)) == ["reading"]
    assert verify(claim, audit_rows(other), salt=SALT) == ["reading", "salted_sha256"]
    assert verify(claim, audit_rows(), salt=OTHER_SALT) == ["salted_sha256"]
    assert (
        SALT not in claim.to_json()
        and "salted_sha256" not in audit_rows().certify(tolerance=0.2).source
    )


def test_salts_that_say_nothing_are_refused():
    with pytest.raises(ValueError, match="secret text of 16 characters or more"):
        audit_rows().certify(tolerance=0.2, salt="salt")
    plain = audit_rows().certify(tolerance=0.2)
    with pytest.raises(ValueError, match="this one states none"):
        verify(plain, audit_rows(), salt=SALT)


@pytest.mark.slow
def test_a_protected_report_states_neither_counts_nor_an_unsalted_digest(tmp_path):
    TABLE.to_csv(tmp_path / "d.csv", index=False)
    columns = {"sensitive_features": "sex", "y_true": "y", "y_pred": "d"}
    audit = Audit.from_file(tmp_path / "d.csv", columns, pos_label="yes")
    known = audit.report().provenance
    assert len(known["sha256"]) == 64 and audit.reading.n_rows == 600
    protected = audit.report(min_published=5, salt=SALT)
    assert set(known) - set(protected.provenance) == {"sha256"}
    for one in protected.reading.columns:
        assert {*one.labels.values()} == {None} and not one.changed
    assert len(protected.provenance["salted_sha256"]) == 64
    assert known["sha256"] not in protected.to_html() + protected.to_json()


@pytest.mark.slow
def test_every_result_states_file_columns_label_date_and_versions(tmp_path):
    TABLE.to_csv(tmp_path / "d.csv", index=False)
    columns = {"sensitive_features": "sex", "y_true": "y", "y_pred": "d"}
    audit = Audit.from_file(tmp_path / "d.csv", columns, pos_label="yes")
    with pytest.warns(UserWarning, match="look like the same samples"):
        changes = audit.compare(audit_rows())
    results = {
        "provenance": audit.report(),
        "source": audit.certify(tolerance=0.2),
        "searches": audit.subgroups(),
        "changes": changes,
    }
    for name, result in results.items():
        content = json.loads(result.to_json())
        facts = content["provenance" if name == "provenance" else "source"]
        assert {"file", "sha256", "positive_label", "date", "versions"} <= set(facts)
        reading = content["readings"][0] if name == "changes" else content["reading"]
        assert [one["name"] for one in reading["columns"]] == ["d", "y", "sex"]
        assert facts["file"] == "d.csv" and facts["positive_label"] == "yes"
    assert "d.csv" in changes.to_html()


@pytest.mark.slow
def test_the_salt_of_the_commands_is_not_filed(tmp_path, capsys):
    TABLE.to_csv(tmp_path / "d.csv", index=False)
    path = str(tmp_path / "d.csv")
    out = str(tmp_path / "claim.json")
    options = ["--prediction", "d", "--sensitive", "sex", "--positive", "yes", "--tolerance", "0.2"]
    secret, other = tmp_path / "salt.txt", tmp_path / "other.txt"
    secret.write_text(f"{SALT}\n", encoding="utf-8")
    other.write_text(OTHER_SALT, encoding="utf-8")
    main(["certify", path, *options, "--salt-file", str(secret), "--json", out])
    audit = Audit.from_predictions(
        None, TABLE["d"], sensitive_features=TABLE[["sex"]], pos_label="yes"
    )
    assert verify((tmp_path / "claim.json").read_text("utf-8"), audit, salt=SALT) == []
    assert SALT not in (tmp_path / "claim.json").read_text("utf-8")
    assert main(["verify", out, path, "--salt-file", str(secret)]) == 0
    assert main(["verify", out, path]) == 0
    assert main(["verify", out, path, "--salt-file", str(other)]) == 3
    assert "Another claim, by salted_sha256" in capsys.readouterr().out
    named = ["--salt-file", str(secret), "--out", str(tmp_path / "r.json")]
    main(["report", path, *options[:-2], *named])
    facts = json.loads((tmp_path / "r.json").read_text("utf-8"))["provenance"]
    assert len(facts["salted_sha256"]) == 64


@pytest.mark.parametrize("name", ["error_rate_parity", "false_positive_rate_parity", "mean_parity"])
def test_claims_about_any_named_constraint_are_verified(name):
    audit = audit_rows()
    if name == "mean_parity":
        audit = Audit.from_predictions(
            TABLE["y"],
            TABLE["d"],
            y_score=np.linspace(0, 1, 600),
            sensitive_features=TABLE[["sex"]],
            pos_label="yes",
        )
    assert verify(audit.certify(name, 0.3).to_json(), audit) == []
