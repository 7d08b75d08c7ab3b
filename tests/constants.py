"""What numeric constants decide: ``python -m tests.constants [MODULE ...]`` varies each.

A constant of a module is doubled and halved, in every module that imports it, for the quick fits
that read it. The fits are the examples of docstrings and guide, the small reference fits and those
of ``MORE_FITS``. Each constant gets a line: the first fit of which a bit changes, and the largest
change relative to the size of what changes, or the fits that stay as they are. A module is named as
in ``skfair.fitting``, which stands for its submodules as well. ``--record FILE`` and ``--check
FILE`` store the results of all fits, and compare them bit by bit.

Compiled kernels freeze their constants: run with NUMBA_DISABLE_JIT=1 to vary these.
"""

import ast
import contextlib
import doctest
import importlib
import io
import os
import pickle
import pkgutil
import re
import sys
import tempfile
import threading
import types
import warnings
from argparse import ArgumentParser
from collections import Counter, defaultdict
from functools import cache, partial
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

import skfair
import skfair._kernels
from skfair.audit import Audit
from skfair.classification import (
    ConstrainedClassifierCV,
    ConstrainedERMClassifier,
    PartialParityClassifier,
)
from skfair.cluster import FairKMeans
from skfair.datasets import open_blocks
from tests import density, reference
from tests.maintainability import PACKAGE, trees

GUIDE = PACKAGE.parent / "doc"
PAGES = ("audit", "audit_files", "audit_subgroups", "certificates", "deploying", "group_access")
PAGES += ("fair_classification", "incomplete_data", "laws", "monitoring", "pipelines")
PAGES += ("prediction_sets", "price_of_fairness", "solvers")
"""Pages of the guide whose examples take about a second."""

FACTORS = (2, 0.5)


class Constant(NamedTuple):
    """A number that a module assigns to a name in capitals."""

    module: str
    name: str

    def __str__(self):
        return f"{self.module}.{self.name}"


def module_name(path):
    """Name by which the file of a module is imported."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def numeric_constants():
    """Every constant whose expression is a number, with its value."""
    values = {}
    for path, tree in trees():
        for node in tree.body:
            number = _number(getattr(node, "value", None))
            for name in density.module_constants(ast.Module([node], [])) if number else ():
                values[Constant(module_name(path), name)] = number[0]
    return values


def _number(expression):
    """The number that an expression of literals gives, in a list, which is empty for others."""
    try:
        code = compile(ast.Expression(expression), "", "eval")
        value = eval(code, {"__builtins__": {}})
    except (AttributeError, NameError, TypeError, ValueError):
        return []
    return [value] if type(value) in (int, float) else []


class Readers(NamedTuple):
    """Who reads constants: lines of functions by file, and modules that have the name."""

    lines: dict
    holders: dict
    at_import: set


def find_readers(constants):
    """Where each constant is read in a function, or else as its module is imported."""
    readers = Readers(defaultdict(set), defaultdict(set), set())
    for path, tree in trees():
        module = module_name(path)
        names = _list_imports(tree, constants)
        names |= {one.name: one for one in constants if one.module == module}
        for name, constant in names.items():
            readers.holders[constant].add((module, name))
        if not names:
            continue
        inside = {id(one) for node in ast.walk(tree) for one in _evaluated_later(node)}
        for node in ast.walk(tree):
            constant = names.get(getattr(node, "id", ""))
            if constant is None or isinstance(getattr(node, "ctx", None), ast.Store):
                continue
            if id(node) in inside:
                readers.lines[str(path), node.lineno].add(constant)
            else:
                readers.at_import.add(constant)
    return readers


def _evaluated_later(node):
    """The nodes in the body of a function, which are evaluated at its calls."""
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return []
    body = node.body if isinstance(node.body, list) else [node.body]
    return [inner for one in body for inner in ast.walk(one)]


def _list_imports(tree, constants):
    """The constants of other modules that a file imports by name."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("skfair"):
            for alias in (one for one in node.names if one.name.isupper()):
                source = Constant(*_origin(node.module, alias.name))
                if source in constants:
                    names[alias.asname or alias.name] = source
    return names


