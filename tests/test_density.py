"""What ``python -m tests.maintainability`` says of tokens, packed calls, types and constants."""

import ast
from textwrap import dedent

from tests import density


def parse(text):
    """The syntax tree of an indented text."""
    return ast.parse(dedent(text))


def test_annotations_docstrings_and_imports_for_types_are_free():
    plain = parse("""
        def area(width, height=1):
            total = width * height
            return total
    """)
    typed = parse('''
        """Areas."""
        if TYPE_CHECKING:
            from numpy import ndarray

        def area(width: ndarray, height: float = 1) -> ndarray:
            """The area of a rectangle."""
            total: ndarray = width * height  # in its unit
            return total
    ''')
    n_tokens = density.count_tokens(plain)
    # "def area ( width , height = 1 ) : total = width * height return total"
    assert n_tokens == 17
    # "pass" stands where nothing else is left.
    assert density.count_tokens(typed) == n_tokens


def test_a_declaration_is_its_name():
    assert density.count_tokens(parse("class A:\n    x: int\n    y: int = 2")) == 3 + 1 + 3


def test_packed_calls_pass_a_tuple_of_the_same_function_by_a_star():
    tree = parse("""
        def packed(x):
            arguments = x, 1
            return f(*arguments), g(*x)

        def other(arguments):
            return f(*arguments)
    """)
    assert [ast.unparse(call) for call in density.packed_calls(tree)] == ["f(*arguments)"]


def test_functions_without_types_have_neither_annotations_nor_a_table():
    tree = parse('''
        def untyped(x, y: int): pass
        def typed(x: int, *, y: int = 1): pass
        def nothing(): pass
        class A:
            def method(self): pass
            def described(self, x):
                """Sum.

                Parameters
                ----------
                x : int
                """
    ''')
    assert [one.name for one in density.untyped_functions(tree)] == ["untyped"]


def test_parameters_of_any_type_state_none():
    tree = parse("""
        def bare(x: Any, y: object, *rest: Any, **params: Any): pass
        def typed(self, x: int, y: list[Any]): pass
        def untyped(x): pass
    """)
    assert [one.arg for one in density.bare_parameters(tree)] == ["x", "y", "rest"]
    assert density.typing_shares([tree]) == (1 / 3, 3 / 6)
    assert density.typing_shares([]) == (0.0, 0.0)


def test_constants_are_names_in_capitals_of_modules():
    tree = parse("A, _B2 = 1, 2\nLIMIT: int = 3\nlower = 1\nclass K:\n    C = 1\nT = object()")
    assert density.module_constants(tree) == ["A", "_B2", "LIMIT", "T"]


def test_a_report_counts_per_thousand_lines(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("a, b = f(1), g(2)\n")
    report = density.summarize([path], 2)
    assert report["paired assignments, per 1,000"] == "500.0"
    assert report["tokens per code line"] == "7.50"
