"""Standard terms: the words of the list are in no line of the code, the README and the guide."""

import re

import pytest

from tests import words

CODE = {
    "package": words.PACKAGE,
    "tests": words.TESTS,
    "benchmarks": words.BENCHMARKS,
    "examples": words.EXAMPLES,
}
PAGES = {"pages": words.PAGES, "gallery headers": words.HEADERS}


@pytest.mark.parametrize("name", [*CODE, *PAGES])
def test_no_line_has_words_of_the_list(name):
    listed = [
        f"{path.relative_to(words.ROOT)}:{number}: {', '.join(matches)}"
        for path, number, matches in words.word_lines((CODE | PAGES)[name])
    ]
    assert listed == []


@pytest.mark.parametrize("name", CODE)
def test_identifiers_are_not_on_the_list(name):
    assert words.unclear_identifiers(CODE[name]) == []


@pytest.mark.parametrize(
    ("name", "n_allowed"), [("package", 7), ("tests", 0), ("benchmarks", 0), ("examples", 0)]
)
def test_functions_are_named_by_verbs_or_nouns(name, n_allowed):
    assert len(list(words.functions_without_verb(CODE[name]))) <= n_allowed


@pytest.mark.parametrize("paths", [words.PAGES, words.BENCHMARKS, words.EXAMPLES])
def test_rows_are_samples(paths):
    assert words.people_per_thousand(paths) <= 4


def test_prose_repeats_nouns_and_says_only():
    pages = [path for path in words.PAGES if path.parent.name != "makers"]
    assert list(words.pro_forms(pages)) == []


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("Its rate is that\nof women.", ["that\nof"]),
        ("Those of men, by scores alone.", ["Those of", "alone"]),
        ("It offers them a standalone tool.", []),
    ],
)
def test_pro_forms_are_found(text, phrases, tmp_path):
    page = tmp_path / "page.rst"
    page.write_text(text, encoding="utf-8")
    assert [phrase for _, phrase in words.pro_forms([page])] == phrases


def test_sentences_are_short():
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


def test_tables_of_parameters_are_for_what_users_reach():
    assert list(words.parameter_tables(words.PACKAGE)) == []


def test_long_functions_have_docstrings():
    assert list(words.long_functions_without_docstring(words.PACKAGE)) == []


@pytest.mark.parametrize(("n_lines", "listed"), [(10, []), (11, ["_long"])])
def test_functions_of_more_than_ten_lines_are_long(n_lines, listed, tmp_path):
    page = tmp_path / "module.py"
    body = [f"    x = {number}" for number in range(n_lines)]
    page.write_text("\n".join(["def _long():", "    # a comment", "", *body]), encoding="utf-8")
    assert [name for _, name in words.long_functions_without_docstring([page])] == listed
