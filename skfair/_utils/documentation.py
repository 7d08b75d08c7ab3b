"""Links to the documentation from notebooks."""

SITE: str | None = None
"""Address of the documentation, as in ``[project.urls]``; None until there is one."""


class DocumentationLinkMixin:
    """Mixin of estimators whose HTML representation links their page of the reference.

    There is no link while the documentation has no address.
    """

    _doc_link_module = "skfair" if SITE else ""
    _doc_link_template = f"{SITE}api/generated/skfair.{{package}}.{{name}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        """Return the public package and the name of the class, for scikit-learn's link."""
        cls = type(self)
        return {"package": cls.__module__.split(".")[1], "name": cls.__name__}
