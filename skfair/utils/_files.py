"""Write files such that an error leaves the old file as it was."""

import os
from pathlib import Path
from uuid import uuid4


def write_text(text, path):
    """Write text in UTF-8, with the newlines that it has, if there is a path, and return it."""
    if path is not None:
        write_bytes(text.encode("utf-8"), path)
    return text


def write_bytes(content, path):
    """Write all of the content to a file, or leave a file that exists as it was.

    A new file is written beside the old one, and renamed. A link is followed, and the permissions
    of a file that exists are kept. A device, such as /dev/stdout, is written to.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(content)
        return
    temporary = target.with_name(f"{target.name[:100]}.part_{uuid4().hex}")
    try:
        temporary.write_bytes(content)
        if target.exists():
            temporary.chmod(target.stat().st_mode)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
