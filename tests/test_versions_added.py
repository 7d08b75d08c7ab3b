"""New public names state since which version they exist."""

import skfair
from tests.versions_added import RECORD, problems, public_docstrings

ADDED = "Do it.\n\n.. versionadded:: {}\n"


def test_public_names_state_their_version_from_the_second_release_on():
    recorded = RECORD.read_text(encoding="utf-8").split()
    assert list(problems(skfair.__version__, public_docstrings(), recorded)) == []


def test_the_first_release_states_no_version():
    (sentence,) = problems("0.1.0.dev0", {"fit": ADDED.format("0.1")}, ["fit"])
    assert "above 0.1" in sentence


def test_the_record_is_that_of_the_first_release():
    assert list(problems("0.1.0", {"fit": "Do it."}, ["fit"])) == []
    (sentence,) = problems("0.1.0", {"fit": "Do it.", "new": "Do it."}, ["fit", "old"])
    assert "['new', 'old']" in sentence


def test_a_later_name_states_its_version():
    docstrings = {"fit": "Do it.", "new": "Do it."}
    (sentence,) = problems("0.2.0.dev0", docstrings, ["fit", "removed"])
    assert sentence.startswith("new is not of version 0.1")
    docstrings["new"] = ADDED.format("0.2")
    assert list(problems("0.2.0.dev0", docstrings, ["fit"])) == []
    assert list(problems("0.3.1", docstrings, ["fit"])) == []


def test_a_version_to_come_is_an_error():
    (sentence,) = problems("0.2.0", {"new": ADDED.format("0.3")}, [])
    assert "at most 0.2.0" in sentence
