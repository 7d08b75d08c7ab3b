"""Figures of the package's own source: ``python -m tests.maintainability`` prints them."""

import ast
import importlib
import pkgutil
import sys
from collections import Counter
from pathlib import Path

import skfair
from skfair.constraints import Constraint
from tests import call_chains, density, words

PACKAGE = Path(__file__).parents[1] / "skfair"
FILES = sorted(PACKAGE.rglob("*.py"))

MAX_TOKENS = 437_000
"""Tokens of the package without annotations and docstrings in the next release. Before a commit
raises this number it says which existing noun could not own its facts."""

MAX_MODULE_LINES = 1000


def describe(path):
    return path.relative_to(PACKAGE.parent).as_posix()


def trees():
    """Every file of the package, and its syntax tree."""
    return ((path, words.parse(path)) for path in FILES)


def classes():
    """All classes of the package: pairs of a file and a node."""
    for path, tree in trees():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def records():
    """Names of the NamedTuples and dataclasses."""
    return [node.name for _, node in classes() if _is_record(node)]


def _is_record(node):
    written = [ast.unparse(part) for part in (*node.bases, *node.decorator_list)]
    return any(word in ("NamedTuple", "dataclass") for text in written for word in _words(text))


def _words(text):
    return text.replace("(", " ").replace(".", " ").split()


def names_used_twice():
    """Names that several modules define, with their number. Kernels of models have common names."""
    defined = Counter(
        node.name
        for path, tree in trees()
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and "_kernels" not in path.parts
    )
    return {name: n for name, n in defined.items() if n > 1}


def group_switches():
    """Lines that ask of which class groups are."""
    return [
        f"{describe(path)}:{node.lineno}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if _asks_for_class(node) and "Groups" in ast.unparse(node.args[1])
    ]


def _asks_for_class(node):
    """Whether a node is a call of isinstance."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", None) == "isinstance"


def constraint_switches():
    """Lines outside of `constraints` that ask of which subclass of `Constraint` an object is."""
    kinds = _subclasses(Constraint)
    lines = []
    for path, tree in trees():
        if path.parent.name == "constraints":
            continue
        for node in ast.walk(tree):
            names = ast.walk(node.args[1]) if _asks_for_class(node) else ()
            if {getattr(one, "id", getattr(one, "attr", "")) for one in names} & kinds:
                lines.append(f"{describe(path)}:{node.lineno}")
    return lines


def _subclasses(kind):
    """Names of all subclasses of a class, and of registries of them."""
    names = {"CONSTRAINTS", "PARTIAL_CRITERIA"}
    for one in kind.__subclasses__():
        names |= {one.__name__} | _subclasses(one)
    return names


def file_lengths():
    """Lines of every file."""
    return {describe(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}


def function_lengths():
    """Lines of code of every function's body, without docstring, comments and blank lines."""
    result = {}
    for path, tree in trees():
        lines = _code_lines(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                text = _docstring_lines(node)
                code = set(range(node.body[0].lineno, node.end_lineno + 1)) & lines - text
                result[f"{describe(path)}:{node.name}"] = len(code)
    return result


def _code_lines(path):
    """Numbers of the lines with more than a comment."""
    tokens = density.read_tokens(path.read_text(encoding="utf-8"))
    return {line for one in tokens for line in range(one.start[0], one.end[0] + 1)}


def _docstring_lines(node):
    if ast.get_docstring(node) is None:
        return set()
    return set(range(node.body[0].lineno, node.body[0].end_lineno + 1))


def largest(lengths):
    """The longest, as a sentence."""
    name = max(lengths, key=lengths.get)
    return f"{lengths[name]} ({name})"


def _is_text(node):
    """Whether a node is a docstring, or assigns a text of several lines to a name."""
    is_one = isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Constant)
    return is_one and (isinstance(node, ast.Expr) or node.end_lineno > node.lineno)


def line_kinds():
    """Numbers of lines of code, docstrings and comments."""
    kinds = Counter()
    for path, tree in trees():
        docstrings = set().union(
            *(range(node.lineno, node.end_lineno + 1) for node in ast.walk(tree) if _is_text(node))
        )
        lines = path.read_text(encoding="utf-8").splitlines()
        kinds["code"] += len(_code_lines(path) - docstrings)
        kinds["docstring"] += len(docstrings)
        others = (line for number, line in enumerate(lines, 1) if number not in docstrings)
        kinds["comment"] += sum(line.lstrip().startswith("#") for line in others)
    return kinds


def storing_classes():
    """Names of the plain classes that only store their arguments: records by another name."""
    return [node.name for _, node in classes() if _only_stores(node)]


def _only_stores(node):
    """Whether a class without a base has one method, an ``__init__`` that assigns its arguments."""
    if node.bases:
        return False
    methods = [child for child in node.body if isinstance(child, ast.FunctionDef)]
    if [method.name for method in methods] != ["__init__"]:
        return False
    statements = [s for s in methods[0].body if not isinstance(s, ast.Expr)]
    return all(isinstance(s, ast.Assign) and _is_plain(s.value) for s in statements)


