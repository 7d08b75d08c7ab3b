"""Files are written as a whole, or not at all."""

import os

import pytest

from skfair.utils._files import write_text


def test_a_file_is_replaced_in_utf_8_with_equal_newlines(tmp_path):
    path = tmp_path / "page.html"
    write_text(path, "old")
    write_text(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    assert os.listdir(tmp_path) == ["page.html"]


def test_after_an_error_the_earlier_file_is_there_and_no_other(tmp_path):
    path = tmp_path / "state.json"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "long " * 100_000 + "\ud800")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["state.json"]


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    write_text(target, "old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink() and target.read_text() == "new"
