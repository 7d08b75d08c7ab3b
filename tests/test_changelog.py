"""The changelog: its length, the order of its lists, and that names in it exist."""

import importlib
import inspect
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
TEXT = (HOME / "CHANGELOG.md").read_text(encoding="utf-8")
LISTS = ["Removed", "Changed", "Fixed", "Added"]
MAX_ENTRY = 25
MAX_FIRST_RELEASE = 900
MODULES = (
    *("audit", "callbacks", "classification", "cluster", "conformal", "constraints", "datasets"),
    *("metrics", "model_selection", "monitoring", "preprocessing", "ranking", "regression"),
    *("export", "solvers", "statistics", "torch"),
)


def list_entries(text):
    """Entries of a changelog, with the lines that continue them."""
    return [" ".join(one.split()) for one in re.findall(r"^- (.*(?:\n  .*)*)", text, re.MULTILINE)]


def list_problems(text):
    """What an entry or the order of lists of a version has to change."""
    for entry in list_entries(text):
        if len(entry.split()) > MAX_ENTRY:
            yield f"The entry '{entry}' has {len(entry.split())} words, at most {MAX_ENTRY}."
    first_release = read_first_release(text)
    for version in re.split(r"^## ", text.replace(first_release, ""), flags=re.MULTILINE)[1:]:
        lists = re.findall(r"^### (.+)$", version, flags=re.MULTILINE)
        if lists != [one for one in LISTS if one in lists]:
            yield f"The lists of {version.splitlines()[0]} must be among {LISTS}, in this order."


def read_first_release(text):
    """The last section, of what was in no release before."""
    return text[text.rindex("\n## ") :]


def public_names():
    """Public objects by name, and the names of their parameters."""
    names = {"status_": None, "assignment_lower_bound_": None}
    for module in MODULES:
        namespace = importlib.import_module(f"skfair.{module}")
        names |= dict.fromkeys(namespace.__all__) | vars(namespace)  # torch loads its names late
    for thing in [one for one in names.values() if hasattr(one, "get_params")]:
        names |= dict.fromkeys(inspect.signature(thing).parameters)
        names |= dict.fromkeys(inspect.signature(getattr(thing, "fit", thing)).parameters)
    return names


def test_entries_are_short_and_lists_are_in_order():
    assert list(list_problems(TEXT)) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("## 0.2.0\n\n### Added\n\n- a\n\n### Removed\n\n- b\n\n## 0.1.0\n", "in this order"),
        ("## 0.2.0\n\n### Renamed\n\n- a\n\n## 0.1.0\n", "must be among"),
        (f"## 0.2.0\n\n### Added\n\n- {'word ' * 20}\n  {'word ' * 6}\n\n## 0.1.0\n", "26 words"),
    ],
)
def test_a_long_entry_and_another_order_are_found(text, reason):
    (problem,) = list_problems(f"\n{text}")
    assert reason in problem


def test_the_first_release_is_described_in_900_words():
    assert len(read_first_release(TEXT).split()) <= MAX_FIRST_RELEASE


def test_names_of_the_changelog_exist():
    names = public_names()
    words = re.findall(r"`([A-Za-z_.]+)`", TEXT)
    assert len(words) > 50
    commands = {"subgroups", "certify", "compare", "monitor", "fit", "predict"}
    for word in words:
        name, *rest = word.removeprefix("skfair.").split(".")
        assert name in names or name in commands, word
        for attribute in rest:
            assert hasattr(names[name], attribute), word


def test_links_of_the_changelog_lead_to_pages():
    pages = re.findall(r"\]\(doc/(\w+\.rst)\)", TEXT)
    assert len(pages) > 10
    assert [page for page in pages if not (HOME / "doc" / page).exists()] == []


def test_the_page_of_what_is_new_is_the_changelog():
    spec = spec_from_file_location("changes", HOME / "doc" / "changes.py")
    changes = module_from_spec(spec)
    spec.loader.exec_module(changes)
    page = changes.page_text()
    assert "   * - ``FairKMeans``\n     - balance" in page
    assert ":doc:`any model <any_model>`" in page
    assert "](" not in page and "\n|" not in page
    assert set(re.findall(r"[A-Za-z]{4,}", TEXT)) - set(re.findall(r"[A-Za-z]{4,}", page)) == {
        "Changelog"
    }
    for title in re.findall(r"^##+ (.+)$", TEXT, flags=re.MULTILINE):
        assert re.search(rf"^{re.escape(title)}\n[=-]{{{len(title)}}}$", page, re.MULTILINE)
