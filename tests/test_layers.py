"""Imports point one way: calls go down the layers, never up or across."""

import ast
import inspect
import subprocess
import sys
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import skfair
from skfair._bound.gap import GapBase
from skfair._groups import Groups
from skfair._names import SUBMODULES
from skfair.constraints import Constraint
from tests import words

PACKAGE = Path(skfair.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

MAY_IMPORT = {
    "": {"_names"},
    "_kernels": set(),
    "exceptions": set(),
    "_names": set(),
    "_utils": {"_kernels"},
    "_partitions": {"_utils"},
    "callbacks": {"_utils"},
    "losses": {"_kernels", "_utils"},
    "_groups": {"exceptions", "_partitions", "_utils"},
    "datasets": {"_partitions", "_utils"},
    "surrogates": {"_kernels", "losses"},
    "_columns": {"_groups", "_partitions", "_utils"},
    "_statistics": {"_groups", "_utils"},
    "groups": {"_groups"},
    "preprocessing": {"_groups", "_utils"},
    "metrics": {"exceptions", "_groups", "_kernels", "losses", "_statistics", "_utils"},
    "statistics": {"_statistics"},
    "_bound": {"_groups", "losses", "metrics", "_statistics", "surrogates", "_utils"},
    "model_selection": {"exceptions", "metrics", "_utils"},
    "plotting": {"_groups", "metrics", "_utils"},
    "constraints": {
        "_bound",
        "_groups",
        "losses",
        "metrics",
        "_statistics",
        "surrogates",
        "_utils",
    },
    "cluster": {
        "exceptions",
        "_groups",
        "_kernels",
        "metrics",
        "_partitions",
        "plotting",
        "_utils",
    },
    "_problems": {
        "_bound",
        "constraints",
        "_groups",
        "_kernels",
        "losses",
        "_partitions",
        "surrogates",
        "_utils",
    },
    "audit": {
        "_bound",
        "_columns",
        "constraints",
        "exceptions",
        "_groups",
        "losses",
        "metrics",
        "model_selection",
        "_partitions",
        "plotting",
        "_statistics",
        "_utils",
    },
    "solvers": {"losses", "_problems", "_utils"},
    "monitoring": {
        "audit",
        "constraints",
        "_groups",
        "losses",
        "metrics",
        "_partitions",
        "plotting",
        "_statistics",
        "_utils",
    },
    "_fitting": {
        "_bound",
        "constraints",
        "exceptions",
        "_groups",
        "_kernels",
        "losses",
        "_partitions",
        "_problems",
        "solvers",
        "_statistics",
        "surrogates",
        "_utils",
    },
    "_commands": {
        "audit",
        "_columns",
        "constraints",
        "datasets",
        "_groups",
        "metrics",
        "monitoring",
        "plotting",
        "_statistics",
        "_utils",
    },
    "_postprocessing": {
        "_bound",
        "constraints",
        "exceptions",
        "_fitting",
        "_groups",
        "_kernels",
        "losses",
        "metrics",
        "_partitions",
        "preprocessing",
        "_problems",
        "solvers",
        "_statistics",
        "surrogates",
        "_utils",
    },
    "classification": {
        "_bound",
        "constraints",
        "exceptions",
        "_fitting",
        "_groups",
        "losses",
        "metrics",
        "_partitions",
        "_postprocessing",
        "_problems",
        "solvers",
        "_utils",
    },
    "ranking": {
        "constraints",
        "exceptions",
        "_fitting",
        "_groups",
        "losses",
        "_partitions",
        "_postprocessing",
        "_problems",
        "solvers",
        "_utils",
    },
    "regression": {
        "_bound",
        "constraints",
        "_fitting",
        "_groups",
        "losses",
        "_partitions",
        "_postprocessing",
        "solvers",
        "_utils",
    },
    "torch": {
        "_bound",
        "classification",
        "constraints",
        "_fitting",
        "_groups",
        "losses",
        "_problems",
        "solvers",
        "surrogates",
        "_utils",
    },
    "_warm_up": {
        "classification",
        "cluster",
        "_kernels",
        "ranking",
        "regression",
        "solvers",
        "_utils",
    },
    "conformal": {
        "_bound",
        "classification",
        "exceptions",
        "_fitting",
        "_groups",
        "_partitions",
        "_postprocessing",
        "regression",
        "_utils",
    },
    "_onnx": {"_bound", "_groups", "_postprocessing", "_utils"},
    "export": {
        "_bound",
        "classification",
        "cluster",
        "_fitting",
        "_onnx",
        "regression",
        "_utils",
    },
    "__main__": {"_commands", "_warm_up"},
}
"""For every subpackage, the other subpackages it may import; "" is the package's own front door.
All may import "_names", which says where a public name is."""


REGISTRIES = {
    PACKAGE / "cluster" / "_fronts.py",
    PACKAGE / "cluster" / "kmeans" / "_fair_kmeans.py",
    PACKAGE / "cluster" / "spectral" / "_fair_embedding.py",
}
"""Files with a registry of methods, some of which are published ones, there for comparisons.

Such methods stand in a folder `literature`. Besides one another, only the registries and an
`__init__.py` of their subpackage import them, so that no default depends on them."""


SHARED = {
    "audit": {
        "_bins",
        "_claims",
        "_formats",
        "_front",
        "_certify_in_order",
        "_ledger",
        "_predictions",
        "_protection",
        "_report_input",
        "_sections",
        "_sensitive_features",
        "_sentences",
        "_subgroups",
        "_tables",
        "_task_metrics",
    },
    "classification": {"_classifiers"},
    "constraints": {"_constraint", "_criteria", "_held_out", "_partial"},
    "metrics": {
        "_calibration",
        "_group_metrics",
        "_group_report",
        "_partial",
        "_ranking",
        "_rates",
        "_registry",
        "_scoring",
        "_synonyms",
        "_top_k",
    },
    "monitoring": {"_monitor"},
    "plotting": {"_display", "_gap_monitor", "_groups"},
    "solvers": {"_solver", "_stochastic"},
}
"""Private modules of packages of users, by package, from which other packages take names."""


def parts(path):
    """Name of a file's module below skfair, split at the dots."""
    names = path.relative_to(PACKAGE).with_suffix("").parts
    return names[:-1] if names[-1] == "__init__" else names


MODULES = {".".join(("skfair", *parts(path))): path for path in FILES}
"""Files by the dotted names of their modules."""


def subpackage(path):
    return (parts(path) or ("",))[0]


@cache
def imports(path):
    """Absolute dotted names of everything that a file imports, wherever in the file."""
    package = ["skfair", *path.relative_to(PACKAGE).parent.parts]
    names = []
    for node in words.walk_statements(words.parse(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *filter(None, [node.module])])
            names += [f"{source}.{alias.name}" for alias in node.names]
    return names


def subpackages_imported(path):
    names = (name.split(".") for name in imports(path))
    return {name[1] for name in names if name[0] == "skfair" and len(name) > 1}


def describe(path):
    return str(path.relative_to(PACKAGE.parent))


def test_a_file_imports_only_subpackages_below():
    new = {subpackage(path) for path in FILES} - MAY_IMPORT.keys()
    assert not new, f"state in MAY_IMPORT what the new subpackages {sorted(new)} may import"
    for path in FILES:
        below = MAY_IMPORT[subpackage(path)] | {subpackage(path), "__version__", "_names"}
        upward = subpackages_imported(path) - below
        assert not upward, f"{describe(path)} must not import {sorted(upward)}"


def taken_from_private_modules(path):
    """Pairs (package, private module) of packages of users from which a file of another takes."""
    for name in imports(path):
        library, package, module = [*name.split("."), "", ""][:3]
        is_other = library == "skfair" and package not in ("", subpackage(path))
        is_of_users = not package.startswith("_")
        is_private = module.startswith("_") and f"skfair.{package}.{module}" in MODULES
        if is_other and is_of_users and is_private:
            yield package, module


def test_names_come_from_a_private_package_or_a_public_module():
    taken = {pair for path in FILES for pair in taken_from_private_modules(path)}
    assert taken == {(package, module) for package, modules in SHARED.items() for module in modules}


def imported_files(path):
    """Files of the package that a file imports by name, also for type hints alone."""
    for name in imports(path):
        while name and name not in MODULES:
            name = name.rpartition(".")[0]  # the file of a class or function
        if name:
            yield MODULES[name]


def find_circle(graph):
    """Files that import one another in a circle, in order; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_circles_are_found():
    assert find_circle({1: [2, 3], 2: [3]}) == []
    assert set(find_circle({1: [2], 2: [3], 3: [2]})) == {2, 3}


def test_files_do_not_import_one_another_in_a_circle():
    graph = {path: set(imported_files(path)) for path in FILES}
    assert sum(map(len, graph.values())) > len(FILES)
    assert [describe(path) for path in find_circle(graph)] == []


def forbidden_imports_of_literature(graph):
    """Pairs of a file and a published method that it imports but must not."""
    return [
        (describe(path), describe(method))
        for path, imported in graph.items()
        for method in imported
        if method.parent.name == "literature" != path.parent.name
        and not (
            (path.name == "__init__.py" or path in REGISTRIES)
            and subpackage(path) == subpackage(method)
        )
    ]


@pytest.mark.parametrize(
    ("path", "is_allowed"),
    [
        ("solvers/__init__.py", True),
        ("solvers/literature/_proximal.py", True),
        ("cluster/literature/_alternating.py", True),
        ("solvers/_sqp.py", False),
        ("torch/_loop.py", False),
        ("torch/__init__.py", False),
        ("cluster/_fronts.py", False),
    ],
)
def test_forbidden_imports_of_literature_are_found(path, is_allowed):
    graph = {PACKAGE / path: {PACKAGE / "solvers/literature/_descent.py"}}
    assert forbidden_imports_of_literature(graph) == (
        [] if is_allowed else [(f"skfair/{path}", "skfair/solvers/literature/_descent.py")]
    )


def test_published_methods_are_imported_by_registries_alone():
    graph = {path: set(imported_files(path)) for path in FILES}
    assert forbidden_imports_of_literature(graph) == []
    for path in REGISTRIES:
        assert any(method.parent.name == "literature" for method in graph[path]), describe(path)


@pytest.mark.parametrize("name", sorted(MAY_IMPORT))
def test_a_subpackage_may_import_no_more_than_it_does(name):
    used = set().union(*(subpackages_imported(path) for path in FILES if subpackage(path) == name))
    assert used >= MAY_IMPORT[name]


def test_private_scikit_learn_has_one_door():
    private = [
        (describe(path), name)
        for path in FILES
        for name in imports(path)
        if name.split(".")[0] == "sklearn"
        and any(part.startswith("_") for part in name.split("."))
        and parts(path) != ("_utils", "sklearn")
    ]
    assert not private, f"import {private} in skfair/_utils/sklearn.py and take it from there"


# What layers know of one another.


def list_subclasses(base):
    """All classes that derive from another one."""
    return [one for child in base.__subclasses__() for one in (child, *list_subclasses(child))]


KINDS = {
    "constraints": {one.__name__ for one in list_subclasses(Constraint)},
    "_bound": {one.__name__ for one in list_subclasses(GapBase)},
    "_groups": {one.__name__ for one in (Groups, *list_subclasses(Groups))},
}
"""Classes of a subpackage, about which its clients ask attributes and not the class."""


def name_of(node):
    """The name, or that of an attribute, that an expression is; None if it is another one."""
    return getattr(node, "attr", getattr(node, "id", None))


def compared_classes(path):
    """Pairs of a line and the name of a class that the class of an object is compared with."""
    for node in words.list_nodes(path):
        if isinstance(node, ast.Call) and name_of(node.func) in ("isinstance", "issubclass"):
            compared = node.args[1]
        elif isinstance(node, ast.Compare) and name_of(getattr(node.left, "func", None)) == "type":
            compared = node.comparators[0]
        else:
            continue
        for one in ast.walk(compared):
            yield node.lineno, name_of(one)


@pytest.mark.parametrize("owner", KINDS)
def test_clients_do_not_ask_for_the_class_of_a_constraint_or_of_groups(owner):
    compared = [
        f"{describe(path)}:{line} asks for {name}"
        for path in FILES
        if subpackage(path) != owner
        for line, name in compared_classes(path)
        if name in KINDS[owner]
    ]
    assert not compared, f"{compared}: give the classes of {owner} an attribute that answers it"


PUBLIC = {
    name: getattr(module, name)
    for module in (import_module(f"skfair.{one}") for one in SUBMODULES)
    for name in module.__all__
}
"""Public names of all subpackages."""


def test_a_public_name_is_exported_and_defined_once():
    exported = Counter(
        name for one in SUBMODULES for name in import_module(f"skfair.{one}").__all__
    )
    assert [name for name, n in exported.items() if n > 1] == []
    definitions = Counter(
        node.name
        for path in FILES
        if subpackage(path) != "_kernels"  # kernels have the names of what they compute
        for node in words.parse(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in PUBLIC
    )
    assert definitions and [name for name, n in definitions.items() if n > 1] == []


def test_attributes_are_declared_and_not_computed_by_name():
    computed = [
        describe(path)
        for path in FILES
        for node in words.list_nodes(path)
        if getattr(node, "name", None) == "__getattr__"
    ]
    assert computed == ["skfair/__init__.py"]  # which imports submodules when they are first used


def test_protocols_declare_only_what_is_used():
    nodes = [node for path in FILES for node in words.list_nodes(path)]
    read = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    declared = {
        f"{cls.name}.{name}"
        for cls in nodes
        if isinstance(cls, ast.ClassDef) and any("Protocol" in ast.unparse(b) for b in cls.bases)
        for name in (
            getattr(one, "name", ast.unparse(getattr(one, "target", one))) for one in cls.body
        )
        if name.isidentifier() and name[:2] != "__"
    }
    assert len(declared) > 20
    assert {one for one in declared if one.partition(".")[2] not in read} == set()


def public_functions():
    """Public functions, classes and methods that the package defines, by name."""
    for name, thing in PUBLIC.items():
        if callable(thing):
            yield name, thing
        for method, member in vars(thing).items() if isinstance(thing, type) else ():
            function = inspect.unwrap(getattr(member, "__func__", member))
            if method[0] != "_" and inspect.isfunction(function):
                yield f"{name}.{method}", function


def test_public_callables_have_hints():
    without = []
    for name, function in public_functions():
        try:
            signature = inspect.signature(function)
        except ValueError:  # of a class of Python's own
            continue
        hints = {n: one.annotation for n, one in signature.parameters.items()}
        if not isinstance(function, type):
            hints |= {"the result": signature.return_annotation}
        hints = {n: hint for n, hint in hints.items() if n not in ("self", "cls")}
        without += [f"{name}: {n}" for n, hint in hints.items() if hint is inspect.Parameter.empty]
    assert without == []


def modules_after(*statements):
    """Top-level modules outside the standard library that an interpreter has after each one."""
    report = "print(*{name.split('.')[0] for name in sys.modules})"
    code = "\n".join(["import sys", *(f"{statement}\n{report}" for statement in statements)])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    standard = sys.stdlib_module_names | {"__main__"}
    return [set(line.split()) - standard for line in done.stdout.splitlines()]


def test_importing_skfair_imports_no_other_package():
    before, after = modules_after("", "import skfair")
    assert after - before == {"skfair"}


@pytest.mark.slow
def test_importing_cluster_costs_no_more_than_scikit_learn_and_numba():
    needed, loaded = modules_after(
        "import sklearn.cluster, sklearn.callback, numba", "import skfair.cluster"
    )
    assert loaded - needed == {"skfair"}
    assert "matplotlib" not in loaded


@pytest.mark.slow
def test_classifiers_and_regressors_import_numba_with_the_first_kernel_that_they_call():
    (loaded,) = modules_after("import skfair.classification, skfair.regression")
    assert "numba" not in loaded


@pytest.mark.slow
def test_models_of_scikit_learn_are_imported_where_they_are_fitted():
    """They take as long to import as half of this package."""
    models = {"cluster", "ensemble", "linear_model", "neighbors", "svm", "tree"}
    names = ("classification", "cluster", "regression", "_postprocessing", "audit", "monitoring")
    lines = [f"import skfair.{name}" for name in names]
    code = "; ".join(["import sys", *lines, "print(*sys.modules)"])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert not {f"sklearn.{name}" for name in models} & set(done.stdout.split())


def test_submodules_load_when_they_are_first_used():
    (loaded,) = modules_after("import skfair; skfair.exceptions")
    assert loaded >= {"skfair"}
    assert set(skfair.__all__) <= set(dir(skfair))
    with pytest.raises(AttributeError, match="no attribute 'no_such_subpackage'"):
        _ = skfair.no_such_subpackage
