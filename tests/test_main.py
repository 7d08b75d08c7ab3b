"""The program ``python -m skfair`` itself."""

import importlib
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skfair.__main__ import COMMANDS, main
from skfair._commands.parser import Parser

HELP = """
import sys
from skfair.__main__ import main
try:
    main(["--help"])
except SystemExit as ended:
    sys.exit(sorted({"numpy", "pandas", "sklearn"} & set(sys.modules)) or ended.code)
"""


def test_help_waits_for_no_package():
    subprocess.run([sys.executable, "-c", HELP], check=True, stdout=subprocess.PIPE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_describes_itself_and_its_options(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0 and text.startswith(f"usage: python -m skfair {name} ")
    assert "The exit status is" in text and ("--json" in text) is (name != "example")


def make_parser(name):
    """The parser of a command, with its options."""
    parser = Parser(prog=f"python -m skfair {name}")
    module = importlib.import_module(f"skfair._commands.{COMMANDS[name][0]}")
    getattr(module, f"add_{name}_options")(parser)
    return parser


def test_pages_show_commands_with_options_that_exist():
    home = Path(__file__).parents[1]
    text = "\n".join(
        page.read_text(encoding="utf-8") for page in [*home.glob("doc/*.rst"), home / "README.md"]
    )
    lines = re.findall(r"\$ python -m skfair (\w.*)", text.replace("\\\n", " "))
    shown = [shlex.split(line, comments=True) for line in lines]
    shown = [words for words in shown if words[0] in COMMANDS]
    assert {words[0] for words in shown} == {*COMMANDS}
    assert len(shown) >= 20
    for name, *words in shown:
        make_parser(name).parse_args(words)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_two_options_of_a_command_have_one_explanation(name):
    parser = make_parser(name)
    explanations = [action.help for action in parser._actions]
    assert len({*explanations}) == len(explanations)


def test_the_usage_of_a_monitor_lets_groups_have_several_columns(capsys):
    with pytest.raises(SystemExit):
        main(["monitor", "--help"])
    usage = capsys.readouterr().out.splitlines()[0]
    assert "--sensitive COLUMN [COLUMN ...] --time COLUMN [options]" in usage


def test_alternatives_say_that_the_first_prediction_is_the_model_in_use(capsys):
    with pytest.raises(SystemExit):
        main(["alternatives", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "repeated: the model in use, then its alternatives" in text


def test_without_a_command_the_message_lists_all_of_them(capsys):
    with pytest.raises(SystemExit) as ended:
        main([])
    message = capsys.readouterr().err
    assert ended.value.code == 2
    assert all(name in message for name in [*COMMANDS, "warm-up", "--help"])


def test_an_unknown_command_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["audit"])
    assert ended.value.code == 2 and "choose from" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="pipes of this system send no signal")
def test_a_reader_that_goes_away_is_no_error(tmp_path):
    (tmp_path / "decisions.csv").write_text("d,sex\n" + "1,f\n0,m\n" * 40)
    words = ["report", str(tmp_path / "decisions.csv"), "--prediction", "d", "--sensitive", "sex"]
    command = subprocess.Popen(
        [sys.executable, "-m", "skfair", *words, "--json", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    command.stdout.close()
    assert command.stderr.read() == b"" and command.wait() == -signal.SIGPIPE
    command.stderr.close()
