"""Configuration of the documentation: `make doc` builds it in doc/_build/html."""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

from sphinx.util.fileutil import copy_asset_file
from sphinx.util.logging import getLogger
from sphinx.writers.html5 import HTML5Translator

import skfair
from skfair import metrics
from skfair.metrics import METRICS

sys.path.insert(0, str(Path(__file__).parents[1]))  # benchmarks are not installed
sys.path.insert(0, str(Path(__file__).parent))
from changes import page_text
from layout import draw as draw_layout
from picture_style import SETTINGS, color_cycle
from tasks import page_table

from benchmarks.papers.index import PAPERS, table

HOME = Path(__file__).parent
project = "skfair"
author = copyright = "The skfair developers"
version = release = skfair.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sections",
]
# The inventory is a file (python doc/sklearn_objects.py): a build needs no network.
intersphinx_mapping = {"sklearn": ("https://scikit-learn.org/stable/", "sklearn.inv")}

default_role = "py:obj"
templates_path = ["_templates"]
exclude_patterns = [
    "_build",
    "changelog.rst",
    "makers",
    "metrics_table.rst",
    "papers_table.rst",
    "tasks_table.rst",
]
html_theme = "pydata_sphinx_theme"
html_title = f"skfair {release}"
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["skfair.css"]
html_theme_options = {
    "logo": {
        "alt_text": f"skfair {release}",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo_dark.svg",
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "api/index": ["page-toc"]},
    "show_toc_level": 2,
}
WIDE = ("index", "install", "gallery/**", "api/index", "developer", "extending")
html_sidebars = {page: [] for page in WIDE}

# Formulas are set by MathJax in the browser. Where the package sphinx-mathjax-offline is installed
# (it is in the extra "doc"), its one file goes into the built pages, which then need no network;
# else they load it from Sphinx' default address, and the build says so.
MATHJAX = "tex-svg.js"

# A copied block holds what one would type: no prompts, no output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.sphx-glr-script-out) > div.highlight > pre"

autosummary_generate = True
toc_object_entries_show_parents = "hide"  # fit() beside the page of a class, not its name again
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings state types with shapes
numpydoc_show_class_members = False
TWO_LINES = 125  # characters of a name with its signature, at the width of the reference

plot_formats = [("png", 110)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = True
plot_rcparams = SETTINGS | {"axes.prop_cycle": color_cycle()}
plot_apply_rcparams = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    # Without PyTorch, which is large, examples that need it are shown and not run.
    "filename_pattern": r"/plot_" if find_spec("torch") else r"/plot_(?!\w*_torch\.py)",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "abort_on_example_error": True,
    "backreferences_dir": "api/generated/backreferences",
    "doc_module": ("skfair",),
    "image_scrapers": ("gallery_figures.scrape_figures",),
    "reset_modules": ("matplotlib", "picture_style.apply_style"),
    "subsection_order": [
        "../examples/tutorial",
        "../examples/classification",
        "../examples/partial_parity",
        "../examples/ranking",
        "../examples/clustering",
    ],
    "download_all_examples": False,
    "ignore_repr_types": r"matplotlib|Display",
    "min_reported_time": 1,
    "parallel": True,  # as many processes as sphinx has
    "show_memory": False,
    "show_signature": False,
    "thumbnail_size": (480, 330),
    "write_computation_times": False,
}


def find_mathjax():
    """The file of MathJax that is installed, or None."""
    try:
        matches = [file for file in files("sphinx-mathjax-offline") if file.name == MATHJAX]
        return matches[0].locate()
    except (PackageNotFoundError, IndexError):
        return None


def set_mathjax(app, config):
    """Let the pages load MathJax from beside them, if it is installed."""
    if find_mathjax():
        config.mathjax_path = MATHJAX
    else:
        getLogger(__name__).info(
            "Formulas will need a network: sphinx-mathjax-offline is not installed."
        )


def copy_mathjax(app, exception):
    """Put MathJax beside the pages."""
    if exception is None and app.builder.format == "html" and find_mathjax():
        copy_asset_file(find_mathjax(), app.outdir / "_static")


def write_metrics_table(app):
    """Write the registry of metrics as a table, so that the two cannot drift apart."""
    rows = [
        f"   * - {_link(name, metric.function.__name__)}\n"
        f"     - {', '.join(f'``{k}={v!r}``' for k, v in metric.params.items())}\n"
        f"     - {metric.best:g}\n"
        f"     - {'the name' if metric.greater_is_better else '``neg_`` and the name'}"
        for name, metric in METRICS.items()
    ]
    head = (
        ".. list-table::\n   :header-rows: 1\n   :class: names-first\n\n"
        "   * - name\n     - with\n     - best\n     - scorer"
    )
    (app.srcdir / "metrics_table.rst").write_text("\n".join([head, *rows, ""]), encoding="utf-8")


