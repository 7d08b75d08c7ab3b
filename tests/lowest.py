"""The lowest versions that pyproject.toml allows, one per line: ``make test-lowest``."""

import re
import tomllib
from pathlib import Path


def lowest(project):
    """Requirements of a project and its tests, each at its lower bound."""
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["plot"], *extras["dask"], *extras["test"]]
    return [re.sub(r">=([\d.]+).*", r"==\1", one) for one in needed if not one.startswith("skfair")]


if __name__ == "__main__":
    written = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
    print(*lowest(tomllib.loads(written)["project"]), sep="\n")
