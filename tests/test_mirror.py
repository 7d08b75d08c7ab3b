"""The path of a module leads to its tests: `skfair/_x/_m.py` to `tests/x/test_m.py`."""

from pathlib import Path

import pytest

from tests.test_layers import PACKAGE

TESTS = Path(__file__).parent
BENCHMARKS = TESTS.parent / "benchmarks"
ELSEWHERE = {"benchmarks", "browser", "examples"}
"""Folders of tests of what is not in the package."""

THROUGH = {
    "_bound/pair_gap.py": "bound/test_gap.py",
    "_bound/units.py": "bound/test_bound.py",
    "_columns/files.py": "columns/test_spreadsheets.py",
    "_commands/monitor_course.py": "commands/test_monitor_page.py",
    "_commands/plan.py": "commands/test_audit_certify.py",
    "_commands/predictions.py": "commands/test_commands_file_variants.py",
    "_fitting/model.py": "fitting/test_enforce.py",
    "_fitting/network.py": "fitting/test_fitting_plain_fit.py",
    "_kernels/candidates.py": "cluster/kmeans/test_many_clusters.py",
    "_kernels/lines.py": "fitting/test_lines.py",
    "_kernels/medoids.py": "cluster/kmedoids/test_sites.py",
    "_onnx/graph.py": "test_export.py",
    "_onnx/models.py": "test_export.py",
    "_onnx/trees.py": "test_export.py",
    "_postprocessing/coverage.py": "conformal/test_conformal.py",
    "_postprocessing/exposure.py": "ranking/test_constrained_ranker_cv.py",
    "_postprocessing/quotas.py": "ranking/test_rerank.py",
    "_statistics/areas.py": "statistics/test_estimates_limits.py",
    "_statistics/calibration_errors.py": "metrics/test_group_metrics.py",
    "_statistics/calibration_lines.py": "metrics/test_group_metrics.py",
    "_statistics/group_estimates.py": "metrics/test_group_metrics.py",
    "audit/_candidate_tests.py": "audit/test_alternatives.py",
    "audit/_front.py": "audit/test_fairness_front.py",
    "audit/_performance.py": "audit/test_alternatives.py",
    "audit/_report_data.py": "audit/test_report.py",
    "audit/_report_input.py": "audit/test_report.py",
    "audit/_task_metrics.py": "audit/test_report_metrics.py",
    "audit/_verify.py": "audit/test_data_digests.py",
    "cluster/kmeans/_front.py": "cluster/kmeans/test_homotopy.py",
    "cluster/kmeans/_repair.py": "cluster/kmeans/test_homotopy.py",
    "cluster/kmeans/_rounds.py": "cluster/kmeans/test_homotopy.py",
    "constraints/_docstrings.py": "constraints/test_constraint.py",
    "constraints/_held_out.py": "monitoring/test_batches.py",
    "exceptions.py": "groups/test_known.py",
    "groups.py": "groups/test_samples.py",
    "metrics/_docstrings.py": "metrics/test_classification.py",
    "monitoring/_settings.py": "monitoring/test_monitor.py",
    "solvers/literature/_stochastic_constrained.py": "solvers/test_stochastic_updates.py",
    "torch/_cells.py": "torch/test_loop.py",
    "torch/_samples.py": "torch/test_loop.py",
}
"""Modules that are tested through their callers alone -> the test file that does."""


def list_modules(root):
    return sorted(path for path in root.rglob("*.py") if path.name != "__init__.py")


def names_below(path, root):
    """Names of the folders below a root, and of the file, without underscores around them."""
    return tuple(name.strip("_") for name in path.relative_to(root).with_suffix("").parts)


def begins_with(name, beginning):
    return name == beginning or name.startswith(f"{beginning}_")


def find_module(test, modules):
    """The names of the module that a test file tests, those of a whole folder, or None.

    Of several modules whose names begin that of the file, it is the one with the longest name.
    """
    *folder, name = test
    name = name.removeprefix("test_")
    fitting = [one for one in modules if list(one[:-1]) == folder and begins_with(name, one[-1])]
    if fitting:
        return max(fitting, key=lambda one: len(one[-1]))
    is_of_folder = not folder or tuple(folder) in modules or begins_with(name, folder[-1])
    return tuple(folder) if is_of_folder else None


@pytest.mark.parametrize(
    ("test", "module"),
    [
        ("test_common", ()),
        ("test_losses", ("losses",)),
        ("losses/test_auc", ("losses",)),
        ("audit/test_claims", ("audit", "claims")),
        ("audit/test_claims_of_rates", ("audit", "claims")),
        ("audit/test_claims_file_names", ("audit", "claims_file")),
        ("audit/test_audit_of_files", ("audit",)),
        ("audit/test_claimsfile", None),
        ("metrics/test_claims", None),
    ],
)
def test_the_longest_name_of_a_module_is_found(test, module):
    modules = {("losses",), ("audit", "claims"), ("audit", "claims_file"), ("metrics", "rates")}
    assert find_module(tuple(test.split("/")), modules) == module


def group_by_module(root, tests, left_out=()):
    """Test files, relative to their folder, by the names of the module that they test."""
    modules = {names_below(path, root) for path in list_modules(root)}
    tests_of = {}
    for path in sorted(tests.rglob("test_*.py")):
        test = path.relative_to(tests)
        if test.parts[0] not in left_out:
            module = find_module((*test.parts[:-1], test.stem), modules)
            tests_of.setdefault(module, []).append(test.as_posix())
    return tests_of


OF_PACKAGE = group_by_module(PACKAGE, TESTS, ELSEWHERE)


@pytest.mark.parametrize(
    "tests_of",
    [OF_PACKAGE, group_by_module(BENCHMARKS, TESTS / "benchmarks")],
    ids=["package", "benchmarks"],
)
def test_the_name_of_a_test_file_begins_with_a_module(tests_of):
    assert len(tests_of) > 20
    assert tests_of.get(None, []) == [], "name them after a module of the folder that they mirror"


def test_a_module_has_a_test_file():
    without = {
        path.relative_to(PACKAGE).as_posix(): path
        for path in list_modules(PACKAGE)
        if names_below(path, PACKAGE) not in OF_PACKAGE
    }
    assert without.keys() == THROUGH.keys()
    assert len(without) < len(OF_PACKAGE) / 4
    files = {test for tests in OF_PACKAGE.values() for test in tests}
    assert set(THROUGH.values()) <= files
