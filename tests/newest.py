"""The newest supported Python besides this one: ``make test-newest`` tests with it.

Prints the path of an interpreter, or nothing. Looks on the PATH, and where version managers keep
interpreters, which need not be on the PATH.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
MANAGERS = (
    ("PYENV_ROOT", "~/.pyenv", "versions/{version}*/bin"),
    ("UV_PYTHON_INSTALL_DIR", "~/.local/share/uv/python", "cpython-{version}*/bin"),
    ("ASDF_DATA_DIR", "~/.asdf", "installs/python/{version}*/bin"),
    ("MISE_DATA_DIR", "~/.local/share/mise", "installs/python/{version}*/bin"),
    ("CONDA_ROOT", "~/miniconda3", "envs/*/bin"),
)
"""Folders of version managers: the variable that moves one, its default, and what is in it."""


def list_supported(classifiers):
    """Versions such as "3.12" that a project names, from the newest to the oldest."""
    minors = re.findall(r"Programming Language :: Python :: 3\.(\d+)", "\n".join(classifiers))
    return [f"3.{minor}" for minor in sorted(map(int, minors), reverse=True)]


def candidates(version):
    """Files that may be interpreters of a version, those on the PATH first."""
    folders = [Path(folder) for folder in os.get_exec_path()]
    for variable, default, inside in MANAGERS:
        root = Path(os.environ.get(variable, default)).expanduser()
        folders += sorted(root.glob(inside.format(version=version)), key=_numbers, reverse=True)
    return [file for folder in folders if (file := folder / f"python{version}").is_file()]


def _numbers(path):
    return [int(number) for number in re.findall(r"\d+", path.as_posix())]


def is_interpreter(file, version):
    """Whether a file runs as this version and makes environments: stand-ins of managers do not."""
    code = "import sys, venv; print('{}.{}'.format(*sys.version_info))"
    try:
        done = subprocess.run([file, "-c", code], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.strip() == version


def newest(versions):
    """The interpreter of the first of the versions that is here and not this one's, or None."""
    this = "{}.{}".format(*sys.version_info)
    for version in versions:
        for file in candidates(version) if version != this else ():
            if is_interpreter(file, version):
                return file
    return None


if __name__ == "__main__":
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    print(newest(list_supported(project["classifiers"])) or "")
