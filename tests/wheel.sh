#!/bin/sh
# `tests/wheel.sh PYTHON WHEEL`: install the wheel in a fresh environment outside the checkout, first
# alone, then with what tests need, and run a subset of the tests against the installed package.
set -eu
python=$1
wheel=$(realpath "$2")
cd "$(dirname "$0")/.."

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" -m venv "$place/venv"
cp -R tests conftest.py setup.cfg pyproject.toml "$place"
mkdir -p "$place/doc/api"
cp doc/api/index.rst "$place/doc/api" # whose sections tests/utils reads
cd "$place"
unset PYTHONPATH
export PATH="$place/venv/bin:$place/venv/Scripts:$PATH" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg

python -m pip install --quiet --disable-pip-version-check "$wheel"
python -c 'import skfair; print("tested:", skfair.__file__)'
python -m skfair warm-up
python -m skfair --help
python -c 'from importlib.resources import files; files("skfair.audit").joinpath("_interactive.js").read_text()'

python -m pip install --quiet --disable-pip-version-check "$wheel[test]"
python -m pytest -q -n auto -p no:cacheprovider tests/utils tests/test_registries.py \
    tests/test_without_numba.py tests/test_typing.py tests/cluster/kmeans/test_fair_kmeans_input.py \
    tests/classification/test_classifiers_erm_input.py
python -m pytest -q -n auto -p no:cacheprovider --pyargs skfair.metrics
