"""Files that are written as a whole, or not at all."""

import os
from pathlib import Path


def write_text(path, text):
    """Write text in UTF-8 to a file of the same folder, and give it the name when it is complete.

    After an error the earlier file of this name is unchanged.
    """
    path = Path(os.path.realpath(path))  # a link stays one
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
