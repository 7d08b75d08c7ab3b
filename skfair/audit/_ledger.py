"""Digests of samples, and attempts on one held-out set, which may err less and less."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skfair._groups.groups import attribute_columns
from skfair._utils.checks import argument_error, check_path
from skfair._utils.fit import lock_file, write_text
from skfair.audit._formats import add_header, load_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skfair._groups import Samples
    from skfair.audit._data import AuditData


_VERSION = 2
"""Version of the format of a ledger."""

_MIN_SALT_LENGTH = 16  # characters, so that a salt cannot be guessed


def divide_level(level: float, attempt: int) -> float:
    """Level of an attempt on the same data: its error is that of the level over t (t + 1).

    These errors add up to that of the level over all attempts, however many there are.
    """
    return 1.0 - (1.0 - level) / (attempt * (attempt + 1))


def count_attempt(
    ledger: Any, samples: Samples, outcomes: dict[str, np.ndarray], salt: str | None = None
) -> int:
    """Number of this attempt on the samples, from 1; it is written to the file of the ledger.

    Samples are the same if their outcomes, groups and weights are, in any order. The first attempt
    with a salt replaces all digests of the ledger by salted ones. Later attempts need this salt,
    since attempts under different salts could not be counted together.
    """
    check_salt(salt)
    digest = digest_samples(samples, outcomes)
    path = check_path(ledger, "ledger")
    with lock_file(path):
        attempts, salt_check = _read_ledger(path) if path.exists() else ({}, None)
        if salt is not None:
            digest = _add_salt(digest, salt)
            if salt_check is None:
                attempts = {_add_salt(plain, salt): number for plain, number in attempts.items()}
        new_check = None if salt is None else _add_salt("Ledger", salt)
        if salt_check not in (None, new_check):
            raise ValueError(
                f"The ledger {path} must be used with the salt of its earlier attempts, but "
                f"{'no salt' if salt is None else 'another one'} is passed. Pass the same salt, so "
                "that all attempts on the same samples are counted."
            )
        attempts[digest] = attempts.get(digest, 0) + 1
        content = {"attempts": attempts, "salt_check": new_check}
        write_text(json.dumps(add_header("Ledger", _VERSION, content)), path)
    return attempts[digest]


def _add_salt(text: str, salt: str) -> str:
    """Digest of a text, which only the owner of the salt can recompute (an HMAC, RFC 2104)."""
    return hmac.new(salt.encode("utf-8"), text.encode("utf-8"), hashlib.sha256).hexdigest()


def _read_ledger(path: Path) -> tuple[dict[str, int], str | None]:
    """Numbers of attempts by the digest of the samples, and the digest that tells its salt."""
    content = load_content(path.read_text(encoding="utf-8"), "Ledger", _VERSION, name=str(path))
    attempts, salt_check = content.get("attempts"), content.get("salt_check")
    if (
        not isinstance(attempts, dict)
        or not all(isinstance(number, int) and number > 0 for number in attempts.values())
        or not isinstance(salt_check, str | None)
    ):
        raise ValueError(
            f"The ledger {path} must hold the numbers of attempts as they were written, but it is "
            "damaged. Take a copy of it, or use held-out data of which no attempt was made."
        )
    return attempts, salt_check


def digest_samples(samples: Samples, columns: dict[str, np.ndarray], salt: str = "") -> str:
    """SHA-256 digest of samples in any order; rows that count are as many samples.

    Who does not know the salt cannot guess small counts from the digest (an HMAC, RFC 2104).
    """
    groups, weights = samples.groups, samples.weights
    if groups.multiplicity is not None:
        weights = np.ones(len(weights))
    by_group = attribute_columns(groups) if groups.is_disjoint else list(groups.matrix.toarray().T)
    texts = [map(str, column) for column in (*by_group, weights, *columns.values())]
    numbers: Counter[tuple[str, ...]] = Counter()
    for row, n in zip(zip(*texts, strict=True), groups.row_counts, strict=True):
        numbers[row] += int(n)
    text = json.dumps([[*columns], sorted(numbers.items())])
    return _add_salt(text, salt)


def check_salt(salt: str | None, name: str = "salt") -> None:
    """Raise for a salt that can be guessed; None is no salt."""
    if salt is not None and (not isinstance(salt, str) or len(salt) < _MIN_SALT_LENGTH):
        raise argument_error(
            f"{name} must hold a secret text of {_MIN_SALT_LENGTH} characters or more, which "
            "cannot be guessed; pass random letters and digits, and keep them for verify."
        )


def digest_with_salt(audit: AuditData, salt: str | None) -> str | None:
    """Digest of an audit's samples, and of what is said of missing outcomes; None without salt."""
    check_salt(salt)
    if salt is None:
        return None
    columns = audit.columns
    if audit.missing_outcomes is not None:
        said = np.full(len(audit.samples.weights), audit.missing_outcomes)
        columns = columns | {"missing_outcomes": said}
    return digest_samples(audit.samples, columns, salt)


def check_same_samples(
    audits: Sequence[AuditData], argument: str = "audits", names: Sequence[str] | None = None
) -> None:
    """Raise if there are no audits, or they are not of the same samples.

    Messages speak of the argument, and call the audits by names, or by their places.
    """
    if not audits:
        raise argument_error("audits must hold an audit for each model, but there is none.")
    digests = []
    for audit in audits:
        audits[0].check_same_burden(audit)
        clusters = audit.clusters
        columns = audit.outcomes if clusters is None else audit.outcomes | {"groups": clusters}
        digests.append(digest_samples(audit.samples, columns))
    differing = [number for number, one in enumerate(digests) if one != digests[0]]
    if differing:
        names = names or [f"audits[{number}]" for number in range(len(audits))]
        raise argument_error(
            f"{argument} must be of the same samples, with equal groups, outcomes, weights and "
            f"clusters, but those of {names[differing[0]]} differ from those of {names[0]}. Make "
            "all of them of the same held-out rows."
        )
