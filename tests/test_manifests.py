"""The conda recipe and the bill of materials of a release."""

import zipfile
from email.parser import Parser
from importlib.metadata import version

import pytest

from tests.manifests import find_dependencies, make_bill, make_recipe, read_wheel

TEXT = """Metadata-Version: 2.4
Name: skfair-estimators
Version: 0.1.0
Summary: Fairness
License-Expression: BSD-3-Clause
Requires-Python: >=3.11
Requires-Dist: scikit-learn>=1.8
Requires-Dist: pandas>=2.2.2
Requires-Dist: matplotlib>=3.9; extra == "plot"
"""
METADATA = Parser().parsestr(TEXT)


def test_metadata_are_read_from_a_wheel(tmp_path):
    path = tmp_path / "made.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("skfair_estimators-0.1.0.dist-info/METADATA", TEXT)
    assert read_wheel(path)["Version"] == "0.1.0"


def test_a_recipe_has_the_requirements_without_extras():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load(make_recipe(METADATA, "skfair_estimators-0.1.0.tar.gz", "ab12"))
    assert recipe["package"] == {"name": "skfair-estimators", "version": "0.1.0"}
    assert recipe["source"]["url"].endswith("/s/skfair-estimators/skfair_estimators-0.1.0.tar.gz")
    assert recipe["source"]["sha256"] == "ab12"
    assert recipe["requirements"]["run"] == [
        "python >=3.11",
        "scikit-learn >=1.8",
        "pandas >=2.2.2",
    ]
    assert recipe["build"]["noarch"] == "python"


def test_dependencies_of_dependencies_are_found():
    packages = find_dependencies(["scikit-learn", 'absent; extra == "plot"'])
    assert {"scikit-learn", "numpy", "scipy", "joblib", "threadpoolctl"} <= {*packages}
    assert "matplotlib" not in packages


def test_a_bill_has_each_package_once_with_its_version():
    bill = make_bill(METADATA, "cd34")
    versions = {one["name"]: one["version"] for one in bill["components"]}
    assert len(versions) == len(bill["components"])
    assert versions["numpy"] == version("numpy") and versions["pandas"] == version("pandas")
    package = bill["metadata"]["component"]
    assert package["purl"] == "pkg:pypi/skfair-estimators@0.1.0"
    assert package["hashes"] == [{"alg": "SHA-256", "content": "cd34"}]
    edges = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert edges[package["bom-ref"]] == [
        f"pkg:pypi/pandas@{version('pandas')}",
        f"pkg:pypi/scikit-learn@{version('scikit-learn')}",
    ]
    assert {*edges} == {package["bom-ref"], *(one["bom-ref"] for one in bill["components"])}
    assert {end for ends in edges.values() for end in ends} <= {*edges}
