"""Every way in which a download can fail, against a server on loopback."""

import hashlib
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from skfair.datasets import _fetch, fetch_adult, fetch_compas
from skfair.datasets._fetch import RemoteFile, fetch

BODY = b"age,sex\n39,Male\n50,Female\n" * 100
DIGEST = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path == "/missing":
            self.send_error(404)
        elif self.path == "/broken":
            self.send_error(500)
        elif self.path == "/mute":
            self.server.released.wait(10)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            bodies = {"/good": BODY, "/cut": BODY[:700], "/changed": BODY[:-1] + b"?"}
            self.wfile.write(bodies[self.path])

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.requests, server.released = [], threading.Event()
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def loopback(monkeypatch):
    monkeypatch.delenv("SKFAIR_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def remote_at(server, route):
    return RemoteFile(f"http://127.0.0.1:{server.server_port}{route}", DIGEST, "people/people.csv")


def files_below(folder):
    return [
        path.relative_to(folder).as_posix() for path in Path(folder).rglob("*") if path.is_file()
    ]


@contextmanager
def fails_cleanly(folder, *words):
    """An OSError with these words, the digest wanted and both remedies; no new file."""
    before = files_below(folder)
    words = (*words, DIGEST, "SKFAIR_DATA", str(Path(folder, "skfair", "people/people.csv")))
    parts = "".join(f"(?=.*{re.escape(word)})" for word in words)
    with pytest.raises(OSError, match=f"(?s){parts}"):
        yield
    assert files_below(folder) == before


def test_good_file_is_saved_once_and_then_read_from_the_cache(server, tmp_path):
    server.requests.clear()
    first = fetch(remote_at(server, "/good"), data_home=tmp_path)
    second = fetch(remote_at(server, "/good"), data_home=tmp_path, download_if_missing=False)
    assert first == second == tmp_path / "skfair" / "people" / "people.csv"
    assert first.read_bytes() == BODY
    assert server.requests == ["/good"]
    assert files_below(tmp_path) == ["skfair/people/people.csv"]


def test_several_at_once(server, tmp_path):
    remote = remote_at(server, "/good")
    with ThreadPoolExecutor(4) as pool:
        paths = list(pool.map(lambda _: fetch(remote, data_home=tmp_path), range(8)))
    assert {path.read_bytes() for path in paths} == {BODY}
    assert files_below(tmp_path) == ["skfair/people/people.csv"]


def test_wrong_digest(server, tmp_path):
    got = hashlib.sha256(BODY[:-1] + b"?").hexdigest()
    with fails_cleanly(tmp_path, "/changed", got, f"{len(BODY)} bytes"):
        fetch(remote_at(server, "/changed"), data_home=tmp_path)


def test_cut_off_body(server, tmp_path):
    with fails_cleanly(tmp_path, "/cut", "700 bytes read", f"{len(BODY) - 700} more", "try again"):
        fetch(remote_at(server, "/cut"), data_home=tmp_path)


@pytest.mark.parametrize(("route", "code"), [("/missing", "404"), ("/broken", "500")])
def test_http_errors_are_requested_once(server, tmp_path, route, code):
    server.requests.clear()
    with fails_cleanly(tmp_path, route, code):
        fetch(remote_at(server, route), data_home=tmp_path)
    assert server.requests == [route]


def test_a_refused_connection(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound, but not listening: connections are refused
        url = f"http://127.0.0.1:{free.getsockname()[1]}/good"
        with fails_cleanly(tmp_path, url, "network"):
            fetch(RemoteFile(url, DIGEST, "people/people.csv"), data_home=tmp_path)


def test_no_network_at_all(tmp_path, monkeypatch):
    def no_names(*args, **kwargs):
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", no_names)
    monkeypatch.setenv("no_proxy", "*")
    remote = RemoteFile("https://data.example/people.csv", DIGEST, "people/people.csv")
    with fails_cleanly(tmp_path, "data.example", "name resolution"):
        fetch(remote, data_home=tmp_path)


def test_silent_server_times_out(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_fetch, "TIMEOUT", 0.05)
    with fails_cleanly(tmp_path, "/mute", "timed out"):
        fetch(remote_at(server, "/mute"), data_home=tmp_path)


def test_download_not_allowed(server, tmp_path):
    server.requests.clear()
    with fails_cleanly(tmp_path, "download_if_missing=False"):
        fetch(remote_at(server, "/good"), data_home=tmp_path, download_if_missing=False)
    assert server.requests == []


def test_damaged_cache_is_replaced(server, tmp_path):
    cached = fetch(remote_at(server, "/good"), data_home=tmp_path)
    cached.write_bytes(BODY[:10])
    with pytest.warns(UserWarning, match="damaged"):
        again = fetch(remote_at(server, "/good"), data_home=tmp_path)
    assert again == cached
    assert cached.read_bytes() == BODY


def test_damaged_cache_without_network_is_an_error(server, tmp_path):
    cached = fetch(remote_at(server, "/good"), data_home=tmp_path)
    cached.write_bytes(BODY[:10])
    with pytest.warns(UserWarning, match="damaged"), fails_cleanly(tmp_path):
        fetch(remote_at(server, "/good"), data_home=tmp_path, download_if_missing=False)


def test_failing_disk_leaves_no_partial_file(server, tmp_path, monkeypatch):
    def full_disk(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        fetch(remote_at(server, "/good"), data_home=tmp_path)
    assert files_below(tmp_path) == []


def test_the_local_folder_takes_precedence(server, tmp_path, monkeypatch):
    local = tmp_path / "own" / "people" / "people.csv"
    local.parent.mkdir(parents=True)
    local.write_bytes(BODY)
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path / "own"))
    server.requests.clear()
    assert fetch(remote_at(server, "/good"), data_home=tmp_path / "cache") == local
    assert server.requests == []


def test_a_local_folder_with_other_bytes_is_an_error(server, tmp_path, monkeypatch):
    local = tmp_path / "people" / "people.csv"
    local.parent.mkdir()
    local.write_bytes(b"something else")
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))
    other_digest = hashlib.sha256(b"something else").hexdigest()
    with pytest.raises(OSError, match="unset SKFAIR_DATA") as caught:
        fetch(remote_at(server, "/good"), data_home=tmp_path / "cache")
    for word in (str(local), DIGEST, other_digest, "/good"):
        assert word in str(caught.value)