@cache
def _trees():
    """The syntax tree of every module by its name."""
    return {module_name(path): tree for path, tree in trees()}


@cache
def _origin(module, name):
    """Module and name that first assigned what a module may only import."""
    imports = [node for node in _trees()[module].body if isinstance(node, ast.ImportFrom)]
    for node in imports:
        for alias in node.names if (node.module or "").startswith("skfair") else ():
            if name == (alias.asname or alias.name) and node.module != module:
                return _origin(node.module, alias.name)
    return module, name


@contextlib.contextmanager
def assign(places, value):
    """A value of a constant in every module that has it."""
    modules = [(importlib.import_module(module), name) for module, name in places]
    before = [
        (module, name, getattr(module, name)) for module, name in modules if hasattr(module, name)
    ]
    try:
        for module, name, _ in before:
            setattr(module, name, value)
        yield
    finally:
        for module, name, old in before:
            setattr(module, name, old)


def scale(value, factor):
    """A constant times a factor; positive integers remain so."""
    if isinstance(value, float):
        return value * factor
    return max(round(value * factor), 1) if value > 0 else round(value * factor)


@contextlib.contextmanager
def trace(lines):
    """A context that collects the constants of ``lines`` that are read."""
    read = set()
    codes = {}

    def enter(frame, event, argument):
        code = frame.f_code
        if code not in codes:
            name = code.co_filename
            codes[code] = any((name, line) in lines for *_, line in code.co_lines())
        return follow if codes[code] else None

    def follow(frame, event, argument):
        read.update(lines.get((frame.f_code.co_filename, frame.f_lineno), ()))
        return follow

    threading.settrace(enter)
    sys.settrace(enter)
    try:
        yield read
    finally:
        sys.settrace(None)
        threading.settrace(None)


