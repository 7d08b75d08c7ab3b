"""The checks before a release find what is missing."""

import pytest

from tests.release import problems, read_version

FILLED = "# Changelog\n\n## {}\n\n### Added\n\n- something\n"


def test_the_version_is_read_from_the_module():
    assert read_version('import os\n\n__version__ = "1.2.3.dev0"\n') == "1.2.3.dev0"


@pytest.mark.parametrize(
    ("version", "heading"), [("0.1.0.dev0", "Unreleased"), ("0.1.0", "0.1.0 (2026-11-22)")]
)
def test_a_version_with_its_section_may_be_tagged(version, heading):
    assert list(problems(version, FILLED.format(heading), ["v0.0.9"])) == []


@pytest.mark.parametrize(
    ("version", "changelog", "tags", "reason"),
    [
        ("0.1", FILLED.format("0.1 (2026-11-22)"), [], "must be three numbers"),
        ("0.1.0", FILLED.format("0.1.0 (2026-11-22)"), ["v0.1.0"], "tag v0.1.0 exists"),
        ("0.1.0", FILLED.format("Unreleased"), [], "must begin with '## 0.1.0'"),
        ("0.2.0.dev0", FILLED.format("0.1.0 (2026-11-22)"), [], "must begin with '## Unreleased'"),
        ("0.1.0", FILLED.format("0.1.0"), [], "must end in the date"),
        ("0.1.0.dev0", "## Unreleased\n\n## 0.0.9 (2026-01-01)\n", [], "is empty"),
        ("0.1.0.dev0", "## Unreleased\n", [], "is empty"),
        ("0.1.0.dev0", "", [], "not 'no heading'"),
    ],
)
def test_what_is_missing_is_named(version, changelog, tags, reason):
    (sentence,) = problems(version, changelog, tags)
    assert reason in sentence
