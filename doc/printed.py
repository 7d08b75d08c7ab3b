"""Put the figures that commands printed into the pages, so that none is typed by hand.

``python doc/printed.py run NAME`` runs a benchmark in full, or again with the options of its stored
records, and stores its records with what made them in ``doc/printed/NAME.json``. ``write`` puts
figures of stored records into the pages, and ``check``, which a test calls, says where a page
differs. No benchmark runs in either.
``seal`` stores digests of the pictures and of what they are drawn from; ``check`` compares them.
``tonight`` names a seventh of the commands.

``doc/printed/pages.toml`` has every sentence, and every table, once, with a field for each figure.
A sentence is recognised by its words, whatever white space is between them.
"""

import hashlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
from argparse import ArgumentParser
from datetime import date
from functools import cache
from importlib.metadata import packages_distributions, version
from math import floor, isfinite, log10
from operator import sub, truediv
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import NamedTuple

HOME = Path(__file__).parents[1]
FOLDER = HOME / "doc" / "printed"
SETTINGS = FOLDER / "pages.toml"
SEALS = FOLDER / "pictures.json"

FIELD = re.compile(r"\{(\w+)(?::([^}]*))?\}")
"""A field of a template, as in {mean:.3f}: its name, and the format of its figure."""

WORDS = "none one two three four five six seven eight nine ten eleven twelve".split()

PATTERNS = {
    "word": rf"({'|'.join(WORDS)}|\d+)",
    "Word": rf"({'|'.join(map(str.capitalize, WORDS))}|\d+)",
    "yes": "(yes|no)",
    "version": r"(\d+(?:\.\w+)+)",
    "": r"([+-]?(?:\d{1,3}(?:,\d{3})+|\d*\.?\d+)(?: %)?|--)",
}
"""Pattern of a figure by its format. The last one is that of numbers, as in 1,500, .062 or 26 %."""

BY_RECORD = {"ratio": truediv, "difference": sub, "percent": lambda ratio: 100 * (ratio - 1)}
"""What is computed of columns, record by record; the percentage is that above a ratio of 1."""

OF_ALL = {
    "smallest": min,
    "largest": max,
    "sum": sum,
    "mean": fmean,
    "count": len,
    "above one": lambda values: sum(value > 1 for value in values),
    "below one": lambda values: sum(value < 1 for value in values),
}
"""What is computed of the values of several records."""


# Records of a command.


def run(name, recorded_only=False, cells=(), is_quick=False):
    """Run a benchmark in full or quickly, or load its stored runs, and store its records.

    With `cells` only those whose names contain one of these texts are run.
    """
    import benchmarks.__main__  # noqa: F401, one thread: sets it before numpy is imported
    from benchmarks.runner import run as run_benchmark
    from benchmarks.timing import FULL, QUICK

    start = process_time()
    made_by = {
        "command": shlex.join(
            ["python", "-m", "benchmarks", name]
            + ["--recorded"] * recorded_only
            + ["--quick"] * is_quick
            + (["--cells", *cells] if cells else [])
        ),
        "commit": _read_commit(),
        "date": str(date.today()),
    }
    budget = (QUICK if is_quick else FULL)._replace(recorded_only=recorded_only, cells=tuple(cells))
    report = run_benchmark(name, budget)
    made_by |= {
        "CPU seconds": round(process_time() - start),
        "runs": budget.n_runs,
        "versions": _list_versions(),
        "title": report.title.rsplit("\n\n", 1)[-1],  # without tables
    }
    store(name, made_by, [*report.earlier_records, *report.records])


