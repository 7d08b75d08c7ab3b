"""Estimators link their page of the reference once the site has an address."""

import importlib
from pathlib import Path

import pytest
from sklearn.utils import estimator_html_repr

from skfair._utils.documentation import SITE, DocumentationLinkMixin
from skfair.classification import ConstrainedERMClassifier

INDEX = Path(__file__).parents[2] / "doc" / "api" / "index.rst"
PACKAGES = "classification", "regression", "ranking", "conformal", "cluster"


def test_there_is_no_link_while_the_documentation_has_no_address():
    assert SITE is None
    assert "api/generated" not in estimator_html_repr(ConstrainedERMClassifier())


@pytest.mark.parametrize("package", PACKAGES)
def test_an_estimator_links_its_page_of_the_reference(package, monkeypatch):
    monkeypatch.setattr(DocumentationLinkMixin, "_doc_link_module", "skfair")
    module = importlib.import_module(f"skfair.{package}")
    exported = [getattr(module, name) for name in module.__all__]
    estimators = [
        one for one in exported if isinstance(one, type) and issubclass(one, DocumentationLinkMixin)
    ]
    assert estimators
    pages = INDEX.read_text(encoding="utf-8")
    for cls in estimators:
        page = cls()._get_doc_link().removeprefix(f"{SITE}api/generated/skfair.")
        assert page == f"{package}.{cls.__name__}.html"
        assert cls.__name__ in pages
