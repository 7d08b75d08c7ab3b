"""Texts in JSON that name their format and version."""

import json
from functools import partial

dump_json = partial(
    json.dumps, allow_nan=False, ensure_ascii=False, indent=1, default=lambda number: number.item()
)
"""The text of a value to read: one line by entry, numbers of numpy as those of Python."""


def add_header(kind, version, content):
    """The content of a text that a class writes, by name, after its format and version."""
    return {"format": f"skfair.{kind}", "version": version} | content


def load_content(text, kind, version, source="", advice=""):
    """Return the content of a text that a class wrote in this version, as a dict.

    `source` is what the text might have been instead, and `advice` what to pass, in errors.
    """
    try:
        content = json.loads(text)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"text must be the JSON that {kind}.to_json returned{source}, but it is "
            f"{'neither' if source else 'not JSON'} ({error}).{advice}"
        ) from error
    if not isinstance(content, dict) or content.pop("format", None) != f"skfair.{kind}":
        raise ValueError(
            f'text must be JSON with "format": "skfair.{kind}", as {kind}.to_json returns it; this '
            "is other JSON."
        )
    if (written := content.pop("version", None)) != version:
        raise ValueError(
            f"This version of skfair reads version {version} of what {kind}.to_json writes, but "
            f"the text has version {written!r}; read it with the version of skfair that wrote it."
        )
    return content
