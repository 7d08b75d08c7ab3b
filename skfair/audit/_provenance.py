"""What was audited: facts that a report states on its page."""

import platform
from datetime import date
from functools import cache
from importlib.metadata import version

from skfair import __version__
from skfair.utils._messages import join_names

FACTS = {
    "file": "File",
    "sha256": "SHA-256 digest of the file",
    "columns": "Columns",
    "rows": "Rows",
    "positive_label": "Positive label",
    "threshold": "Threshold",
    "date": "Date of the audit",
    "versions": "Versions",
    "source": "Source of the data",
    "explanation": "Explanation of the data",
    "distribution_date": "Distribution date of the tool",
    "justification": "Justification for leaving categories out",
}
"""Known facts and their titles on the page."""


def collect_facts(provenance, **known):
    """Facts as text by name: the date and versions, known ones, and those of the user."""
    facts = {"date": date.today().isoformat(), "versions": _versions()}
    facts |= {name: str(value) for name, value in known.items() if value is not None}
    return facts | _check_provenance(provenance)


@cache
def _versions():
    """Versions of the packages that compute a report; reading them takes milliseconds."""
    versions = [f"skfair {__version__}", f"Python {platform.python_version()}"]
    packages = ("numpy", "pandas", "scipy", "scikit-learn")
    return ", ".join([*versions, *(f"{name} {version(name)}" for name in packages)])


def _check_provenance(provenance):
    """Facts of the user, which must map names to text."""
    if provenance is None:
        return {}
    if not isinstance(provenance, dict) or not all(
        isinstance(text, str) for pair in provenance.items() for text in pair
    ):
        raise TypeError(
            "provenance must be a dict of text by name, such as {'source': 'applications of 2025'};"
            f" got {provenance!r}. Known names are {join_names(FACTS)}."
        )
    return provenance


def titled_facts(facts):
    """Pairs of the title and the text of each fact, the known ones first."""
    names = [name for name in FACTS if name in facts]
    names += [name for name in facts if name not in FACTS]
    return [(FACTS.get(name, name), facts[name]) for name in names]
