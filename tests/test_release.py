"""The checks before a release find what is missing."""

import pytest

from tests.release import (
    address_problems,
    citation_problems,
    link_to_site,
    problems,
    read_version,
    tag_problems,
)

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


def test_the_citation_has_the_version_and_the_date_of_the_release():
    changelog = FILLED.format("0.1.0 (2026-11-22)")
    citation = "version: {}\ndate-released: {}\npreferred-citation:\n  version: 0.1.0\n"
    assert list(citation_problems("0.1.0", changelog, citation.format("0.1.0", "2026-11-22"))) == []
    late, old = citation.format("0.1.0", "2026-11-23"), citation.format("0.0.9", "2026-11-22")
    assert ["2026-11-23" in one for one in citation_problems("0.1.0", changelog, late)] == [True]
    assert ["0.0.9" in one for one in citation_problems("0.1.0", changelog, old)] == [True]


def test_between_releases_a_citation_has_no_date():
    unreleased = "version: 0.2.0.dev0\n"
    changelog = FILLED.format("Unreleased")
    assert list(citation_problems("0.2.0.dev0", changelog, unreleased)) == []
    dated = unreleased + "date-released: 2026-11-22\n"
    assert len(list(citation_problems("0.2.0.dev0", changelog, dated))) == 1


def test_a_tag_is_that_of_the_version():
    assert list(tag_problems("0.1.0", "v0.1.0")) == []
    assert "v0.1.1" in next(tag_problems("0.1.0", "v0.1.1"))
    assert "v0.1.0.dev0" in next(tag_problems("0.1.0.dev0", "v0.1.0"))


README = """See [the guide][guide], [examples][all] and [what is new][new].

[guide]: doc/audit.rst#may-i
[all]: examples/
[new]: CHANGELOG.md
"""


def test_a_release_has_the_address_of_the_site():
    urls = {"Documentation": "https://skfair.example/"}
    (sentence,) = address_problems({}, link_to_site(README, urls["Documentation"]))
    assert "must name the site as Documentation" in sentence
    (sentence,) = address_problems(urls, README)
    assert "doc/audit.rst#may-i is relative" in sentence
    assert list(address_problems(urls, link_to_site(README, urls["Documentation"]))) == []


def test_links_of_the_readme_lead_to_pages_of_the_site():
    site = "https://skfair.example/"
    written = link_to_site(README, site)
    assert written.splitlines()[2:] == [
        "[guide]: https://skfair.example/audit.html#may-i",
        "[all]: https://skfair.example/gallery/index.html",
        "[new]: https://skfair.example/whats_new.html",
    ]
    assert link_to_site(written, site) == written
