"""One value per line: ``python -m tests.one_value_per_line PATH ...`` splits paired assignments.

``a, b = f(x), g(y)`` becomes two assignments. ``tests/test_one_value_per_line.py`` refuses new
pairs by the same rule. Run ``ruff format`` after the program. A pair stays where

- a later value reads an earlier target, as in a swap;
- a target is neither a name nor an attribute of a name nor a tuple of names;
- every value is a name, a constant or an attribute: ``low, high = 0, 1``;
- two values are the same expression of other names: ``a, b = labels[i], labels[j]``;
- a later value calls something after an attribute was set, which the call may read;
- comments stand between the values.
"""

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
FOLDERS = ("skfair", "tests", "benchmarks", "examples")
"""Folders in which each value has a line of its own."""


class Pair(NamedTuple):
    """An assignment of several values that can be split."""

    node: ast.Assign
    indent: str
    comment: str

    def split(self, source: str) -> list[str]:
        """One assignment per value, with the comment of the line above the first."""
        lines = [f"{self.indent}{self.comment}\n"] if self.comment else []
        targets = self.node.targets[0].elts
        for target, value in zip(targets, self.node.value.elts, strict=True):
            text = ast.get_source_segment(source, value)
            # A value of several lines keeps the parentheses of its tuple.
            text = f"({text})" if "\n" in text else text
            lines.append(f"{self.indent}{ast.unparse(target).strip('()')} = {text}\n")
        return lines


def find_pairs(source: str, tree: ast.Module | None = None) -> Iterator[Pair]:
    """The assignments of a source text, whose syntax tree may be known, that can be split."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(tree or ast.parse(source)):
        if not _can_split(node):
            continue
        first = lines[node.lineno - 1]
        last = lines[node.end_lineno - 1]
        before = first[: node.col_offset]
        after = last.encode()[node.end_col_offset :].decode().strip()
        has_comment = "#" in "".join(lines[node.lineno - 1 : node.end_lineno])
        stands_alone = not before.strip() and (not after or after.startswith("#"))
        if stands_alone and not (has_comment and node.end_lineno > node.lineno):
            yield Pair(node, before, after)


def split_pairs(source: str) -> str:
    """The source text with a line for each value."""
    lines = source.splitlines(keepends=True)
    for pair in sorted(find_pairs(source), key=lambda one: -one.node.lineno):
        lines[pair.node.lineno - 1 : pair.node.end_lineno] = pair.split(source)
    return "".join(lines)


def _can_split(node: ast.AST) -> bool:
    """Whether a node assigns several values that do not depend on one another."""
    if not is_paired_assignment(node) or len(node.targets) != 1:
        return False
    targets = node.targets[0].elts
    values = node.value.elts
    is_starred = any(isinstance(one, ast.Starred) for one in (*targets, *values))
    if is_starred or len(targets) != len(values):
        return False
    names = [_names_of(target) for target in targets]
    if not all(names) or all(map(_is_simple, values)):
        return False
    if len(values) == 2 and _shape_of(values[0]) == _shape_of(values[1]):
        return False
    written = set()
    for assigned, value in zip(names, values, strict=True):
        is_call = any(isinstance(one, ast.Call) for one in ast.walk(value))
        if written & _names_read_by(value) or (is_call and any("." in one for one in written)):
            return False
        written |= assigned
    return True


def is_paired_assignment(node: ast.AST) -> bool:
    """Whether a node assigns the values of a tuple to several targets."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and isinstance(node.value, ast.Tuple)
    )


def _names_of(target: ast.expr) -> set[str]:
    """Names and attributes of names that a target assigns; empty if it assigns anything else."""
    if isinstance(target, ast.Tuple):
        is_plain = all(isinstance(one, ast.Name) for one in target.elts)
        return {one.id for one in target.elts} if is_plain else set()
    is_attribute = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
    return {ast.unparse(target)} if is_attribute or isinstance(target, ast.Name) else set()


def _names_read_by(value: ast.expr) -> set[str]:
    """Names and attributes of names that a value reads."""
    return {
        ast.unparse(one)
        for one in ast.walk(value)
        if isinstance(one, ast.Name)
        or (isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name))
    }


def _is_simple(value: ast.expr) -> bool:
    """Whether a value is a name, a constant or an attribute, perhaps with a sign."""
    if isinstance(value, ast.UnaryOp):
        return _is_simple(value.operand)
    if isinstance(value, ast.Attribute):
        return _is_simple(value.value)
    return isinstance(value, ast.Constant | ast.Name)


def _shape_of(value: ast.expr) -> str:
    """The expression without the names that vary: subscripts and plain arguments are blank."""
    return ast.dump(_Blank().visit(ast.parse(ast.unparse(value), mode="eval").body))


class _Blank(ast.NodeTransformer):
    """Replaces subscripts and plain arguments by a constant."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        """The subscript without its index."""
        return ast.Subscript(node.value, ast.Constant(0), ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """The call without its plain arguments."""
        arguments = [
            ast.Constant(0)
            if _is_simple(one) or isinstance(one, ast.Subscript)
            else self.visit(one)
            for one in node.args
        ]
        return ast.Call(node.func, arguments, node.keywords)


def find_files(paths: list[Path]) -> list[Path]:
    """The files of paths, with those in folders."""
    return [one for path in paths for one in (sorted(path.rglob("*.py")) or [path])]


def main() -> None:
    """Split the pairs of files, and print how many there were."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[ROOT / one for one in FOLDERS])
    total = 0
    for path in find_files(parser.parse_args().paths):
        source = path.read_text(encoding="utf-8")
        n_pairs = len(list(find_pairs(source)))
        if n_pairs:
            path.write_text(split_pairs(source), encoding="utf-8")
        total += n_pairs
    print(f"{total} assignments of several values split; run `ruff format` now")


if __name__ == "__main__":
    main()
