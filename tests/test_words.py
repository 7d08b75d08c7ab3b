"""Standard terms: the words of the list are in no line of the package, tests, README and guide."""

import re

import pytest

from tests import words


@pytest.mark.parametrize(
    "paths", [words.PACKAGE, words.PAGES, words.TESTS], ids=["package", "pages", "tests"]
)
def test_no_line_has_words_of_the_list(paths):
    listed = [
        f"{path.relative_to(words.ROOT)}:{number}: {', '.join(found)}"
        for path, number, found in words.word_lines(paths)
    ]
    assert listed == []


@pytest.mark.parametrize("paths", [words.PACKAGE, words.TESTS], ids=["package", "tests"])
def test_identifiers_are_not_on_the_list(paths):
    assert words.unclear_identifiers(paths) == []


@pytest.mark.parametrize("paths", [words.PACKAGE, words.TESTS], ids=["package", "tests"])
def test_functions_are_named_by_verbs_or_nouns(paths):
    assert len(list(words.functions_without_verb(paths))) <= 10


def test_rows_are_samples_and_sentences_are_short():
    assert words.people_per_thousand(words.PAGES) <= 4
    assert words.semicolons_per_hundred(words.PAGES) <= 4


@pytest.mark.parametrize("path, word", words.TEXT_EXCEPTIONS)
def test_an_exception_is_needed(path, word):
    text = (words.ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"\b{word}\b", text, re.IGNORECASE)


@pytest.mark.parametrize(
    "line", ["Everybody performs the end", "fresh people", "by lot", "a look at everybody", "told"]
)
def test_the_list_finds_words_of_the_old_dialect(line, tmp_path, monkeypatch):
    page = tmp_path / "page.rst"
    page.write_text(f"A plain line.\n{line}\n", encoding="utf-8")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    assert [number for _, number, _ in words.word_lines([page])] == [2]
