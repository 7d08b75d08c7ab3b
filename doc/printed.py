"""Put the figures that commands printed into the pages, so that none is typed by hand.

``python doc/printed.py run NAME`` runs a benchmark in full and stores its records with what made
them in ``doc/printed/NAME.json``. ``write`` puts figures of stored records into the pages, and
``check``, which a test calls, says where a page differs. No benchmark runs in either.

``doc/printed/pages.toml`` has every sentence, and every row of a table, once, with a field for each
figure. A sentence is recognised by its words, whatever white space is between them.
"""

import json
import re
import subprocess
import sys
import tomllib
from argparse import ArgumentParser
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import process_time
from typing import NamedTuple

HOME = Path(__file__).parents[1]
FOLDER = HOME / "doc" / "printed"
SETTINGS = FOLDER / "pages.toml"

FIGURE = r"(-?(?:\d{1,3}(?:,\d{3})+|\d*\.?\d+)(?: %)?)"
"""Pattern of a figure, as in 1,500 or .062 or 26 %."""

FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")
"""A field of a template, as in {mean:.3f}: its name, and the format of its figure."""

PACKAGES = "numpy", "scikit-learn", "scipy", "numba", "fairlearn", "vfairness"


# Records of a command.


def run(name):
    """Run a benchmark in full, and store its records."""
    from benchmarks.runner import run as run_benchmark
    from benchmarks.timing import FULL

    start = process_time()
    report = run_benchmark(name, FULL)
    made_by = {
        "command": f"python -m benchmarks {name}",
        "commit": _read_commit(),
        "date": str(date.today()),
        "CPU seconds": round(process_time() - start),
        "runs": FULL.n_runs,
        "versions": {package: _read_version(package) for package in PACKAGES},
        "title": report.title,
    }
    records = [{key: _shorten(value) for key, value in one.items()} for one in report.records]
    text = json.dumps(made_by | {"records": records}, indent=1)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def _shorten(value):
    """A value of JSON, numbers with six digits."""
    value = value.item() if hasattr(value, "item") else value
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _read_commit():
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, cwd=HOME, capture_output=True, text=True).stdout.strip()


def _read_version(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def look_up(path):
    """The value at ``"NAME | column | column=value; ..."``, of the one record with these values."""
    name, column, *conditions = (part.strip() for part in path.split("|"))
    records = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))["records"]
    pairs = [one.split("=", 1) for text in conditions for one in text.split("; ")]
    matching = [one for one in records if all(str(one[key]) == value for key, value in pairs)]
    if len(matching) != 1:
        raise KeyError(f"{path}: {len(matching)} records have these values, and one must")
    return matching[0][column]


def to_text(value, form):
    """A number as pages write it: no zero before the point, and commas from a thousand on."""
    text = format(value, form or ",").replace("%", " %")  # as in 26 %
    return re.sub(r"^(-?)0\.", r"\1.", text)


# Sentences of pages, and the figures that they should have.


class Sentence(NamedTuple):
    """Words of a page with figures among them."""

    page: str
    pattern: str  # with a group for each figure
    figures: list[str]

    def search(self):
        """The text of the page, and where the sentence is in it; None where it is not."""
        text = (HOME / self.page).read_text(encoding="utf-8")
        return text, re.search(self.pattern, text, flags=re.DOTALL)


def read_sentences():
    """All sentences and rows of the settings."""
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    for entry in settings.get("sentence", ()):
        for page in entry["pages"]:
            yield make_sentence(page, entry["text"], entry)
    for table in settings.get("rows", ()):
        for label, conditions in table["labels"].items():
            paths = {
                field: f"{table['file']} | {column} | {conditions}"
                for field, column in table["columns"].items()
            }
            row = make_sentence(table["page"], table["row"].replace("{label}", label), paths)
            # The row is the first one of its label below the words that the table follows.
            yield row._replace(pattern=f"{_match_words(table['after'])}.*?{row.pattern}")


def make_sentence(page, template, paths):
    """The sentence of a template, whose fields are looked up at the paths of their names."""
    # Words, field, format, words, field, format, ..., words
    parts = FIELD.split(template)
    pattern = _match_words(parts[0])
    figures = []
    for field, form, words in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        figures.append(to_text(look_up(paths[field]), form))
        pattern += FIGURE + _match_words(words)
    return Sentence(page, pattern, figures)


def _match_words(text):
    """Pattern of words with any white space between and around them where the text has some."""
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))


# What pages have.


def list_differences():
    """Sentences about pages that differ from the records."""
    differences = []
    for sentence in read_sentences():
        text, match = sentence.search()
        if match is None:
            differences.append(
                f"{sentence.page}: no text matches {sentence.pattern[-90:]!r}. Change "
                "doc/printed/pages.toml with the page."
            )
        elif list(match.groups()) != sentence.figures:
            line = text[: match.start(1)].count("\n") + 1
            changes = f"{', '.join(match.groups())} -> {', '.join(sentence.figures)}"
            differences.append(f"{sentence.page}:{line}: {changes}")
    return differences


def write():
    """Put the figures of the records into the pages."""
    for sentence in read_sentences():
        text, match = sentence.search()
        if match is None:
            continue  # `list_differences` says so
        # From the last figure to the first, so that the places before stay where they are.
        for group in range(len(sentence.figures), 0, -1):
            start, end = match.span(group)
            text = text[:start] + sentence.figures[group - 1] + text[end:]
        (HOME / sentence.page).write_text(text, encoding="utf-8")


def main(arguments=None):
    """The command line."""
    parser = ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("action", choices=["run", "write", "check"])
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run")
    options = parser.parse_args(arguments)
    if options.action == "run":
        sys.path.insert(0, str(HOME))
        for name in options.names:
            run(name)
        return 0
    if options.action == "write":
        write()
    differences = list_differences()
    print("\n".join(differences) or "Pages and records agree.")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
