"""What stands in two places: targets, Python versions, systems, words of the search."""

import re
import tomllib
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def parse(name):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((HOME / name).read_text(encoding="utf-8"))


def test_workflows_run_targets_that_the_makefile_has():
    makefile = (HOME / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, flags=re.MULTILINE))
    jobs = parse(".github/workflows/test.yml")["jobs"]
    commands = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    # Windows has no make: its job calls the script of one target.
    assert commands <= {f"make {target}" for target in targets} | {
        "tests/wheel.sh python dist/*.whl"
    }
    assert {"make test", "make test-lowest", "make test-wheel", "make lint"} <= commands


def test_every_supported_python_is_tested():
    text = "Programming Language :: Python :: "
    supported = [one.removeprefix(text) for one in PROJECT["classifiers"] if text in one]
    matrix = parse(".github/workflows/test.yml")["jobs"]["newest"]["strategy"]["matrix"]
    assert matrix["python"] == [one for one in supported if "." in one]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"


def test_every_supported_system_is_tested():
    text = "Operating System :: "
    supported = {one.removeprefix(text) for one in PROJECT["classifiers"] if text in one}
    runners = parse(".github/workflows/test.yml")["jobs"]["newest"]["strategy"]["matrix"]["os"]
    assert set(runners) == {"ubuntu-latest", "macos-latest"}
    assert supported == {"POSIX :: Linux", "MacOS"}


def test_commits_and_make_lint_use_the_same_ruff():
    hooks = parse(".pre-commit-config.yaml")["repos"][0]["hooks"]
    before_commits = [hook["additional_dependencies"] for hook in hooks if "ruff" in hook["id"]]
    ruff = [one for one in PROJECT["optional-dependencies"]["test"] if one.startswith("ruff")]
    assert before_commits == [ruff, ruff]


@pytest.mark.parametrize("name", ["bug", "proposal", "documentation"])
def test_a_form_asks_for_something(name):
    form = parse(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert form["name"] and form["description"]
    assert any(one.get("validations", {}).get("required") for one in form["body"])


def test_words_that_users_search_for_are_main_entries_and_stand_on_their_page():
    """The search of the built pages lists main entries of the index first."""
    phrases = []
    for path in HOME.glob("doc/*.rst"):
        text = path.read_text(encoding="utf-8")
        entries = re.findall(r"^\.\. index:: (.+)$", text, flags=re.MULTILINE)
        words = [entry.removeprefix("! ") for entry in ", ".join(entries).split(", ") if entry]
        beside = re.sub(r"^\.\. index:: .+$", "", text, flags=re.MULTILINE).lower()
        absent = [word for word in words if word.lower().split()[0] not in beside]
        assert not absent, f"{path.name} has entries, but no text, about {absent}"
        phrases += words
    assert len(phrases) == len(set(phrases))
    assert len(phrases) >= 60
    assert {"reject option", "EEOC", "disparate impact", "reweighing", "MetricFrame"} <= set(
        phrases
    )


def test_a_rule_of_law_is_named_in_one_table_with_the_date_at_which_it_was_read():
    table = (HOME / "doc/audit.rst").read_text(encoding="utf-8").split(".. _audit_laws:")[1]
    table = table.split("\n.. _")[0]
    rows = table.split("   * - ")[2:]
    assert len(rows) >= 3
    assert all(re.search(r"\d{1,2} \w+ 20\d\d: ", row.split("     - ")[2]) for row in rows)
    numbers = r"\d+ (?:CFR|RCNY) [\d.-]+|Executive Order \d+|\b20\d\d/\d{3}\b"
    pages = [*HOME.glob("doc/*.rst"), *HOME.glob("examples/*/*.py"), HOME / "README.md"]
    texts = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert sorted(re.findall(numbers, texts)) == sorted(re.findall(numbers, table)) != []