def examples():
    """The examples of every docstring of the package and of the pages of the guide."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for info in pkgutil.walk_packages(skfair.__path__, "skfair."):
        if info.name in ("skfair.__main__", "skfair._warm_up") or ".torch" in info.name:
            continue
        for test in finder.find(importlib.import_module(info.name)):
            if test.examples:
                yield test.name, test.examples
    for page in PAGES:
        text = (GUIDE / f"{page}.rst").read_text(encoding="utf-8")
        yield f"guide, {page}", doctest.DocTestParser().get_examples(text)


def run_examples(lines):
    """What the lines of an example assign, return and print."""
    scope, shown, printed = {"__name__": "__main__"}, [], io.StringIO()
    hook = sys.displayhook
    sys.displayhook = shown.append
    try:
        with contextlib.redirect_stdout(printed):
            for line in lines:
                if not line.options.get(doctest.SKIP):
                    _run_line(line, scope, shown)
    finally:
        sys.displayhook = hook
    return {"assigned": scope, "shown": shown, "printed": printed.getvalue()}


def _run_line(line, scope, shown):
    try:
        exec(compile(line.source, "<example>", "single"), scope)
    except Exception as error:  # as many an example shows
        shown.append(f"{type(error).__name__}: {error}")


LEFT_OUT = ("dask", "distributed", "matplotlib", "numpy.random")
"""Packages whose objects are no results: generators, clients and figures."""


def leaves(value):
    """Arrays, numbers and texts in a result, by their paths; private attributes are left out."""
    result = {}
    _collect(value, "", result, set())
    return result


def _collect(value, path, result, visited):
    if value is None or isinstance(value, str | bytes | int | float | complex | np.generic):
        result[path] = np.asarray(value)
        return
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OV":
        result[path] = value.copy()
        return
    if id(value) in visited or isinstance(value, types.ModuleType | types.FunctionType | type):
        return
    visited.add(id(value))
    for name, one in _parts(value):
        _collect(one, f"{path}.{name}", result, visited)


def _parts(value):
    """Names and values of what an object consists of."""
    if type(value).__module__.startswith(LEFT_OUT):
        return []
    if isinstance(value, dict):
        items = [(str(name), one) for name, one in value.items()]
        return [one for one in items if not one[0].startswith("__")]
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        fields = getattr(value, "_fields", None) or range(len(value))
        values = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return list(zip(fields, values, strict=True))
    if hasattr(value, "iloc"):
        return [(str(name), one.to_numpy()) for name, one in value.reset_index().items()]
    if hasattr(value, "indptr"):
        return [(name, getattr(value, name)) for name in ("data", "indices", "indptr")]
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    named = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    named |= getattr(value, "__dict__", {})
    return [(name, one) for name, one in named.items() if not name.startswith("_")]


SLOW = "large|files|Dask|front|adam-pd|partial parity, four groups|cluster_front|FairKMeans$"
"""Names of fits of references and examples that take several seconds."""


def audit_numbers():
    """Audit of groups by a number and a label, with scores of many values."""
    X, y, score, groups = reference.draw(3000)
    attributes = pd.DataFrame({"age": (X[:, 0] * 10).round(), "sex": groups})
    audit = Audit.from_predictions(y, score > 0, y_score=score, sensitive_features=attributes)
    return audit.report().to_json(), audit.subgroups().to_frame()


def fit_wide():
    """A constrained classifier of many columns, of which most are noise."""
    X, y, _, groups = reference.draw(600)
    X = np.column_stack((X, np.random.default_rng(0).normal(size=(600, 70))))
    estimator = ConstrainedClassifierCV(LogisticRegression(), tolerance=0.05)
    return reference.describe(estimator.fit(X, y, sensitive_features=groups), X)


def fit_file():
    """A linear classifier, and clusters, of a table in a file."""
    X, y, _, groups = reference.draw(40_000)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "samples.npy", np.column_stack((X, y, groups)))
        table = open_blocks(Path(folder) / "samples.npy")
        features, codes = table[list(range(5))], table[6]
        linear = ConstrainedERMClassifier().fit(features, table[5], sensitive_features=codes)
        clusters = FairKMeans(4, random_state=0).fit(features, sensitive_features=codes)
        return reference.describe(linear), clusters.cluster_centers_, clusters.inertia_


def fit_any(constraint, **settings):
    """Thresholds of each group."""
    X, y, _, groups = reference.draw(800)
    model = LogisticRegression()
    settings |= {"group_estimator": "sensitive_features"}
    estimator = ConstrainedClassifierCV(model, constraint, tolerance=0.05, **settings)
    return reference.describe(estimator.fit(X, y, sensitive_features=groups))


MORE_FITS = {
    "audit, numbers": audit_numbers,
    "any model, wide": fit_wide,
    "any model, sensitive_features": partial(fit_any, "demographic_parity"),
    "any model, confidence_level": partial(fit_any, "equalized_odds", confidence_level=0.9),
    "files": fit_file,
    "partial parity, few samples": partial(
        reference.fit_classifier,
        PartialParityClassifier(interval=(0.2, 0.5)),
        n_samples=500,
    ),
    "k-means, many clusters": partial(
        reference.fit_clusters, FairKMeans(50, random_state=0), n_samples=2001
    ),
    "k-means, ratio": partial(
        reference.fit_clusters, FairKMeans(3, min_share_ratio=0.9, random_state=0), n_samples=500
    ),
}
"""Fits that read constants which neither examples nor references read."""


@cache
def cases():
    """The quick fits by name: a function and what it is called with."""
    every = {name: partial(run_examples, lines) for name, lines in examples()}
    every |= reference.FITS
    return {name: fit for name, fit in every.items() if not re.search(SLOW, name)} | MORE_FITS


def run(case):
    """Leaves of the result of a case, without warnings."""
    os.environ.pop("SKFAIR_DATA", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return leaves(case())
        except Exception as error:  # a constant may be essential
            return {"error": np.asarray(f"{type(error).__name__}: {error}")}


class Baseline(NamedTuple):
    """What two runs of a case agree on, the constants that it reads, and its seconds."""

    leaves: dict
    read: set
    seconds: float


def baseline(case, lines):
    """Run a case twice, at first for what it reads."""
    with trace(lines) as read:
        first = run(case)  # kernels and caches are warm afterwards
    begin = process_time()
    second = run(case)
    seconds = process_time() - begin
    unstable = changes(first, second)
    stable = {name: value for name, value in second.items() if name not in unstable}
    return Baseline(stable, read, seconds)


def changes(before, after):
    """Largest relative change of each leaf that differs; infinite where it is no number."""
    result = {name: np.inf for name in set(before) - set(after)}
    for name in set(before) & set(after):
        one, other = before[name], after[name]
        if one.dtype == other.dtype and one.shape == other.shape:
            if one.tobytes() == other.tobytes():
                continue
            if one.dtype.kind == "f":
                with np.errstate(all="ignore"):
                    size = np.nanmax(np.abs(one), initial=0.0, where=np.isfinite(one))
                    change = np.nanmax(np.abs(one - other), initial=0.0) / size
                result[name] = float(np.nan_to_num(change, nan=np.inf))
                continue
        result[name] = np.inf
    return result


def compiled_lines():
    """Lines of the kernels and their helpers, by file."""
    lines = set()
    for info in pkgutil.walk_packages(skfair._kernels.__path__, "skfair._kernels."):
        for value in vars(importlib.import_module(info.name)).values():
            code = getattr(getattr(value, "py_func", None), "__code__", None)
            lines |= {(code.co_filename, line) for *_, line in code.co_lines()} if code else set()
    return lines


MOST = 5
"""Fits by which a constant is varied at most, from the quickest to the slowest."""


def judge(constant, value, places, known):
    """Whether a factor changes a fit, and which fit that is, or which fits stay as they are."""
    reading = [name for name, one in known.items() if constant in one.read]
    reading.sort(key=lambda name: known[name].seconds)
    chosen = reading[:: -(-len(reading) // MOST) or 1]
    for name in chosen:
        for factor in FACTORS:
            with assign(places, scale(value, factor)):
                differences = changes(known[name].leaves, run(cases()[name]))
            if differences:
                size = max(differences.values())
                return "changed", [f"{name}, x {factor:g}, by {size:.0e}"]
    return ("no bit", chosen) if chosen else ("not read", [])


def main():
    """Vary the constants of the modules, or record or check the results of all fits."""
    parser = ArgumentParser(prog="python -m tests.constants", description=__doc__)
    parser.add_argument("modules", nargs="*", default=["skfair"], metavar="MODULE")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the results")
    parser.add_argument("--check", type=Path, metavar="FILE", help="compare with a record")
    options = parser.parse_args()
    # Only compiled kernels run, so that no fit depends on the number of fits before.
    with threadpool_limits(1), skfair._kernels.compile_at_first_call():
        if options.record or options.check:
            return record(options)
        vary(options.modules)
    return 0


def record(options):
    """Write the results of all fits, or compare them with those of a file."""
    known = {name: baseline(case, {}).leaves for name, case in cases().items()}
    if options.record:
        options.record.write_bytes(pickle.dumps(known))
        return 0
    differing = 0
    for name, before in pickle.loads(options.check.read_bytes()).items():
        differences = changes(before, known.get(name, {}))
        differing += bool(differences)
        print(f"DIFFERS: {name}: {differences}" if differences else f"equal: {name}")
    print(f"{len(known)} fits, {differing} of which differ")
    return int(differing > 0)


def vary(prefixes):
    """Print a line for each constant of the modules."""
    values = numeric_constants()
    readers = find_readers(values)
    frozen = compiled_lines()
    begin = process_time()
    known = {}
    for name, case in cases().items():
        known[name] = baseline(case, readers.lines)
        print(
            f"{known[name].seconds:6.2f} s {len(known[name].read):3} constants: {name}", flush=True
        )
    counts = Counter()
    for constant, value in values.items():
        if not any(f"{constant.module}.".startswith(f"{one}.") for one in prefixes):
            continue
        lines = {line for line, read in readers.lines.items() if constant in read}
        if lines & frozen:
            verdict, names = "compiled", []
        elif not lines:
            verdict, names = "at import", []
        else:
            verdict, names = judge(constant, value, readers.holders[constant], known)
        counts[verdict] += 1
        if lines and constant in readers.at_import:
            names.append("defaults not varied")
        print(f"{verdict:9} {constant} = {value:g}: {'; '.join(names)}", flush=True)
    print(f"{process_time() - begin:.0f} CPU seconds; {dict(counts)}")


if __name__ == "__main__":
    raise SystemExit(main())
