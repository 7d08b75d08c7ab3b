"""The command ``python -m skfair compare``: two files of predictions, such as two periods."""

from argparse import Namespace
from pathlib import Path

from skfair.commands._options import (
    FINDING_STATUS,
    add_column_options,
    add_output_options,
    add_published_option,
    check_column_options,
    check_output,
    output_results,
    resolve_output,
    write_report,
)
from skfair.commands._predictions import read_audit


def add_compare_options(command):
    """Add the options of ``python -m skfair compare`` to its parser."""
    command.description = (
        "Rates and gaps of two files, and limits of their changes. Samples are "
        "different ones; with --id those of equal ids are the same. The exit status is 3 if a gap "
        "is shown to be larger in the second file, 0 if none is, and 2 after an error."
    )
    add_column_options(command, ["classification", "regression"])
    command.add_argument("after", type=Path, help="the later file, with the same columns")
    add_published_option(command)
    add_output_options(command, formats="page, .html, .md or .json")
    command.set_defaults(run=_run_compare, probability=None)


def _run_compare(options):
    """Print or write the changes between both files; return the exit status."""
    check_column_options(options)
    resolve_output(options)
    # Results must not overwrite the second file either.
    for out in {options.out, options.json} - {None, "-"}:
        check_output(Path(out), options.after)
    files = [Namespace(**vars(options) | {"file": one}) for one in (options.file, options.after)]
    before, after = (read_audit(one, {}, missing="exclude") for one in files)
    settings = {"confidence_level": options.confidence, "min_published": options.min_published}
    changes = before.compare(after, **settings)
    if not changes.gaps["verdict"].any():
        raise ValueError(
            "Nothing can be compared: no two groups are in both files and have at least --min-size "
            f"{options.min_size} samples. {' '.join(changes.findings[1:])}"
        )
    if options.out is not None:
        write_report(changes, options.out)
    output_results(options, [*changes.readings, *changes.findings], changes.to_json())
    return FINDING_STATUS if changes.has_finding else 0
