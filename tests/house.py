"""Figures of the package's own source: ``python -m tests.house`` prints them."""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "skfair"
FILES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
SHARED = {"utils", "_kernels"}
"""Rooms whose private modules all others may import."""


def describe(path):
    return path.relative_to(PACKAGE.parent).as_posix()


def classes():
    """All classes of the package: pairs of a file and a node."""
    for path, tree in TREES.items():
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
    """Class names of which there are several, with their number."""
    return {name: n for name, n in Counter(node.name for _, node in classes()).items() if n > 1}


def private_imports():
    """Private modules that a file imports from another room: (file, module)."""
    found = set()
    for path, tree in TREES.items():
        own = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or node.level:
                continue
            package, *parts = node.module.split(".")
            inside = package == "skfair" and parts and parts[0] not in SHARED | {own}
            if inside and any(part.startswith("_") for part in parts[1:]):
                found.add((describe(path), node.module))
    return sorted(found)


def group_switches():
    """Lines that ask of which class groups are."""
    return [
        f"{describe(path)}:{node.lineno}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "isinstance"
        and "Groups" in ast.unparse(node.args[1])
    ]


def file_lengths():
    """Lines of every file."""
    return {describe(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}


def function_lengths():
    """Lines of code of every function, without its docstring, comments and blank lines."""
    found = {}
    for path, tree in TREES.items():
        lines = _code_lines(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                text = _docstring_lines(node)
                own = set(range(node.lineno, node.end_lineno + 1)) & lines - text
                found[f"{describe(path)}:{node.name}"] = len(own)
    return found


def _code_lines(path):
    """Numbers of the lines with more than a comment."""
    source = io.StringIO(path.read_text(encoding="utf-8"))
    void = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = (t for t in tokenize.generate_tokens(source.readline) if t.type not in void)
    return {line for t in tokens for line in range(t.start[0], t.end[0] + 1)}


def _docstring_lines(node):
    if ast.get_docstring(node) is None:
        return set()
    return set(range(node.body[0].lineno, node.body[0].end_lineno + 1))


def largest(lengths):
    """The longest, as a sentence."""
    name = max(lengths, key=lengths.get)
    return f"{lengths[name]} ({name})"


def main():
    """Print the figures."""
    functions = function_lengths()
    print(f"lines                            {sum(file_lengths().values())}")
    print(f"records                          {len(records())}")
    print(f"class names used twice           {names_used_twice() or 'none'}")
    print(f"private imports across rooms     {len(private_imports())}")
    for importer, module in private_imports():
        print(f"    {importer}: {module}")
    print(f"switches over classes of groups  {group_switches() or 'none'}")
    print(f"largest file, lines              {largest(file_lengths())}")
    print(f"longest function, lines of code  {largest(functions)}")


if __name__ == "__main__":
    main()
