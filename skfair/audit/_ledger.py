"""Attempts on one held-out set: each certificate of the same data may err less than the last."""

import hashlib
import json
from pathlib import Path

from skfair.groups import attribute_columns
from skfair.utils._fit import lock_file, write_text
from skfair.utils._json import add_header, load_content

_VERSION = 1
"""Version of the format of a ledger; other versions are refused."""


def divide_level(level, attempt):
    """Level of an attempt on the same data: its error is that of the level over t (t + 1).

    These errors add up to that of the level over all attempts, however many there are.
    """
    return 1.0 - (1.0 - level) / (attempt * (attempt + 1))


def count_attempt(ledger, y_true, sensitive_features, sample_weight):
    """Number of this attempt on the samples, from 1; it is written to the file of the ledger.

    Samples are the same if their outcomes, groups and weights are, in any order.
    """
    digest = _digest_samples(y_true, sensitive_features, sample_weight)
    path = Path(ledger)
    with lock_file(path):
        attempts = _read_attempts(path) if path.exists() else {}
        attempts[digest] = attempts.get(digest, 0) + 1
        write_text(json.dumps(add_header("Ledger", _VERSION, {"attempts": attempts})), path)
    return attempts[digest]


def _read_attempts(path):
    """Numbers of attempts by the digest of the samples."""
    attempts = load_content(path.read_text(encoding="utf-8"), "Ledger", _VERSION).get("attempts")
    is_valid = isinstance(attempts, dict) and all(
        isinstance(number, int) and number > 0 for number in attempts.values()
    )
    if not is_valid:
        raise ValueError(
            f"The ledger {path} must hold the numbers of attempts as they were written, but it is "
            "damaged. Take a copy of it, or use held-out data of which no attempt was made."
        )
    return attempts


def _digest_samples(*columns):
    """Digest of samples as text, in sorted order."""
    tables = [[] if one is None else attribute_columns(one) for one in columns]
    texts = [map(str, column) for table in tables for column in table]
    text = json.dumps([[len(table) for table in tables], sorted(zip(*texts, strict=True))])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