def _link(name, function):
    """Name of a metric, linked to its function if that has a page."""
    return f":func:`{name} <skfair.metrics.{function}>`" if function in metrics.__all__ else name


def shorten_signature(app, what, name, thing, options, signature, returned):
    """Leave out the last parameters where a signature has more than two lines.

    The section "Parameters" has all of them.
    """
    shown = signature or ""
    room = TWO_LINES - len(name)
    if len(shown) <= room:
        return signature, returned
    while len(shown) > room - len(", ...)") or shown.count("(") > shown.count(")") + 1:
        shown = shown.rpartition(", ")[0]
    return f"{shown}, ...)", returned


def drop_links_of_others(app, what, name, thing, options, lines):
    """Show the links of docstrings inherited from scikit-learn as their text: they lead nowhere."""
    if getattr(thing, "__module__", "").startswith("sklearn."):
        # The label of an example is shown as the name of its file.
        link = r":(?:ref|term|class|func|meth):`~?(?:sphx_glr_\w*(?=plot_))?([^`<]+?)(?: <[^`]*>)?`"
        lines[:] = [re.sub(link, r"\1", line) for line in lines]


class Translator(HTML5Translator):
    """Write citations without roles that browsers and their checkers reject."""

    def visit_citation(self, node):
        super().visit_citation(node)
        # The last two tags are those of the list and of its first citation, or of citations.
        for role in (' role="list"', ' role="doc-biblioentry"'):
            self.body[-2:] = [tag.replace(role, "") for tag in self.body[-2:]]


def mend_page(app, pagename, templatename, context, doctree):
    """Write corners of pandas' tables as cells, and pictures of the gallery in frames.

    Screen readers read headers aloud. A frame scrolls where the page is narrower than the picture.
    """
    if "body" in context:
        body = context["body"].replace("<th></th>", "<td></td>")
        picture = r'<img [^>]*class ?= ?"sphx-glr-single-img"[^>]*>'
        context["body"] = re.sub(picture, r'<div class="picture">\g<0></div>', body)


def write_papers_table(app):
    """Write the index of the papers that ``python -m benchmarks papers`` prints."""
    text = "\n".join(map(table, PAPERS))
    (app.srcdir / "papers_table.rst").write_text(text, encoding="utf-8")


def write_page_list(app, exception):
    """Write ``llms.txt`` for language models: ``SKILL.md`` and the pages of the guide."""
    if exception is not None or app.builder.format != "html":
        return
    project = tomllib.loads((HOME.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = project.get("urls", {}).get("Documentation", "")  # else links are relative
    guide = (HOME / "guide.rst").read_text(encoding="utf-8")
    skill = (HOME.parent / "skfair" / "SKILL.md").read_text(encoding="utf-8").split("# skfair\n")[1]
    lines = ["# skfair", "", f"> {project['description']}. Version {release}.", skill]
    for part in guide.split(":caption: ")[1:]:
        title, entries = part.split("\n", 1)
        pages = re.findall(r"^   (.+) <(\S+)>$", entries, flags=re.MULTILINE)
        links = [f"- [{name}]({site}{page}.html)" for name, page in pages]
        lines += [f"## {title}", "", *links, ""]
    lines += ["## Reference", "", f"- [All public names]({site}api/index.html)", ""]
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def write_layout(app):
    """Draw the packages and their imports."""
    draw_layout(app.srcdir)


def write_changelog(app):
    """Write the changelog, which the page of what is new includes."""
    (app.srcdir / "changelog.rst").write_text(page_text(), encoding="utf-8")


def write_tasks_table(app):
    """Write the table of tasks."""
    (app.srcdir / "tasks_table.rst").write_text(page_table(), encoding="utf-8")


def setup(app):
    app.set_translator("html", Translator)
    app.connect("autodoc-process-docstring", drop_links_of_others)
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("config-inited", set_mathjax)
    app.connect("builder-inited", write_metrics_table)
    app.connect("builder-inited", write_papers_table)
    app.connect("builder-inited", write_layout)
    app.connect("builder-inited", write_changelog)
    app.connect("builder-inited", write_tasks_table)
    app.connect("html-page-context", mend_page)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", write_page_list)
