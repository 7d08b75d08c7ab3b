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
    files = [".github/workflows/test.yml", ".github/workflows/figures.yml"]
    jobs = {key: job for file in files for key, job in parse(file)["jobs"].items()}
    commands = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    # Windows has no make: its job calls the script of one target.
    assert commands <= {f"make {target}" for target in targets} | {
        "tests/wheel.sh python dist/*.whl"
    }
    assert {
        "make test",
        "make test-lowest",
        "make test-wheel",
        "make lint",
        "make figures-tonight",
    } <= commands


def test_every_supported_python_is_tested():
    text = "Programming Language :: Python :: "
    supported = [one.removeprefix(text) for one in PROJECT["classifiers"] if text in one]
    matrix = parse(".github/workflows/test.yml")["jobs"]["newest"]["strategy"]["matrix"]
    assert matrix["python"] == [one for one in supported if "." in one]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"


@pytest.mark.parametrize("name", ["README.md", "CHANGELOG.md", "doc/index.rst", "doc/install.rst"])
def test_pages_state_the_lowest_versions(name):
    text = (HOME / name).read_text(encoding="utf-8")
    lowest = dict(one.split(">=") for one in PROJECT["dependencies"])
    stated = re.findall(rf"\b({'|'.join(lowest)}) (\d[\d.]*\d)", text)
    assert ("scikit-learn", lowest["scikit-learn"]) in stated
    # Further sentences are about scikit-learn alone, such as what needs a later version.
    assert all(lowest[name] == version for name, version in stated if name != "scikit-learn")


def test_every_supported_system_is_tested():
    text = "Operating System :: "
    supported = {one.removeprefix(text) for one in PROJECT["classifiers"] if text in one}
    runners = parse(".github/workflows/test.yml")["jobs"]["newest"]["strategy"]["matrix"]["os"]
    assert set(runners) == {"ubuntu-latest", "macos-latest"}
    assert supported == {"POSIX :: Linux"}  # macOS from the first push on


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


def test_a_rule_of_law_is_named_in_one_table_with_its_source_and_the_date_at_which_it_was_read():
    page = (HOME / "doc/laws.rst").read_text(encoding="utf-8")
    table = page.split("\nRules, sources and dates\n")[1].split("\n.. _")[0]
    rows = [row.split("     - ") for row in table.split("   * - ")[2:]]
    assert len(rows) >= 7
    assert all("<https://" in rule for rule, _, _ in rows)
    assert all(re.search(r"\d{1,2} \w+ 20\d\d: ", read) for _, _, read in rows)
    numbers = r"\d+ (?:CFR|RCNY) [\d.-]+|Executive Order \d+|\b20\d\d/\d{3,4}\b|SB \d\d-\d{3}"
    pages = [*HOME.glob("doc/*.rst"), *HOME.glob("examples/*/*.py"), HOME / "README.md"]
    texts = "".join(re.sub(r"<https:.+?>", "", page.read_text(encoding="utf-8")) for page in pages)
    table = re.sub(r"<https:.+?>", "", table)
    assert sorted(re.findall(numbers, texts)) == sorted(re.findall(numbers, table)) != []


def test_a_page_on_laws_says_of_each_what_is_in_a_report_and_what_is_lacking():
    page = (HOME / "doc/laws.rst").read_text(encoding="utf-8")
    sections = re.split(r"\n=+\n", page.split("\nRules, sources and dates\n")[1])[1:-1]
    assert len(sections) == 6
    assert all(
        "- in the report" in section and "**A report lacks**" in section for section in sections
    )
    assert "no legal advice" in page


PAPER = (HOME / "paper.md").read_text(encoding="utf-8")


def test_the_paper_is_short_and_cites_its_bibliography():
    body = PAPER.split("---\n", 2)[2]
    assert len(body.split()) <= 1000
    keys = set(re.findall(r"@([a-z][\w-]+)", body))
    entries = set(re.findall(r"^@\w+\{([\w-]+),", (HOME / "paper.bib").read_text("utf-8"), re.M))
    assert keys == entries != set()


def test_a_command_of_the_paper_is_one_of_the_guide():
    guide = " ".join((HOME / "doc/comparison.rst").read_text("utf-8").split())
    guide += "".join(page.read_text("utf-8") for page in HOME.glob("doc/*.rst"))
    commands = re.findall(r"`(python -m benchmarks [\w-]+)`", PAPER)
    assert len(set(commands)) >= 5
    assert all(f"``{command}``" in guide for command in commands)


def test_figures_of_the_paper_are_those_of_the_comparison():
    guide = (HOME / "doc/comparison.rst").read_text("utf-8")
    cells = re.findall(r"^\| \S.*\| (\.\d+) \| (\.\d+ \(\.\d+\)) \| ([\d.]+) \|", PAPER, re.M)
    assert len(cells) == 7
    for accuracy, gap, time in cells:
        assert re.search(rf"- {re.escape(accuracy)}\n +- {re.escape(gap)}\n +- {time}\n", guide)


@pytest.mark.parametrize("name", ["CITATION.cff", "paper.bib", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_a_file_of_the_project_is_in_the_sdist_and_says_something(name):
    patterns = (HOME / "MANIFEST.in").read_text("utf-8").split()
    assert any(Path(name).match(pattern) for pattern in patterns)
    assert len((HOME / name).read_text("utf-8").split()) > 100


def test_the_citation_is_complete():
    citation = parse("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["preferred-citation"]["title"] == citation["title"]
    assert citation["preferred-citation"]["authors"] == citation["authors"]
    assert len(citation["references"]) == 5


def test_the_workflow_of_a_release_stores_no_password():
    text = (HOME / ".github/workflows/release.yml").read_text("utf-8")
    jobs = parse(".github/workflows/release.yml")["jobs"]
    assert "secrets." not in text and "password" not in text.split("\n\n", 1)[1]
    uploads = {name for name, job in jobs.items() if "pypi-publish" in str(job["steps"])}
    assert uploads == {"testpypi", "pypi"}
    for name, job in jobs.items():
        assert (job.get("permissions") == {"id-token": "write"}) == (name in uploads)
        assert (job.get("environment") == name) == (name in uploads)
    assert jobs["pypi"]["needs"] == "testpypi" and jobs["testpypi"]["needs"] == "build"
