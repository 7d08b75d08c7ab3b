"""Address of the documentation, and links to it from notebooks."""

SITE = "https://skfair.example/"
"""Address of the documentation, as in ``[project.urls]``; a placeholder until there is one."""

PLACEHOLDER = ".example/"


class DocumentationLinkMixin:
    """Mixin of estimators whose HTML representation links their page of the reference.

    There is no link while the address is a placeholder.
    """

    _doc_link_module = "" if SITE.endswith(PLACEHOLDER) else "skfair"
    _doc_link_template = SITE + "api/generated/skfair.{package}.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """Return the public package and the name of the class, for scikit-learn's link."""
        cls = type(self)
        return {"package": cls.__module__.split(".")[1], "name": cls.__name__}
