"""Words that the repository does not use: ``python -m tests.words [PATH ...]`` lists what is left.

The guide has the glossary: which standard term stands for each of them.
"""

import ast
import gc
import re
import sys
from functools import cache
from pathlib import Path

from skfair.losses import LOSSES
from skfair.solvers import SOLVERS

ROOT = Path(__file__).parents[1]
PACKAGE = sorted((ROOT / "skfair").rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "doc").glob("*.rst")) if not page.stem.endswith("_table")),
    *sorted((ROOT / "doc" / "makers").glob("*.rst")),
]
"""README, guide and pages for makers; tables of the API are generated."""
_LISTS = {"words.py", "test_words.py"}
TESTS = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path.name not in _LISTS]
"""Tests and their helpers, without the list itself."""
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
HEADERS = sorted((ROOT / "examples").rglob("*.rst"))
"""Headers of the sections of the gallery."""
CODE = [*PACKAGE, *TESTS, *BENCHMARKS, *EXAMPLES]

INTERFACES = {"ConstrainedProblem", "Evaluation", "Gap", "Model", "check_groups"}
INTERFACES |= {"LinearModel", "MLPModel", "RangeGap", "RatioGap", "TotalRangeGap", "LargestMean"}
INTERFACES |= {"DistanceToOverall", "ExcessOverOverall", "GapBase", "Shortfall"}
"""What the page on extensions asks authors of models, solvers and constraints to implement."""

TEXT = re.compile(
    r"\b(everybody|nobody|somebody|whoever|whomever|rehears\w*|in parts|by heart|strangers?|"
    r"(fresh|new|own|whole) people|people of the fit|afresh|anew|dear(er|est)?|by lot|lots|told|"
    r"census|shards?|crowd\w*|as ever|at large|of whom|looks? at (everybody|all)|looks? aside|"
    r"contests?|commonest|rarest|kinks?|bends?|bent|seen_from|held_to|pressing|presses|alike|"
    r"at hand|promise[sd]?|rooms?|in vain|prices?(?! of fairness))\b",
    re.IGNORECASE,
)
"""Words and phrases that no line of code, tests, benchmarks, examples, README or guide has."""

PRO_FORMS = re.compile(r"\b(that|those)\s+of\b|\balone\b", re.IGNORECASE)
"""What stands for a noun, or for "only", and stops readers: prose repeats the noun, says "only"."""

IDENTIFIERS = re.compile(
    r"(^|_)(people|person|everybody|nobody|told|tells?|rehears\w*|lots|census|shards?|crowd|afresh|"
    r"anew|dear\w*|heart|promis\w*|prices?|press\w*|asked|missed|kinks?|bends?|bent|turns|seen|"
    r"commonest|rarest|mix|mixes|alike|rooms?|house|contests?|stranger\w*|whole|kept|own|found|"
    r"some|few|given|tried|lies|aside|vain|heads?|looks?|looked)(_|$)"
)
"""Parts of a name, in lower case with underscores, that say nothing or belong to the list."""

ENGLISH = re.compile(r"(?<=_)(few|found|given|kept|lies|missed|own|some|whole)(?=_|$)")
"""Parts of the name of a test that are plain English there: the name is a sentence."""

PARTICIPLES = re.compile(
    r"^_*([a-z]+(ed|ing)|told|kept|found|held|seen|drawn|made|taken|left|shown|known|chosen|sent|built)$"
    r"|^_*(of|but|by|under|at|within|without|between|among|with|in|on|here|there|before|after|beyond|"
    r"above|below|inside|outside|own|some|few|many|least|most|told|kept|given|found|seen|held)(_|$)"
)
"""A function's name that is one participle, or that begins with a preposition or pronoun."""

_SCIKIT_LEARN = re.compile(r"^on_")
"""Hooks of callbacks."""
_NOUNS = {
    "embedding",
    "encoding",
    "binning",
    "clustering",
    "rounding",
    "ranking",
    "reading",
    "timing",
    "rating",
}
_VERBS = {"embed", "feed", "need", "seed", "speed", "exceed", "bring", "string", "breed"}

_TABLE = re.compile(r"^(Parameters|Returns|Yields)\n-{3,}", re.MULTILINE)

