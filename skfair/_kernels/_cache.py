"""Files that keep compiled kernels: valid for the same sources, wherever these are copied."""

import contextlib
import functools
import hashlib
from importlib.resources import files

from numba.core.caching import IndexDataCacheFile


class KernelCacheFile(IndexDataCacheFile):
    """The files of one kernel. Whatever is wrong with them, the kernel is compiled instead."""

    def __init__(self, cache):
        # numba stamps a cache with the source of one kernel (before 0.68 with its modification
        # time), but the parts of a kernel lie in other files. The version is compared before the
        # rest is read, which may name classes that are gone.
        super().__init__(cache.cache_path, cache._impl.filename_base, source_stamp=None)
        self._version = self._version, digest()

    def load(self, key):
        try:
            stored_for, data = super().load(key) or (None, None)
        except Exception:  # cut short, or not readable
            return None
        # Of two processes that compile at once one may have overwritten the other's file.
        return data if stored_for == (self._version, key) else None

    def save(self, key, data):
        with contextlib.suppress(OSError):  # the disk is full, or nothing may be written any more
            super().save(key, ((self._version, key), data))

    def _load_index(self):
        try:
            return super()._load_index()
        except Exception:  # cut short: it is written again
            return {}


@functools.cache
def digest():
    """Digest of the sources of all kernels."""
    sources = [file for file in files(__package__).iterdir() if file.name.endswith(".py")]
    sources.sort(key=lambda file: file.name)
    names = "/".join(file.name for file in sources)
    contents = b"".join(hashlib.sha256(file.read_bytes()).digest() for file in sources)
    return hashlib.sha256(names.encode() + contents).hexdigest()