def store(name, made_by, records):
    """Store the records of a benchmark, one to a line, below what made them."""
    lines = [
        json.dumps({key: _shorten(value) for key, value in one.items()}, allow_nan=False)
        for one in records
    ]
    head = json.dumps(made_by, indent=1).removesuffix("\n}")
    text = head + ',\n "records": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"
    (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


def list_options(name):
    """The options of the command that stored the records of a benchmark, [] without records."""
    path = FOLDER / f"{name}.json"
    _, _, _, _, *options = shlex.split(_load(path)["command"]) if path.is_file() else [""] * 4
    return options


def list_tonight(weekday):
    """The stored commands of a night, a seventh of them, each night about equally long."""
    stored = {path.stem: _load(path) for path in FOLDER.glob("*.json") if path != SEALS}
    names = [name for name, one in stored.items() if not one["command"].endswith("--recorded")]
    names.sort(key=lambda name: stored[name]["CPU seconds"])
    return names[weekday::7]


def _shorten(value):
    """A value of JSON, numbers with six digits."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float):
        return float(f"{value:.6g}") if isfinite(value) else None
    return value if isinstance(value, bool | int | str | None) else str(value)


def _read_commit():
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, cwd=HOME, capture_output=True, text=True).stdout.strip()


def _list_versions():
    """Versions of the packages that the benchmark imported and that pyproject.toml names."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = sum(project["optional-dependencies"].values(), project["dependencies"])
    named = {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}
    distributions = packages_distributions()
    loaded = {one for module in sys.modules for one in distributions.get(module, ())}
    loaded = {one.lower().replace("_", "-") for one in loaded}
    return {package: version(package) for package in sorted(named & loaded)}


@cache
def _load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def look_up(path):
    """The value at ``"NAME | column | column=value; ..."``, of the one record with these values.

    ``"NAME | runs"`` and ``"NAME | versions | PACKAGE"`` are those of the command. A table of one
    operation computes a value of others: ``{ratio = [path, path]}`` and ``{largest = path}``.
    """
    values = _find_values(path)
    if len(values) != 1:
        raise KeyError(f"{path}: {len(values)} records have these values, and one must")
    return values[0]


def _find_values(path):
    """The values of a column in all records that meet the conditions of a path."""
    if isinstance(path, dict):
        ((operation, of),) = path.items()
        if operation in BY_RECORD:
            return list(map(BY_RECORD[operation], *map(_find_values, _list(of))))
        return [OF_ALL[operation]([value for one in _list(of) for value in _find_values(one)])]
    name, column, *conditions = (part.strip() for part in path.split("|"))
    stored = _load(FOLDER / f"{name}.json")
    if column == "versions":
        return [stored["versions"][conditions[0]]]
    if column in stored:
        return [stored[column]]
    pairs = [one.split("=", 1) for text in conditions if text for one in text.split("; ")]
    return [
        one[column]
        for one in stored["records"]
        if column in one and all(str(one.get(key)) == value for key, value in pairs)
    ]


def _list(paths):
    return paths if isinstance(paths, list) else [paths]


def to_text(value, form):
    """A number as pages write it: no zero before the point, and commas from a thousand on."""
    if value is None:
        return "--"
    if form == "yes":
        return "yes" if value else "no"
    if form in ("word", "Word"):
        word = WORDS[value] if 0 <= value < len(WORDS) else str(value)
        return word if form == "word" else word.capitalize()
    if form == "version":
        return value
    if form.endswith("g"):  # significant digits, without an exponent
        if abs(value) < 1e-9:  # rounding errors
            return "0"
        sign, digits = form[:-1].split(".")
        value = float(f"{value:.{int(digits) - 1}e}")
        form = f"{sign},.{max(0, int(digits) - 1 - floor(log10(abs(value))))}f"
    text = format(value, form or ",").replace("%", " %")  # as in 26 %
    return re.sub(r"^([+-]?)0\.", r"\1.", text)


# Sentences of pages, and the figures that they should have.


class Sentence(NamedTuple):
    """Words of a page with figures among them; a table is one of them."""

    page: str
    pattern: str  # with a group for each figure
    figures: list[str]

    def search(self, text):
        """Where the sentence is in the text of the page; None where it is not."""
        return re.search(self.pattern, text)

    def read_page(self):
        """The text of the page."""
        return (HOME / self.page).read_text(encoding="utf-8")

    def describe_difference(self, text):
        """What differs in the text of the page, or None."""
        match = self.search(text)
        if match is None:
            return (
                f"{self.page}: no text matches {self.pattern[:90]!r}. Change "
                "doc/printed/pages.toml with the page."
            )
        changes = [
            (group, old, new)
            for group, (old, new) in enumerate(zip(match.groups(), self.figures, strict=True), 1)
            if old != new
        ]
        if not changes:
            return None
        line = text[: match.start(changes[0][0])].count("\n") + 1
        return f"{self.page}:{line}: " + ", ".join(f"{old} -> {new}" for _, old, new in changes)


def read_sentences():
    """All sentences and tables of the settings."""
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    for entry in settings.get("sentence", ()):
        for page in entry.get("pages") or [entry["page"]]:
            yield make_sentence(page, *_fill_in(entry["text"], entry.get("file"), entry))
    for older in settings.get("older", ()):  # figures that no stored record has
        yield make_sentence(older["page"], older["text"], {})
    for table in settings.get("table", ()):
        write_row = _write_markdown_row if table["page"].endswith(".md") else _write_list_row
        rows = [write_row(table["head"])] if "head" in table else []
        if "head" in table and table["page"].endswith(".md"):
            rows.append("|---" * len(table["head"].split("|")) + "|")
        paths = {}
        for number, (*labels, where) in enumerate(table["rows"]):
            row = write_row(table["row"])
            for place, label in enumerate(labels):
                row = row.replace(f"{{{place}}}", label)
            row, of_row = _fill_in(row, table["file"], table["columns"], where, f"_{number}")
            rows.append(row)
            paths |= of_row
        yield make_sentence(table["page"], "\n".join(rows), paths)


def _write_list_row(cells):
    return "* - " + " - ".join(cell.strip() for cell in cells.split("|"))


def _write_markdown_row(cells):
    return f"| {cells} |"


def _fill_in(template, file, paths, where="", suffix=""):
    """The template with a suffix to its fields, and their complete paths."""

    def complete(path):
        if isinstance(path, dict):
            return {key: complete(value) for key, value in path.items()}
        if isinstance(path, list):
            return list(map(complete, path))
        if path.startswith("@"):  # of any record
            return path[1:]
        return f"{file} | {path} | {where}" if file else path

    fields = {name for name, _ in FIELD.findall(template)}
    template = FIELD.sub(lambda field: f"{{{field[1]}{suffix}:{field[2] or ''}}}", template)
    return template, {field + suffix: complete(paths[field]) for field in fields}


def make_sentence(page, template, paths):
    """The sentence of a template, whose fields are looked up at the paths of their names."""
    # Words, field, format, words, field, format, ..., words
    parts = FIELD.split(template)
    pattern = _match_words(parts[0])
    figures = []
    for field, form, words in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        figures.append(to_text(look_up(paths[field]), form or ""))
        pattern += PATTERNS.get(form, PATTERNS[""]) + _match_words(words)
    return Sentence(page, rf"(?<!\w){pattern}(?!\w)", figures)  # whole words at both ends


def _match_words(text):
    """Pattern of words with any white space between and around them where the text has some."""
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))


