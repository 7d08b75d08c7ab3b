"""Reports as JSON and back; the guide publishes the schema."""

import json
from math import isnan
from os import PathLike
from os.path import isfile
from pathlib import Path

import numpy as np
import pandas as pd

from skfair.inference import Interval
from skfair.utils._messages import join_names

FORMAT, CERTIFICATE_FORMAT = "skfair.FairnessReport", "skfair.Certificate"
VERSION = 1
"""Version of the schema; a change of the meaning of a field raises it."""

FIELDS = (
    *("title", "kind", "n_samples", "confidence_level", "min_group_size", "min_share"),
    *("n_missing", "counts_samples", "balance", "provenance"),
)
"""Arguments of the constructor, besides the two tables."""

_TEXT = ("attribute", "group", "measure", "lowest", "highest")
_FLAGS = ("is_small", "is_reference", "is_significant")


def report_to_json(report):
    """The text of a report."""
    fields = {name: getattr(report, name) for name in FIELDS}
    tables = {name: _encode_table(getattr(report, name)) for name in ("frame", "gaps")}
    content = {"format": FORMAT, "version": VERSION} | fields | tables
    return json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1, default=_to_python)


def certificate_to_json(certificate):
    """The text of a certificate: its attributes and its sentence."""
    fields = {name: _encode(value) for name, value in certificate._asdict().items()}
    content = {"format": CERTIFICATE_FORMAT, "version": VERSION} | fields
    return json.dumps(
        content | {"text": str(certificate)}, allow_nan=False, ensure_ascii=False, indent=1
    )


def _to_python(number):
    """A number of numpy as one of Python."""
    return number.item()


def _encode_table(table):
    """Columns of a table, as lists by name."""
    return {name: [_encode(value) for value in table[name].tolist()] for name in table}


def _encode(value):
    """A value of JSON: nan becomes null, and infinities become text."""
    if not isinstance(value, float) or abs(value) < float("inf"):
        return value
    return None if isnan(value) else str(value)


def report_fields(source):
    """Arguments of the constructor of a report from its text, or from the path of a file of it."""
    is_path = isinstance(source, PathLike) or (isinstance(source, str) and isfile(source))
    text = Path(source).read_text(encoding="utf-8") if is_path else source
    try:
        content = json.loads(text)
    except (TypeError, json.JSONDecodeError) as error:
        raise ValueError(
            f"text must be the JSON that FairnessReport.to_json returned, or the path of a file "
            f"that exists, but it is neither ({error})."
        ) from error
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise ValueError(
            f'text must be JSON with "format": "{FORMAT}", as FairnessReport.to_json returns it; '
            "this is other JSON."
        )
    if (version := content.pop("version", None)) != VERSION:
        raise ValueError(
            f"This version of skfair reads version {VERSION} of the format, but the text has "
            f"version {version!r}; read it with the version of skfair that it names."
        )
    if absent := {*FIELDS, "frame", "gaps"} - set(content):
        raise ValueError(f"The text of a report must have the fields {join_names(sorted(absent))}.")
    if content["balance"] is not None:
        content["balance"] = Interval(*content["balance"])
    return content | {name: _decode_table(content[name]) for name in ("frame", "gaps")}


def _decode_table(columns):
    """A table from lists by name: text, flags and numbers."""
    return pd.DataFrame({name: _decode_column(name, values) for name, values in columns.items()})


def _decode_column(name, values):
    """A column of a table: text, flags, integers or real numbers."""
    if name in _TEXT:
        return np.array(values, dtype=object)
    if name in _FLAGS:
        return np.array(values, dtype=bool)
    if values and all(isinstance(value, int) for value in values):
        return np.array(values)
    return np.array([np.nan if value is None else float(value) for value in values])
