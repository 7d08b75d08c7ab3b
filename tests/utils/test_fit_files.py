import os
import stat
from pathlib import Path

import pytest

from skfair._utils.fit import write_text


def test_text_is_written_as_it_is_and_returned(tmp_path):
    path = tmp_path / "page.md"
    text = "a × b\nc\r\n"
    assert write_text(text, path) == text and write_text(text, None) == text
    assert path.read_bytes() == text.encode()
    assert write_text("new\n", str(path)) == "new\n" and path.read_bytes() == b"new\n"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "page"
    write_text("old", path)
    with pytest.raises(UnicodeEncodeError):
        write_text("\ud800", path)

    def fail(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_text("new", path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_an_interrupt_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "page"
    write_text("old", path)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text("new", path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_permissions_and_links_are_kept(tmp_path):
    path = tmp_path / "page"
    link = tmp_path / "link"
    write_text("old", path)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    link.symlink_to(path)
    write_text("new", link)
    assert link.is_symlink() and path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_private_file_stays_private_while_it_is_written(tmp_path, monkeypatch):
    path = tmp_path / "page"
    write_text("old", path)
    path.chmod(0o600)
    modes = []
    write_bytes = Path.write_bytes

    def record_mode(self, content):
        write_bytes(self, content)
        modes.append(stat.S_IMODE(self.stat().st_mode))

    monkeypatch.setattr(Path, "write_bytes", record_mode)
    write_text("new", path)
    assert modes == [0o600]


@pytest.mark.skipif(os.name == "nt", reason="POSIX devices")
def test_a_device_is_written_to():
    assert write_text("text", os.devnull) == "text"