# What pages have.


def list_differences():
    """Sentences about pages and pictures that differ from the records."""
    differences = [one.describe_difference(one.read_page()) for one in read_sentences()]
    return [one for one in differences if one] + list_old_pictures()


def write():
    """Put the figures of the records into the pages."""
    for sentence in read_sentences():
        text = sentence.read_page()
        match = sentence.search(text)
        if match is None:
            continue  # `list_differences` says so
        # From the last figure to the first, so that the places before stay where they are.
        for group in range(len(sentence.figures), 0, -1):
            start, end = match.span(group)
            text = text[:start] + sentence.figures[group - 1] + text[end:]
        (HOME / sentence.page).write_text(text, encoding="utf-8")


# Pictures.


def seal():
    """Store the digests of all pictures, which somebody has looked at, and of their inputs."""
    text = json.dumps(_digest_pictures(), indent=1)
    SEALS.write_text(text + "\n", encoding="utf-8")


def list_old_pictures():
    """Sentences about pictures that differ from the sealed ones, or whose inputs do."""
    sealed = _load(SEALS) if SEALS.is_file() else {}
    return [
        f"{name}: not the picture or not the inputs that were sealed. Run `{one['command']}`, look "
        "at the picture, then `python doc/printed.py seal`."
        for name, one in _digest_pictures().items()
        if one != sealed.get(name)
    ]


def _digest_pictures():
    """Command and digests of each picture of the settings."""
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    return {
        picture["file"]: {
            "command": picture["command"],
            "inputs": _digest(map(_read_input, picture["inputs"])),
            "picture": _digest([(HOME / picture["file"]).read_bytes()]),
        }
        for picture in settings.get("picture", ())
    }


def _read_input(name):
    """The bytes of a file, or of the values at a path of records."""
    if "|" in name:
        return json.dumps(_find_values(name)).encode()
    return (HOME / name).read_bytes()


def _digest(parts):
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def main(arguments=None):
    """The command line."""
    parser = ArgumentParser(description=__doc__.split("\n\n", 1)[0])
    parser.add_argument("action", choices=["run", "write", "check", "seal", "tonight"])
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run")
    parser.add_argument("--recorded", action="store_true", help="load the runs of the repository")
    parser.add_argument("--quick", action="store_true", help="few runs, as of the command")
    parser.add_argument(
        "--cells", nargs="+", default=[], help="run these alone, by a part of a name"
    )
    options = parser.parse_args(arguments)
    if options.action == "run":
        sys.path.insert(0, str(HOME))
        for name in options.names:
            has_options = options.recorded or options.quick or options.cells
            one = options if has_options else parser.parse_args(["run", name, *list_options(name)])
            run(name, one.recorded, one.cells, one.quick)
        return 0
    if options.action == "tonight":
        print(*list_tonight(date.today().weekday()))
        return 0
    if options.action == "write":
        write()
    if options.action == "seal":
        seal()
        _load.cache_clear()
    differences = list_differences()
    print("\n".join(differences) or "Pages and records agree.")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
