"""A file that several threads and processes change."""

import threading

import pytest

from skfair._utils import fit


def test_no_change_is_lost(tmp_path):
    path = tmp_path / "count.txt"
    path.write_text("0")

    def count():
        for _ in range(25):
            with fit.lock_file(path):
                path.write_text(str(int(path.read_text()) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert path.read_text() == "100"


def test_a_lock_that_is_held_too_long_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "_LONGEST_WAIT", 0.05)
    path = tmp_path / "state.json"
    with fit.lock_file(path), pytest.raises(OSError, match="used by one process at a time"):
        with fit.lock_file(path):
            pass
    with fit.lock_file(path):
        pass