TEXT_EXCEPTIONS = {
    ("benchmarks/papers/index.py", "census"): "the data set Census of a paper",
    ("tests/datasets/test_people_bank_marketing.py", "price"): "the consumer price index",
    ("doc/papers.rst", "census"): "the survey that a paper counts groups of",
    ("doc/fair_classification.rst", "price"): "the name of an author",
    ("skfair/datasets/_people.py", "price"): "the consumer price index",
    ("skfair/metrics/_docstrings.py", "price"): "the name of an author",
    ("skfair/datasets/_people.py", "census"): "the survey that the data come from",
    ("benchmarks/datasets/communities.py", "census"): "the survey that the data come from",
    **{
        (f"examples/{page}.py", "census"): "the survey that Adult comes from"
        for page in (
            "classification/plot_accuracy_against_tolerance",
            "classification/plot_monitor_over_time",
            "clustering/plot_cost_of_balance_adult",
            "demo",
            "partial_parity/plot_partial_frontier",
            "partial_parity/plot_score_densities",
            "papers/solvers_over_time",
        )
    },
}
"""Files and words of the list that are the standard term there, with the reason."""


def read_tree(path):
    """Syntax tree of a file; half of the time went into looking for garbage in it."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    finally:
        if is_enabled:
            gc.enable()


parse = cache(read_tree)
"""Syntax tree of a file, which is kept."""


def walk_statements(tree):
    """Yield the statements of a file, also those in others."""
    nodes = [tree]
    for node in nodes:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            nodes += getattr(node, name, ())
        yield node


@cache
def list_nodes(path):
    """All nodes of a file's syntax tree, which are kept."""
    return [*ast.walk(parse(path))]


def word_lines(paths):
    """Yield (path, line number, words) of every line with words of the list."""
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        text = path.read_text(encoding="utf-8")
        if not TEXT.search(text):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            words = [match.group(0) for match in TEXT.finditer(line)]
            words = [word for word in words if (name, word.lower()) not in TEXT_EXCEPTIONS]
            if words:
                yield path, number, words


@cache
def list_names(path):
    """Pairs (type of node, name) of classes, functions, arguments, variables and fields.

    Trees are kept of the package alone: all are millions of objects.
    """
    tree = parse(path) if path.is_relative_to(ROOT / "skfair") else read_tree(path)
    return [*_walk_names(tree)]


def _walk_names(tree):
    """Yield the pairs of a tree, three times as fast as by `ast.walk`."""
    nodes = [tree]
    for node in nodes:
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is ast.Store:
                yield kind, node.id
            continue
        if kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
            yield kind, node.name
        elif kind is ast.arg:
            yield kind, node.arg
        elif kind is ast.Attribute and type(node.ctx) is ast.Store:
            yield kind, node.attr
        for value in vars(node).values():
            if type(value) is list:
                nodes += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
                nodes.append(value)


_LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.boolop, ast.unaryop)
"""Nodes that hold no name."""


