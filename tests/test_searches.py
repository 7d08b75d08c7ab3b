"""The search of the pages: sections that are read from a page, and lists of searches."""

import importlib
import json
import re
from pathlib import Path

import pytest

DOC = Path(__file__).parents[1] / "doc"
PAGE = """<html><body><nav>Home</nav><article>
<section id="top"><h1>Fair clusters<a class="headerlink" href="#top">#</a></h1>
<p>All of them.</p>
<section id="sizes"><h2>Sizes</h2><p>At most <b>five</b>.</p>
<pre>model.fit(X, max_size=5)</pre></section>
<dl><dt id="skfair.cluster.FairKMeans.fit">fit(X)</dt><dd>Fit the model.</dd></dl>
<dl class="glossary"><dt id="term-base-rate">base rate</dt><dd>A share.</dd></dl>
</section></article><script>var hidden;</script></body></html>"""


@pytest.fixture
def doc_modules(monkeypatch):
    monkeypatch.syspath_prepend(str(DOC))


@pytest.fixture
def lists(doc_modules):
    return importlib.import_module("search_lists")


def test_sections_members_and_terms_have_their_own_text_and_address(doc_modules, tmp_path):
    sections = importlib.import_module("sections")
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    title = "Fair clusters"
    assert sections.read_sections("page.html", tmp_path / "page.html", "sizes of clusters") == [
        ["page.html", title, "", title, "sizes of clusters", "All of them.", ""],
        ["page.html", title, "sizes", "Sizes", "", "At most five.", "model fit max_size"],
        [
            "page.html",
            title,
            "skfair.cluster.FairKMeans.fit",
            "FairKMeans fit",
            "",
            "fit(X) Fit the model.",
            "",
        ],
        ["page.html", title, "term-base-rate", "base rate", "", "base rate A share.", ""],
    ]


def test_pages_that_lead_to_others_have_titles_alone(doc_modules, tmp_path):
    sections = importlib.import_module("sections")
    (tmp_path / "_static").mkdir()
    (tmp_path / "index.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "search.html").write_text(PAGE, encoding="utf-8")
    sections.write_sections(tmp_path, tmp_path)
    text = (tmp_path / "_static" / "sections.js").read_text(encoding="utf-8")
    rows = json.loads(text.removeprefix("var SECTIONS=").removesuffix(";\n"))
    assert {row[0] for row in rows} == {"index.html"}
    assert [row[5] for row in rows] == [""] * len(rows)


def test_main_entries_are_read_from_sources(doc_modules, tmp_path):
    sections = importlib.import_module("sections")
    source = tmp_path / "page.rst"
    source.write_text(".. index:: ! drift, ! alert, other\n\ntext\n", encoding="utf-8")
    assert sections.read_entries(source) == "drift | alert"
    assert sections.read_entries(tmp_path / "absent.rst") == ""


def test_a_search_wants_a_page_or_name_that_exists(lists):
    names = [path.stem for path in DOC.glob("*.rst")]
    names += [path.stem for path in DOC.parent.glob("examples/*/*.py")]
    names += re.findall(r"^   (\S+)$", (DOC / "api" / "index.rst").read_text("utf-8"), re.M)
    names = [f"{name}.html" for name in names]
    for searches in lists.LISTS.values():
        for query, wanted in searches.items():
            assert any(re.search(wanted, name) for name in names), query


def test_lists_are_apart_and_the_tuned_ones_are_named(lists):
    assert set(lists.TUNED) < set(lists.LISTS)
    others = {query for name in lists.TUNED if name != "forty" for query in lists.LISTS[name]}
    assert others.isdisjoint(lists.FORTY) and len(lists.FORTY) == 40
