"""How dense the package is: tokens, values per line, packed calls, and what says no type."""

import ast
import io
import re
import tokenize

from tests import words
from tests.one_value_per_line import is_paired_assignment

VOID = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
"""Types of tokens that are no code."""


def read_tokens(source):
    """The tokens of code in a source text."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [one for one in tokens if one.type not in VOID]


def count_tokens(tree):
    """Tokens of a file without annotations, docstrings and imports for types alone.

    A signature that states its types costs nothing; a line with two values saves nothing.
    """
    stripped = _Strip().visit(ast.parse(ast.unparse(tree)))
    return len(read_tokens(ast.unparse(ast.fix_missing_locations(stripped))))


class _Strip(ast.NodeTransformer):
    """Removes annotations, docstrings and imports for types alone."""

    def visit_arg(self, node):
        """The argument without its annotation."""
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node):
        """The function without the annotation of its result."""
        node.returns = None
        return self._visit_body(node)

    def visit_AnnAssign(self, node):
        """The assignment without its annotation; a declaration is its name."""
        if node.value is None:
            return ast.Expr(node.target)
        return self.generic_visit(ast.Assign([node.target], node.value))

    def _visit_body(self, node):
        """The node without the strings and imports that are left out of its body."""
        self.generic_visit(node)
        node.body = [one for one in node.body if not _is_left_out(one)] or [ast.Pass()]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef
    visit_Module = visit_ClassDef = visit_If = visit_For = visit_With = visit_Try = _visit_body


def _is_left_out(node):
    """Whether a statement is a docstring, or imports names for types alone."""
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_constant and isinstance(node.value.value, str)


def count_pairs(tree):
    """Assignments of several values on one line."""
    return sum(map(is_paired_assignment, ast.walk(tree)))


def find_functions(tree):
    """The functions of a file."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def packed_calls(tree):
    """Calls that pass a tuple by a star, which the same function has packed."""
    return [call for one in find_functions(tree) for call in _packed_calls_of(one)]


def _packed_calls_of(function):
    assignments = (one for one in ast.walk(function) if isinstance(one, ast.Assign))
    packed = {
        one.targets[0].id
        for one in assignments
        if isinstance(one.targets[0], ast.Name) and isinstance(one.value, ast.Tuple)
    }
    return [
        call
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and any(
            isinstance(argument, ast.Starred)
            and isinstance(argument.value, ast.Name)
            and argument.value.id in packed
            for argument in call.args
        )
    ]


def untyped_functions(tree):
    """Functions with parameters of which neither annotations nor a table say what they are."""
    return [one for one in find_functions(tree) if _parameters(one) and not _says_types(one)]


def _parameters(function):
    """The arguments of a function, without the object or class that owns it."""
    arguments = function.args
    every = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
    return [one for one in every if one.arg not in ("self", "cls")]


def _says_types(function):
    has_table = "Parameters\n" in (ast.get_docstring(function) or "")
    return has_table or all(one.annotation is not None for one in _parameters(function))


def all_parameters(tree):
    """Parameters of the functions of a file, with those of ``*arguments``."""
    return [
        one
        for function in find_functions(tree)
        for one in (*_parameters(function), function.args.vararg)
        if one is not None
    ]


def bare_parameters(tree):
    """Parameters whose annotation states no type; those of ``**params`` do not count."""
    annotated = (one for one in all_parameters(tree) if one.annotation is not None)
    return [one for one in annotated if ast.unparse(one.annotation) in ("Any", "object")]


def typing_shares(trees):
    """Share of functions that state no types, and of parameters that are of any type."""
    functions = [one for tree in trees for one in find_functions(tree) if _parameters(one)]
    n_untyped = sum(len(untyped_functions(tree)) for tree in trees)
    n_bare = sum(len(bare_parameters(tree)) for tree in trees)
    n_parameters = sum(len(all_parameters(tree)) for tree in trees)
    return n_untyped / max(len(functions), 1), n_bare / max(n_parameters, 1)


def module_constants(tree):
    """Names in capitals that a module assigns."""
    targets = (target for node in tree.body for target in _assigned_names(node))
    return [name for name in targets if re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name)]


def _assigned_names(node):
    targets = getattr(node, "targets", [node.target] if isinstance(node, ast.AnnAssign) else [])
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]


def leave_kernels_out(trees):
    """The trees of the files whose functions numba does not compile."""
    return [tree for path, tree in trees.items() if "_kernels" not in path.parts]


def summarize(paths, n_code_lines):
    """Lines of a report on files, by name; the lines of code are counted elsewhere."""
    trees = {path: words.parse(path) for path in paths}
    n_tokens = sum(map(count_tokens, trees.values()))
    untyped, bare = typing_shares(leave_kernels_out(trees))
    per_thousand = 1000.0 / n_code_lines
    n_pairs = sum(map(count_pairs, trees.values()))
    n_packed = sum(len(packed_calls(tree)) for tree in trees.values())
    return {
        "tokens without annotations": f"{n_tokens:,}",
        "tokens per code line": f"{n_tokens / n_code_lines:.2f}",
        "paired assignments, per 1,000": f"{n_pairs * per_thousand:.1f}",
        "packed calls, per 1,000": f"{n_packed * per_thousand:.2f}",
        "functions without types": f"{untyped:.1%}",
        "parameters of any type": f"{bare:.1%}",
        "constants of modules": str(sum(len(module_constants(tree)) for tree in trees.values())),
    }
