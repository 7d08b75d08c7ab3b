"""``python tests/release.py [TAG]``: what must agree before a release, or reasons and status 1.

``make release-check`` does all but the upload: these checks, the built sdist and wheel, and tests
against the installed wheel. The workflow of releases passes the tag that started it.

``python tests/release.py links`` lets the links of README.md lead to the site, as a package index
shows no relative ones.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

HOME = Path(__file__).parents[1]
RELEASE = re.compile(r"\d+\.\d+\.\d+")
LINK = re.compile(r"^(\[\w+\]: )(\S+)$", flags=re.MULTILINE)


def read_version(module):
    """The version that the package states, of the text of its module."""
    return re.search(r'^__version__ = "(.+)"$', module, flags=re.MULTILINE)[1]


def problems(version, changelog, tags):
    """Sentences on what a release of the version lacks; none if it may be tagged."""
    released = version.removesuffix(".dev0")
    if not RELEASE.fullmatch(released):
        yield f"The version must be three numbers, or end in .dev0 too, but it is {version!r}."
    if f"v{released}" in tags:
        yield f"The tag v{released} exists already: raise the version in skfair/__init__.py."
    headings = re.findall(r"^## (.+)$", changelog, flags=re.MULTILINE)
    expected = "Unreleased" if version.endswith(".dev0") else released
    first = headings[0] if headings else "no heading"
    if first.split(" ")[0] != expected:
        yield f"CHANGELOG.md must begin with '## {expected}' at version {version}, not '{first}'."
    elif not re.search(rf"^## {re.escape(first)}\n+(?!## )\S", changelog, flags=re.MULTILINE):
        yield f"The section '{first}' of CHANGELOG.md is empty: name what users notice."
    elif expected == released and not re.fullmatch(r"\S+ \(\d{4}-\d\d-\d\d\)", first):
        yield f"The heading '## {first}' must end in the date, as in '## {released} (2030-01-31)'."


def citation_problems(version, changelog, citation):
    """Sentences on what CITATION.cff states otherwise than the package and the changelog."""
    versions = re.findall(r"^ *version: (\S+)$", citation, flags=re.MULTILINE)
    if set(versions) != {version}:
        yield f"CITATION.cff must state version {version} wherever it states one, not {versions}."
    date = re.search(rf"^## {re.escape(version)} \((\S+)\)$", changelog, flags=re.MULTILINE)
    expected = [date[1]] if date else []
    dates = re.findall(r"^ *date-released: (\S+)$", citation, flags=re.MULTILINE)
    if dates != expected:
        yield f"CITATION.cff must have the date-released of the changelog, {expected}, not {dates}."


def tag_problems(version, tag):
    """A sentence if a tag is not that of the version."""
    if tag != f"v{version}":
        yield f"The tag of version {version} must be v{version}, but it is {tag!r}."


def address_problems(urls, readme):
    """Sentences on addresses that the page of a package index would lack."""
    if "Documentation" not in urls:
        yield (
            "[project.urls] of pyproject.toml must name the site as Documentation, as SITE in "
            "skfair/_utils/documentation.py does."
        )
    relative = [link for _, link in LINK.findall(readme) if not link.startswith("https://")]
    if relative:
        yield (
            f"README.md must have links to the site, but {relative[0]} is relative: run "
            "`python tests/release.py links`."
        )


def link_to_site(readme, site):
    """The README with links to pages of the site in the place of files of the repository."""
    return LINK.sub(lambda match: match[1] + find_page(match[2], site), readme)


def find_page(link, site):
    """The address of the page that is made of a file of the repository."""
    if link.startswith("https://"):
        return link
    path, hash_sign, anchor = link.partition("#")
    page = _PAGES.get(path) or path.removeprefix("doc/").replace(".rst", ".html")
    return site + page + hash_sign + anchor


_PAGES = {
    "CHANGELOG.md": "whats_new.html",
    "examples/": "gallery/index.html",
    "examples/tutorial/plot_from_data_to_decision.py": (
        "gallery/tutorial/plot_from_data_to_decision.html"
    ),
}
"""Pages by the files outside `doc` of which they are made."""


def write_links():
    """Let the links of README.md lead to the site."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    path = HOME / "README.md"
    readme = path.read_text(encoding="utf-8")
    path.write_text(link_to_site(readme, project["urls"]["Documentation"]), encoding="utf-8")


def main(tag=None):
    """Print what is missing, or the name of the next tag."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = read_version((HOME / "skfair" / "__init__.py").read_text(encoding="utf-8"))
    changelog = (HOME / "CHANGELOG.md").read_text(encoding="utf-8")
    tags = subprocess.check_output(["git", "tag", "--list"], cwd=HOME, text=True).split()
    citation = (HOME / "CITATION.cff").read_text(encoding="utf-8")
    readme = (HOME / "README.md").read_text(encoding="utf-8")
    missing = [
        *problems(version, changelog, set(tags) - {tag}),
        *citation_problems(version, changelog, citation),
        *address_problems(project.get("urls", {}), readme),
        *(tag_problems(version, tag) if tag else ()),
    ]
    print(
        *missing,
        f"{project['name']} {version}, next tag v{version.removesuffix('.dev0')}",
        sep="\n",
    )
    sys.exit(bool(missing))


if __name__ == "__main__":
    if sys.argv[1:] == ["links"]:
        write_links()
    else:
        main(*sys.argv[1:2])
