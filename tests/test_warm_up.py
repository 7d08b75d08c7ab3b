"""``python -m skfair warm-up`` compiles all kernels, and says whether they are stored."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

import skfair
from skfair import _warm_up
from skfair.__main__ import main
from skfair._kernels import kmeans

compiled = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


@pytest.fixture
def warm_up(monkeypatch):
    """The command, with one kernel in place of all."""

    def fit_all(verbose):
        kmeans.nearest_centers(np.zeros((4, 2)), np.zeros((2, 2)))

    monkeypatch.setattr(_warm_up, "fit_all", fit_all)
    return lambda: main(["warm-up"])


@pytest.mark.slow
@compiled
def test_it_names_the_folder_of_the_kernels(warm_up, capsys):
    assert warm_up() == 0
    assert f"{kmeans._assign_nearest.stats.cache_path}" in capsys.readouterr().out


@pytest.mark.slow
def test_its_example_runs(run_example):
    run_example(skfair.warm_up)


@pytest.mark.parametrize("command", [[], ["warm-up"], ["report"]])
def test_help(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    assert stop.value.code == 0
    assert " ".join(["python -m skfair", *command]) in capsys.readouterr().out


def test_an_unknown_command_is_refused_in_one_line(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["warmup"])
    assert stop.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


WARM_UP = """
import sys
import numpy as np
from skfair import _warm_up
from skfair.__main__ import main
from skfair._kernels import announce_compilation, kmeans

def fit_all(verbose):  # one kernel in place of all: tests/kernels/test_kernels.py compiles all
    with announce_compilation(verbose):
        kmeans.nearest_centers(np.zeros((4, 2)), np.zeros((2, 2)))

_warm_up.fit_all = fit_all
sys.exit(main(["warm-up"]))
"""


@pytest.mark.slow
@compiled
def test_without_a_home_kernels_are_stored_once_in_numba_cache_dir(tmp_path):
    environment = {**os.environ, "HOME": os.devnull, "NUMBA_CACHE_DIR": str(tmp_path)}
    environment.pop("NUMBA_CACHE_LOCATOR_CLASSES", None)
    command = [sys.executable, "-c", WARM_UP]

    def lines():
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    *compiling, stored = lines()
    assert compiling
    assert all(line.startswith("compiling ") and line.endswith(" s") for line in compiling)
    assert str(tmp_path) in stored
    assert lines() == [stored]


@pytest.mark.slow
@compiled
def test_its_status_is_1_if_a_kernel_is_not_stored(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    delete = f"""
        from pathlib import Path
        for file in Path({str(tmp_path)!r}).rglob("*.nbc"):  # as a full disk
            file.unlink()
"""
    before, after = WARM_UP.split("_warm_up.fit_all =")
    code = before.rstrip() + delete + "\n_warm_up.fit_all =" + after
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "must be written to a folder" in done.stderr
    assert "NUMBA_CACHE_DIR" in done.stderr
