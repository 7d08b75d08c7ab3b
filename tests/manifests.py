"""``python tests/manifests.py``: a conda recipe and an SBOM of what ``make build`` has built.

Both are made from the metadata of the wheel in ``dist`` and are written to ``build/manifests``. The
recipe is that of conda-forge (``recipe.yaml``). The bill of materials (CycloneDX, JSON) lists the
packages that the wheel needs, directly or not, in the versions of this environment.
"""

import hashlib
import json
import sys
import zipfile
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HOME = Path(__file__).parents[1]
SOURCE = "https://pypi.org/packages/source/{name[0]}/{name}/{file}"
"""Address at which the index will have the sdist."""


def read_wheel(path):
    """The metadata of a wheel."""
    with zipfile.ZipFile(path) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def read_requirements(texts):
    """Requirements of an environment like this one, without extras."""
    requirements = [Requirement(text) for text in texts or ()]
    return [one for one in requirements if not one.marker or one.marker.evaluate({"extra": ""})]


def make_recipe(metadata, sdist, digest):
    """The text of the recipe of a package without compiled code."""
    name = metadata["Name"]
    requirements = read_requirements(metadata.get_all("Requires-Dist"))
    python = f"python {metadata['Requires-Python']}"
    run = [python, *(f"{one.name} {one.specifier}".rstrip() for one in requirements)]
    lines = [
        "schema_version: 1",
        "package:",
        f"  name: {name}",
        f'  version: "{metadata["Version"]}"',
        "source:",
        f"  url: {SOURCE.format(name=name, file=sdist)}",
        f"  sha256: {digest}",
        "build:",
        "  number: 0",
        "  noarch: python",
        "  script: python -m pip install . --no-deps --no-build-isolation",
        "requirements:",
        "  host:",
        *(f"    - {one}" for one in (python, "pip", "setuptools >=77")),
        "  run:",
        *(f"    - {one}" for one in run),
        "tests:",
        "  - python:",
        "      imports:",
        "        - skfair",
        "about:",
        f"  summary: {metadata['Summary']}",
        f"  license: {metadata['License-Expression']}",
        "  license_file: LICENSE",
    ]
    return "\n".join([*lines, ""])


def find_dependencies(texts):
    """Installed packages that requirements need, directly or not, by name."""
    packages = {}
    waiting = read_requirements(texts)
    while waiting:
        name = canonicalize_name(waiting.pop().name)
        if name not in packages:
            packages[name] = distribution(name)
            waiting += read_requirements(packages[name].requires)
    return packages


def make_component(name, version, kind="library"):
    """One package of the bill."""
    address = f"pkg:pypi/{canonicalize_name(name)}@{version}"
    return {"type": kind, "bom-ref": address, "name": name, "version": version, "purl": address}


def make_bill(metadata, digest):
    """The bill of materials of a wheel, as a dict."""
    package = make_component(metadata["Name"], metadata["Version"])
    package["hashes"] = [{"alg": "SHA-256", "content": digest}]
    package["licenses"] = [{"expression": metadata["License-Expression"]}]
    needed = find_dependencies(metadata.get_all("Requires-Dist"))
    components = {name: make_component(name, one.version) for name, one in sorted(needed.items())}
    uses = {package["bom-ref"]: read_requirements(metadata.get_all("Requires-Dist"))}
    for name, one in needed.items():
        uses[components[name]["bom-ref"]] = read_requirements(one.requires)
    dependencies = [
        {
            "ref": ref,
            "dependsOn": sorted(
                components[canonicalize_name(one.name)]["bom-ref"] for one in requirements
            ),
        }
        for ref, requirements in sorted(uses.items())
    ]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": package},
        "components": [*components.values()],
        "dependencies": dependencies,
    }


def hash_file(path):
    """SHA-256 digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main():
    """Write both files."""
    wheels = sorted(HOME.glob("dist/*.whl"))
    sdists = sorted(HOME.glob("dist/*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        sys.exit("dist must have one wheel and one sdist: run `make build` first.")
    metadata = read_wheel(wheels[0])
    folder = HOME / "build" / "manifests"
    folder.mkdir(parents=True, exist_ok=True)
    recipe = make_recipe(metadata, sdists[0].name, hash_file(sdists[0]))
    (folder / "recipe.yaml").write_text(recipe, encoding="utf-8")
    bill = json.dumps(make_bill(metadata, hash_file(wheels[0])), indent=1)
    (folder / "sbom.cdx.json").write_text(bill, encoding="utf-8")
    print(f"recipe.yaml and sbom.cdx.json are in {folder}")


if __name__ == "__main__":
    main()
