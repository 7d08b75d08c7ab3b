"""Packages that benchmarks compare with, and which of them are not installed."""

from importlib.metadata import packages_distributions, version
from importlib.util import find_spec

_MISSING = set()


def is_installed(package):
    """Whether a package is installed. `take_missing` names those that are not."""
    package = package.partition(".")[0]  # without it, its parts cannot be looked up
    if find_spec(package):
        return True
    _MISSING.add(package)
    return False


def take_missing():
    """A sentence about the packages that were not installed since the last call, or no text."""
    names = ", ".join(sorted(_MISSING))
    _MISSING.clear()
    return f"Left out, because they are not installed: {names}." if names else ""


def name_versions(*packages):
    """Names and versions of the packages that are installed, in brackets, or no text."""
    distributions = packages_distributions()
    names = [distributions[package][0] for package in packages if package in distributions]
    texts = [f"{name} {version(name)}" for name in names]
    return f" ({', '.join(texts)})" if texts else ""