def _is_plain(value):
    """Whether an assigned value is a name, or a tuple of names."""
    return all(isinstance(item, ast.Name) for item in getattr(value, "elts", [value]))


def public_names():
    """Names in the ``__all__`` of the subpackages that users import from."""
    packages = [module.name for module in pkgutil.iter_modules(skfair.__path__)]
    modules = [importlib.import_module(f"skfair.{name}") for name in packages if name[0] != "_"]
    internal = {"skfair.partitions", "skfair.fitting", "skfair.utils"}
    return [
        f"{module.__name__}.{name}"
        for module in modules
        if module.__name__ not in internal
        for name in getattr(module, "__all__", ())
    ]


def methods_of_entered_classes():
    """Numbers of methods and properties that each class of `call_chains` defines itself."""
    entered = call_chains.entered_classes()
    return {
        f"{node.name}, {describe(path)}": len(set(_names_of_functions(node)))
        for path, node in classes()
        if (path.relative_to(PACKAGE).as_posix(), node.name) in entered
    }


MANY_MEMBERS = 20


def large_classes():
    """Numbers of own members, methods and names of the body, of classes with more than many."""
    numbers = {f"{node.name}, {describe(path)}": len(_members(node)) for path, node in classes()}
    return {name: number for name, number in numbers.items() if number > MANY_MEMBERS}


def _members(node):
    """Names that the body of a class defines or assigns, without parameters of its constructor."""
    declares = any(ast.unparse(one) == "make_constructor" for one in node.decorator_list)
    body = [one for one in node.body if not (declares and isinstance(one, ast.AnnAssign))]
    assigned = (target for child in body for target in _targets(child))
    return {*_names_of_functions(node), *map(ast.unparse, assigned)}


def _targets(node):
    """What a statement assigns to."""
    return getattr(node, "targets", [node.target] if isinstance(node, ast.AnnAssign) else [])


def _names_of_functions(node):
    return [child.name for child in node.body if isinstance(child, ast.FunctionDef)]


def exceeded_budgets(n_tokens):
    """Sentences on the budgets that are exceeded: tokens of the package, lines of a module."""
    excess = n_tokens - MAX_TOKENS
    total = f"The package has {excess:,} tokens more than its budget of {MAX_TOKENS:,}."
    return [total] * (excess > 0) + [
        f"{name} has {n_lines} lines, but a module has at most {MAX_MODULE_LINES:,}."
        for name, n_lines in file_lengths().items()
        if n_lines > MAX_MODULE_LINES
    ]


def main():
    """Print the figures, or with --check the budgets that are exceeded."""
    if "--check" in sys.argv[1:]:
        n_tokens = sum(density.count_tokens(tree) for _, tree in trees())
        exceeded = exceeded_budgets(n_tokens)
        print("\n".join(exceeded) or f"{MAX_TOKENS - n_tokens:,} tokens are left")
        sys.exit(bool(exceeded))
    functions = function_lengths()
    kinds = line_kinds()
    print(f"modules                          {len(FILES)}")
    print(f"lines                            {sum(file_lengths().values())}")
    for kind in ("code", "docstring", "comment"):
        print(f"lines, {kind:<26}{kinds[kind]}")
    print(f"comment lines per code line      {kinds['comment'] / kinds['code']:.1%}")
    for name, figure in density.summarize(FILES, kinds["code"]).items():
        print(f"{name:<33}{figure}")
    print(f"public names                     {len(public_names())}")
    print(f"records                          {len(records())}")
    print(f"classes that only store          {len(storing_classes())} {storing_classes()}")
    print(f"most methods of a class entered  {largest(methods_of_entered_classes())}")
    package, pages = words.PACKAGE, words.PAGES
    print(f"lines of the word list           {len(list(words.word_lines(package)))}", end="; ")
    print(f"README and guide {len(list(words.word_lines(pages)))}")
    print(f"identifiers of the word list     {len(words.unclear_identifiers(package))}")
    print(f"functions without a verb         {len(list(words.functions_without_verb(package)))}")
    print(f"tables on private names          {len(list(words.parameter_tables(package)))}")
    print(f"people per 1,000 words of pages  {words.people_per_thousand(pages):.1f}")
    print(f"semicolons per 100 sentences     {words.semicolons_per_hundred(pages):.1f}")
    print(f"names defined in two modules     {names_used_twice() or 'none'}")
    print(f"switches over classes of groups  {group_switches() or 'none'}")
    print(f"classes of many members          {len(large_classes())} {large_classes()}")
    print(f"largest file, lines              {largest(file_lengths())}")
    print(f"longest function, lines of code  {largest(functions)}")
    call_chains.print_table(call_chains.fits())


if __name__ == "__main__":
    main()