@pytest.mark.parametrize("fetch_one", [fetch_adult, fetch_compas])
def test_options_of_wrong_types_are_refused_where_a_local_folder_has_the_files(
    replace_file, fetch_one
):
    for name in ("adult/adult.data", "adult/adult.test", "compas/compas-scores-two-years.csv"):
        replace_file(name, "")
    with pytest.raises(ValueError, match="^data_home must be the name of a folder .* got 3.$"):
        fetch_one(data_home=3)
    with pytest.raises(ValueError, match="^download_if_missing must be True or False; got 'no'"):
        fetch_one(download_if_missing="no")


@pytest.mark.parametrize("folder", ["", "empty"])
def test_a_local_folder_without_the_file_is_ignored(server, tmp_path, monkeypatch, folder):
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path / folder) if folder else "")
    path = fetch(remote_at(server, "/good"), data_home=tmp_path / "cache")
    assert path == tmp_path / "cache" / "skfair" / "people" / "people.csv"


def test_a_file_can_be_cleaned_before_it_is_saved(server, tmp_path):
    def clean(body):
        return body.replace(b"Female", b"F")

    cleaned = clean(BODY)
    remote = RemoteFile(
        f"http://127.0.0.1:{server.server_port}/good",
        sha256=hashlib.sha256(cleaned).hexdigest(),
        path="people/people.csv",
        clean=clean,
        public_sha256=DIGEST,
    )
    path = fetch(remote, data_home=tmp_path)
    assert path.read_bytes() == cleaned
    assert files_below(tmp_path) == ["skfair/people/people.csv"]
    assert fetch(remote, data_home=tmp_path, download_if_missing=False) == path


def test_a_file_is_cleaned_only_if_it_is_the_public_one(server, tmp_path):
    remote = RemoteFile(
        f"http://127.0.0.1:{server.server_port}/changed",
        sha256="0" * 64,
        path="people/people.csv",
        clean=bytes.upper,
        public_sha256=DIGEST,
    )
    with pytest.raises(OSError, match=DIGEST):
        fetch(remote, data_home=tmp_path)
    assert files_below(tmp_path) == []
