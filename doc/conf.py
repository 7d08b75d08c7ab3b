"""Configuration of the documentation: `make doc` builds it in doc/_build/html."""

import skfair
from skfair.metrics import METRICS

project = "skfair"
author = copyright = "The skfair developers"
version = release = skfair.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
# No intersphinx: the build reaches nothing outside this repository, so it never fails for that.

default_role = "py:obj"
templates_path = ["_templates"]
exclude_patterns = ["_build", "metrics_table.rst"]
html_theme = "pydata_sphinx_theme"
html_title = "skfair"
html_show_sourcelink = False
html_theme_options = {
    "footer_start": ["copyright"],
    "footer_end": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": {"**": ["page-toc"], "api/index": []},
    "show_toc_level": 2,
}
GUIDE = (
    "fair_clustering",
    "fair_spectral_clustering",
    "fair_classification",
    "partial_parity",
)
WIDE = ("index", "install", *GUIDE, "developer", "gallery/*")
html_sidebars = {page: [] for page in WIDE}

autosummary_generate = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

plot_formats = [("png", 110)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "abort_on_example_error": True,
    "backreferences_dir": "api/generated/backreferences",
    "doc_module": ("skfair",),
    "download_all_examples": False,
    "ignore_repr_types": r"matplotlib|Display",
    "min_reported_time": 1,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}


def write_metrics_table(app):
    """Write the registry of metrics as a table, so that the two cannot drift apart."""
    rows = [
        f"   * - ``{name}``\n"
        f"     - :func:`~skfair.metrics.{metric.function.__name__}`"
        f"{''.join(f', ``{k}={v!r}``' for k, v in metric.params.items())}\n"
        f"     - {metric.best:g}\n"
        f"     - ``{name if metric.greater_is_better else 'neg_' + name}``"
        for name, metric in METRICS.items()
    ]
    head = (
        ".. list-table::\n   :header-rows: 1\n\n"
        "   * - name\n     - function\n     - best\n     - scorer"
    )
    (app.srcdir / "metrics_table.rst").write_text("\n".join([head, *rows, ""]), encoding="utf-8")


def setup(app):
    app.connect("builder-inited", write_metrics_table)
