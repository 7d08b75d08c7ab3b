"""Which interpreter ``make test-newest`` uses."""

import sys
import tomllib

import pytest

from tests import newest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts without an extension")
VERSIONS = ["3.98", "3.97", "{}.{}".format(*sys.version_info)]


@pytest.fixture
def install(monkeypatch, tmp_path):
    """Write a script in place of an interpreter; no others are on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable, *_ in newest.MANAGERS:
        monkeypatch.delenv(variable, raising=False)

    def write(folder, version, prints=None, status=0):
        file = tmp_path / folder / f"python{version}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\necho {prints or version}\nexit {status}\n")
        file.chmod(0o755)
        return file

    return write


def test_the_newest_on_the_path_is_taken(install):
    install("path", "3.97")
    file = install("path", "3.98")
    assert newest.newest(VERSIONS) == file


def test_this_version_and_unsupported_ones_are_not_taken(install):
    install("path", VERSIONS[-1])
    install("path", "3.99")
    assert newest.newest(VERSIONS) is None


@pytest.mark.parametrize(
    "folder",
    [
        ".pyenv/versions/3.98.1/bin",
        ".local/share/uv/python/cpython-3.98.1-linux-x86_64-gnu/bin",
        ".asdf/installs/python/3.98.1/bin",
        ".local/share/mise/installs/python/3.98/bin",
        "miniconda3/envs/any/bin",
    ],
)
def test_those_of_version_managers_are_found_behind_their_stand_ins(install, folder):
    install("path", "3.98", prints="python3.98: not installed", status=127)
    install("path", "3.97")
    file = install(folder, "3.98")
    assert newest.newest(VERSIONS) == file


def test_the_latest_patch_of_a_manager_is_taken(install, monkeypatch, tmp_path):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "moved"))
    install("moved/versions/3.98.9/bin", "3.98")
    file = install("moved/versions/3.98.10/bin", "3.98")
    assert newest.newest(VERSIONS) == file


def test_a_file_that_runs_as_another_version_is_not_taken(install):
    install("path", "3.98", prints="3.97")
    assert newest.newest(VERSIONS) is None


def test_versions_are_those_of_the_classifiers():
    project = tomllib.loads(newest.PROJECT.read_text(encoding="utf-8"))["project"]
    versions = newest.list_supported(project["classifiers"])
    assert versions[-1] == project["requires-python"].removeprefix(">=")
    assert newest.list_supported(
        [f"Programming Language :: Python :: {v}" for v in ("3", "3.9", "3.10")]
    ) == ["3.10", "3.9"]
