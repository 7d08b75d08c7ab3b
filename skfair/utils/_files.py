"""Write text files such that an error leaves the old file as it was."""

import os
import tempfile
from pathlib import Path


def write_text(text, path):
    """Write text in UTF-8 with the newlines that it has, if there is a path, and return it.

    A new file is written beside the path and then renamed to it: if the text cannot be encoded, or
    the disk is full, a file that exists is unchanged. A link is followed, and the permissions of a
    file that exists are kept.
    """
    if path is None:
        return text
    content = text.encode("utf-8")
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        # A device, such as /dev/stdout, is no file that can be replaced.
        target.write_bytes(content)
        return text
    number, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
    try:
        with open(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _permissions(target))
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise
    return text


def _permissions(target):
    """Permissions of a file, or those of a new one under the process's umask."""
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
