"""Pages of the guide: their length, the sections that answer questions, and the terms they use."""

import doctest
import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1] / "doc"
GUIDE = (HOME / "guide.rst").read_text(encoding="utf-8")
HEADING = re.compile(r"^((?:\.\. _\w+:\n\n)*)(\S.*)\n(?:=|-){4,}\n", re.MULTILINE)
MAX_PAGE = 2000
MAX_SECTION = 600
BARE = re.compile(r"[(\[]?(?:True|False)(?:, (?:True|False))*[)\]]?")
"""An output of truth values alone, which hides the numbers that were compared."""

QUESTIONS = {
    "Can I keep my LightGBM pipeline, and what does it cost?": "any_model",
    "How does the sex reach GridSearchCV in a pipeline?": "pipelines",
    "The test gap exceeds my tolerance: is it a bug?": "new_data",
    "The status is infeasible: what now?": "statuses",
    "How do I store and deploy it?": "deploying",
    "Which Python, scikit-learn and system?": "install",
    "Which tables are reproduced?": "papers",
    "How do I write my own constraint?": "own_constraints",
    "How many applicants does the four-fifths rule need?": "sample_size",
    "The group is missing for some: what now?": "missing_groups",
    "May I publish small groups?": "audit_publish",
    "What does Local Law 144 ask for?": "audit_ll144",
    "Which rules of law are there?": "laws",
    "Is there a less discriminatory alternative?": "alternatives",
    "May we use the sex at all?": "group_access",
    "How do I get cells of equal size?": "balanced_clusters",
    "Can I keep my centres?": "own_centres",
    "Cosine, inner product, GPU?": "cosine",
    "What do the words mean?": "glossary",
    "Why not all criteria at once?": "why_not_all",
    "Which solver?": "solvers",
    "Is reweighing enough?": "reweighing",
    "A vendor gives scores and no model: what now?": "vendor_scores",
    "How do I cite?": "cite",
    "Which exit status means what?": "audit_jobs",
    "What does 'shown' prove, and what not?": "shown_means",
    "Which data are there for a class, and under which licence?": "class_data",
}


def split_sections(page):
    """Return pairs of labels and text of the sections of a page, the first without a heading."""
    text = (HOME / f"{page}.rst").read_text(encoding="utf-8")
    matches = list(HEADING.finditer(text))
    ends = [match.start() for match in matches[1:]] + [len(text)]
    return [
        (match.group(1), match.group(2), text[match.end() : end])
        for match, end in zip(matches, ends, strict=True)
    ]


def count_prose(text):
    """Words that are neither code nor output nor in a table or another directive."""
    lines = text.splitlines()
    return sum(len(line.split()) for line in lines if not line.startswith("   "))


PAGES = sorted(page for page in re.findall(r"<(\w+)>$", GUIDE, flags=re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_the_guide_is_short(page):
    assert count_prose(read_page(page)) <= MAX_PAGE


@pytest.mark.parametrize("page", PAGES)
def test_a_section_of_the_guide_is_short(page):
    sections = split_sections(page)
    assert sections
    for _, title, text in sections:
        assert count_prose(text) <= MAX_SECTION, title


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_has_a_section_two_clicks_from_the_start(question):
    """The start page links the guide, and the guide links the page."""
    label = f".. _{QUESTIONS[question]}:\n"
    pages = [page for page in (*PAGES, "install") if label in read_page(page)]
    assert len(pages) == 1
    sections = [text for labels, _, text in split_sections(pages[0]) if label in labels]
    assert sections or read_page(pages[0]).startswith(label)
    assert all(count_prose(text) <= MAX_SECTION for text in sections)


def read_page(page):
    """Return the source of a page."""
    return (HOME / f"{page}.rst").read_text(encoding="utf-8")


def test_terms_that_pages_link_are_in_the_glossary():
    glossary = read_page("glossary")
    terms = set(re.findall(r"^   (\S.*)$", glossary, flags=re.MULTILINE))
    assert len(terms) >= 45
    pages = {page: set(re.findall(r":term:`([^`]+)`", read_page(page))) for page in PAGES}
    links = {re.sub(r".*<(.+)>", r"\1", one) for linked in pages.values() for one in linked}
    assert {one.lower() for one in links} <= terms
    assert sum(bool(linked) for linked in pages.values()) >= 12


@pytest.mark.parametrize("page", [*PAGES, "index", "developer"])
def test_a_picture_says_what_it_shows_to_those_who_do_not_see_it(page):
    directive = r"^ *\.\. (?:plot|image|figure)::.*\n((?:(?: {3,}.*)?\n)*)"
    for options in re.findall(directive, read_page(page), flags=re.MULTILINE):
        if ":nofigs:" not in options:
            text = re.search(r":alt: (.+)", options)
            assert text and len(text[1].split()) >= 8


def list_bare_outputs(text):
    """Return the lines of a page whose examples print truth values alone."""
    examples = doctest.DocTestParser().get_examples(text)
    return [one.lineno + 1 for one in examples if BARE.fullmatch(one.want.strip())]


def test_truth_values_alone_are_found():
    text = ">>> 1 < 2\nTrue\n>>> 1 < 2, 2 < 1\n(True, False)\n>>> round(0.25, 1)\n0.2\n"
    assert list_bare_outputs(text) == [1, 3]


def test_outputs_of_the_guide_are_numbers():
    """Truth values show that something is equal, at most once on a page."""
    lines = {path.name: list_bare_outputs(path.read_text("utf-8")) for path in HOME.glob("*.rst")}
    assert not {page: at for page, at in lines.items() if len(at) > 1}
    assert sum(map(len, lines.values())) <= 20