def to_snake_case(name):
    """Name in lower case with underscores: WordList becomes word_list."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def unclear_identifiers(paths):
    """Pairs (path, name) of the names that are on the list, sorted."""
    pairs = ((path, name) for path in paths for _, name in list_names(path))
    return sorted({pair for pair in pairs if _is_unclear(pair[1])})


@cache
def _is_unclear(name):
    """Whether a name has words of the list; that of a test may have those of plain English."""
    words = ENGLISH.sub("", name) if name.startswith("test_") else to_snake_case(name)
    return IDENTIFIERS.search(words) is not None


def functions_without_verb(paths):
    """Yield (path, name) of the functions named by a participle, preposition or pronoun."""
    for path in paths:
        for kind, written in list_names(path):
            if kind is ast.FunctionDef and PARTICIPLES.match(written):
                if written.strip("_") not in _NOUNS | _VERBS and not _SCIKIT_LEARN.match(written):
                    yield path, written


MAX_UNDOCUMENTED_LINES = 10
"""Lines of code up to which name and types of a function may say all, without a docstring."""


def long_functions_without_docstring(paths):
    """Yield (path, name) of functions of many lines that do not say what they do.

    Functions within others are read with these, and methods may have the docstring of a base.
    """
    documented = {
        method.name
        for path in paths
        for node in list_nodes(path)
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and ast.get_docstring(method)
    }
    for path in paths:
        for node in parse(path).body:
            is_class = isinstance(node, ast.ClassDef)
            known = documented if is_class else set()
            for function in node.body if is_class else [node]:
                if not isinstance(function, ast.FunctionDef) or function.name.startswith("__"):
                    continue
                has_docstring = ast.get_docstring(function) or function.name in known
                if not has_docstring and _count_code_lines(function) > MAX_UNDOCUMENTED_LINES:
                    yield path, function.name


def _count_code_lines(function):
    """Lines of the body of a function that have code."""
    lines = set()
    for statement in function.body:
        for node in ast.walk(statement):
            if hasattr(node, "lineno"):
                lines.update(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def parameter_tables(paths):
    """Yield (path, name) of what users cannot reach and has a table of parameters all the same."""
    public = public_names()
    for path in paths:
        for node in parse(path).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield from _tables(path, node, node.name in public)


def _tables(path, node, is_public):
    """Yield the tables of a function or class, and of the methods of the class."""
    if not is_public and _TABLE.search(ast.get_docstring(node) or ""):
        yield path, node.name
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            is_reached = is_public and isinstance(node, ast.ClassDef)
            is_private = child.name.startswith("_") and child.name != "__init__"
            yield from _tables(path, child, is_reached and not is_private)


def public_names():
    """Names that ``__all__`` or a registry lists and their base classes."""
    trees = [parse(path) for path in PACKAGE]
    names = {name for tree in trees for name in _listed(tree)}
    for registry in (LOSSES, SOLVERS):
        names |= {getattr(one, "__name__", "") for one in registry.values()}
    bases = {
        node.name: {ast.unparse(base).split("[")[0] for base in node.bases}
        for path in PACKAGE
        for node in list_nodes(path)
        if isinstance(node, ast.ClassDef)
    }
    while more := set().union(*(bases.get(name, set()) for name in names)) - names:
        names |= more
    return names | INTERFACES | {name for tree in trees for name in _results(tree, names)}


def _results(tree, public):
    """Classes of what public functions, and the methods of public classes, return."""
    for node in tree.body:
        if getattr(node, "name", "") in public:
            for function in [node, *ast.iter_child_nodes(node)]:
                if isinstance(function, ast.FunctionDef) and function.returns:
                    yield from re.findall(r"\w+", ast.unparse(function.returns))


def _listed(tree):
    """Names in the ``__all__`` of a module, and functions of ``@register_metric``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            yield from (n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant))
        elif isinstance(node, ast.FunctionDef):
            if any(ast.unparse(d).startswith("register_metric(") for d in node.decorator_list):
                yield node.name


def people_per_thousand(paths):
    """People, everybody and the like per 1,000 words of running text."""
    text = " ".join(path.read_text(encoding="utf-8") for path in paths)
    people = re.findall(r"\b(people|persons?|everybody|everyone|nobody|somebody)\b", text, re.I)
    return 1000 * len(people) / len(re.findall(r"\b[A-Za-z][a-z']+\b", text))


def pro_forms(paths):
    """Yield (path, phrase) of pro-forms in README and in the pages of the guide."""
    for path in paths:
        yield from ((path, match.group(0)) for match in PRO_FORMS.finditer(_prose(path)))


def semicolons_per_hundred(paths):
    """Semicolons per 100 sentences of running text; code blocks do not count."""
    text = "\n".join(_prose(path) for path in paths)
    return 100 * text.count(";") / len(re.findall(r"[.!?:](?=\s|$)", text))


def _prose(path):
    """Lines of a page that are neither code nor indented output."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


def main(arguments):
    """Print what is left, and how many there are."""
    chosen = [Path(argument).resolve() for argument in arguments] or [ROOT]
    code = [p for p in CODE if any(p == c or c in p.parents for c in chosen)]
    pages = [p for p in PAGES + HEADERS if any(p == c or c in p.parents for c in chosen)]
    for path, number, words in word_lines([*code, *pages]):
        print(f"{path.relative_to(ROOT)}:{number}: {', '.join(words)}")
    for title, pairs in {
        "function without a verb": list(functions_without_verb(code)),
        "table on a private name": list(parameter_tables([p for p in code if p in PACKAGE])),
    }.items():
        for path, name in pairs:
            print(f"{path.relative_to(ROOT)}: {title}: {name}")
        print(f"{title}: {len(pairs)}")
    names = unclear_identifiers(code)
    for path, name in names:
        print(f"{path.relative_to(ROOT)}: identifier: {name}")
    print(f"identifiers of the list: {len(names)}")
    n_code, n_pages = (len(list(word_lines(paths))) for paths in (code, pages))
    print(f"lines of the list: {n_code} in code, {n_pages} in README, guide and gallery headers")


if __name__ == "__main__":
    main(sys.argv[1:])
