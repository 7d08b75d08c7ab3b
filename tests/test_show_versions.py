"""What `skfair.show_versions` prints for a report of a bug."""

import os
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numba
import pytest
import sklearn
from llvmlite.binding import get_host_cpu_name
from threadpoolctl import threadpool_info

import skfair


def read_lines(text):
    """Values by name of the lines "name: value", the last of each name."""
    return dict(re.findall(r"^ *([\w -]+): ?(.*?) *$", text, flags=re.MULTILINE))


@pytest.fixture
def output(capsys):
    skfair.show_versions()
    return capsys.readouterr().out


def test_versions_are_those_of_the_packages_that_run(output):
    lines = read_lines(output)
    assert lines["skfair"] == skfair.__version__
    assert lines["sklearn"] == sklearn.__version__
    assert lines["numba"] == numba.__version__
    assert lines["python"].startswith(sys.version.split()[0])


def test_a_package_that_is_not_installed_has_no_version(output):
    lines = read_lines(output)
    for name in ("dask", "polars", "pyarrow", "skops", "torch", "fairlearn"):
        try:
            expected = version(name)
        except PackageNotFoundError:
            expected = ""
        assert lines[name] == expected


def test_a_package_that_is_found_twice_has_its_version_once(capsys, monkeypatch):
    folder = Path(numba.__file__).parents[1]
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path, str(folder)])
    skfair.show_versions()
    assert read_lines(capsys.readouterr().out)["numba"] == numba.__version__


def test_processor_cores_and_kernels_are_printed(output):
    lines = read_lines(output)
    assert lines["CPU"] == get_host_cpu_name()
    assert lines["CPU cores"] == str(os.cpu_count())
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    assert all(f"architecture: {library['architecture']}" in output for library in libraries)
    assert output.count("num_threads:") >= len(libraries)
