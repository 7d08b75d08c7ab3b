"""An option that is passed twice adds to its list, or is refused: none is dropped silently."""

from argparse import SUPPRESS

import pandas as pd
import pytest

from skfair.__main__ import COMMANDS, main
from skfair._commands import audit, example, monitor, plan, verify
from skfair._commands.parser import Parser

MODULES = {
    "audit": audit,
    "example": example,
    "monitor": monitor,
    "plan": plan,
    "verify": verify,
}


def list_options():
    """Each option of each command that takes values, with the values of two occurrences."""
    for command, (module, _) in COMMANDS.items():
        parser = Parser(prog=f"skfair {command}")
        getattr(MODULES[module], f"add_{command}_options")(parser)
        for action in parser._actions:
            if action.option_strings and action.nargs != 0 and action.default != SUPPRESS:
                yield pytest.param(command, action, id=f"{command}-{action.option_strings[0]}")


def write_values(action, number):
    """Values of an option, which are its first or its last choice where it has some."""
    n = action.nargs if isinstance(action.nargs, int) else 1
    if action.choices:
        return [list(action.choices)[-number]] * n
    return [str(number)] * n


@pytest.mark.parametrize(("command", "action"), list_options())
def test_a_repeated_option_adds_up_or_is_refused(command, action, capsys):
    parser = Parser(prog="skfair")
    parser._add_action(action)
    if action.required:
        action.required = False
    one, two = write_values(action, 0), write_values(action, 1)
    for name in action.option_strings:  # also by its second name
        words = [action.option_strings[0], *one, name, *two]
        read = action.type or str
        if action.nargs == "+" or type(action).__name__ != "_StoreOnce":
            value = getattr(parser.parse_args(words), action.dest)
            assert value == [read(word) for word in (*one, *two)]
            continue
        with pytest.raises(SystemExit):
            parser.parse_args(words)
        assert f"{name} must be passed once" in capsys.readouterr().err


def test_two_attributes_of_two_options_are_both_compared(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [(i % 2, i % 3, int(i % 5 == 0), int(i % 7 == 0)) for i in range(400)]
    pd.DataFrame(rows, columns=[*"abxy"]).to_csv("t.csv", index=False)
    results = {}
    for words in ("--sensitive a b", "--sensitive a --sensitive b"):
        options = f"certify t.csv --prediction x {words} --tolerance .5"
        main(options.split())
        results[words] = capsys.readouterr().out
    one, two = results.values()
    assert one == two and "group a" in one and "group b" in one
    with pytest.raises(SystemExit):
        main("report t.csv --prediction x --prediction y --sensitive a".split())
    assert (
        "--prediction must be passed once, but was passed as x and as y" in capsys.readouterr().err
    )
