"""Draw the packages of skfair and their imports: ``python doc/layout.py`` writes ``layout.svg``.

The build of the documentation does so too. A package stands above all packages that it imports. An
arrow that follows from others is left out, such as that to a package of a package.
"""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

HOME = Path(__file__).parent
PACKAGE = HOME.parent / "skfair"
LEFT_OUT = {"__init__", "__main__", "_names", "_warm_up", "exceptions"}
"""Front doors, which import nearly all packages, and names that nearly all import."""


def read_imports(package: Path = PACKAGE) -> dict[str, set[str]]:
    """The packages and modules that each of them imports, also where it calls them."""
    imports: dict[str, set[str]] = {}
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).parts[0].removesuffix(".py")
        if name in LEFT_OUT:
            continue
        imported = imports.setdefault(name, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = []
            if isinstance(node, ast.ImportFrom) and node.module == "skfair":
                modules = [f"skfair.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = [node.module]
            elif isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            imported |= {one.split(".")[1] for one in modules if one.startswith("skfair.")}
    return {
        name: {one for one in imported if one in imports and one != name}
        for name, imported in imports.items()
    }


def find_levels(imports: dict[str, set[str]]) -> dict[str, int]:
    """The level of each package: one above the highest that it imports."""
    levels: dict[str, int] = {}
    for name in TopologicalSorter(imports).static_order():
        levels[name] = max((levels[one] + 1 for one in imports[name]), default=0)
    return levels


def reduce_arrows(imports: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Pairs of a package and one that it imports, without those that follow from others."""
    below: dict[str, set[str]] = {}
    for name in TopologicalSorter(imports).static_order():
        below[name] = imports[name].union(*(below[one] for one in imports[name]))
    return {
        (name, one)
        for name, imported in imports.items()
        for one in imported
        if not any(one in below[other] for other in imported - {one})
    }


def draw(folder: Path = HOME) -> None:
    """Write the picture into a folder."""
    imports = read_imports()
    levels = find_levels(imports)
    rows = [sorted(n for n in levels if levels[n] == k) for k in range(max(levels.values()) + 1)]
    places = {
        name: ((i + 1) / (len(row) + 1), k)
        for k, row in enumerate(rows)
        for i, name in enumerate(row)
    }
    with mpl.rc_context({"svg.hashsalt": "layout", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, 0.7 * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        axes.set(xlim=(0, 1), ylim=(-0.5, len(rows) - 0.5))
        axes.set_axis_off()
        for name, one in sorted(reduce_arrows(imports)):
            axes.annotate(
                "",
                places[one],
                places[name],
                arrowprops={"arrowstyle": "->", "color": "#8F8F8F", "shrinkA": 9, "shrinkB": 9},
            )
        for name, (x, y) in places.items():
            is_private = name.startswith("_")
            box = {
                "boxstyle": "round",
                "facecolor": "#eeeeee" if is_private else "#cfe4f5",
                "edgecolor": "none",
            }
            axes.text(x, y, name, ha="center", va="center", fontsize=9, bbox=box)
        figure.savefig(Path(folder, "layout.svg"), metadata={"Date": None})


if __name__ == "__main__":
    draw()
