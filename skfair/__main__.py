"""Commands of the shell: ``python -m skfair report``, ``certify``, ``plan`` and others."""

import importlib
import signal
import sys
from argparse import Namespace, _SubParsersAction
from io import TextIOWrapper

from skfair._commands.parser import Parser

COMMANDS = {
    "example": ("example", "write a file of decisions, to try the other commands"),
    "report": ("audit", "audit predictions in CSV or Parquet files"),
    "subgroups": (
        "audit",
        "search decisions in CSV or Parquet files for the subgroups that depart most",
    ),
    "certify": ("audit", "certify that decisions in a file keep a tolerance in the population"),
    "verify": ("verify", "recompute a filed claim, report or answer from the data"),
    "compare": ("audit", "compare two files of predictions, such as those of two periods"),
    "alternatives": ("audit", "which of several models are less discriminatory alternatives"),
    "plan": ("plan", "number of samples that a certificate or a guaranteed fit requires"),
    "monitor": ("monitor", "monitor a gap over time, valid at every look"),
}
"""Command of audits -> its module in :mod:`skfair._commands`, and what it does."""


def main(arguments: list[str]) -> int:
    """Run the command in the arguments after ``python -m skfair``; return the exit status.

    The status says what was found: 0 nothing that needs attention, 3 something that does, 1 that
    what was asked for is not shown. Errors in the arguments or in a file exit with 2, one sentence
    and nothing written. ``warm-up`` returns 1 if compiled kernels cannot be stored.
    """
    parser = Parser(
        prog="python -m skfair", description="Audit and monitor predictions, compile kernels."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    if not arguments:
        names = ", ".join([*COMMANDS, "warm-up"])
        parser.error(f"a command is missing, one of {names}; --help says what each of them does")
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary)
        command.set_defaults(parser=command, arguments=arguments)
        # Its module imports pandas and scikit-learn, for which others need not wait.
        if name in arguments[:1]:
            module = importlib.import_module(f"skfair._commands.{module}")  # type: ignore[assignment]
            getattr(module, f"add_{name}_options")(command)
    _add_warm_up_command(commands)
    options = parser.parse_args(arguments)
    # what the commands share imports as much
    from skfair._commands.options import describe_error, print_warnings

    if isinstance(sys.stdout, TextIOWrapper):
        # A console of another encoding shows escapes of what it has no signs for.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with print_warnings(options):
            status: int = options.run(options)
    except (OSError, ValueError, TypeError, ImportError) as error:
        options.parser.error(describe_error(error))
    return status


def _add_warm_up_command(commands: "_SubParsersAction[Parser]") -> None:
    """Add the command ``warm-up`` to a parser."""
    command = commands.add_parser(
        "warm-up",
        help="compile the kernels of all estimators, and store them on disk",
        description="Compile the kernels that fits with default settings need, and store them next "
        "to the package, or where NUMBA_CACHE_DIR says. Later processes load them. The exit status "
        "is 1 if no folder can be written.",
    )
    command.set_defaults(run=_warm_up, parser=command)


def _warm_up(options: Namespace) -> int:
    """Compile all kernels, and report where they are stored."""
    # takes a second: `report` need not wait
    from skfair._warm_up import check_stored_kernels, fit_all

    fit_all(verbose=1)
    try:
        folders = check_stored_kernels()
    except OSError as error:
        print(f"python -m skfair warm-up: error: {error}", file=sys.stderr)
        return 1
    print("All kernels are stored in", " and ".join(folders))
    return 0


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        # End without a message where nothing reads the output any more, as after `| head`.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
