"""Cache files of compiled kernels, stamped with a digest of all kernel sources."""

import contextlib
import functools
import hashlib
from importlib.resources import files

from numba.core.caching import IndexDataCacheFile


class KernelCacheFile(IndexDataCacheFile):
    """The cache files of one kernel. If they are damaged, the kernel is compiled again."""

    def __init__(self, cache):
        # numba stamps a cache with the source of one kernel (before 0.68 with its modification
        # time), but the helpers of a kernel are in other files. numba compares the version before
        # it unpickles the rest, which may name classes that no longer exist.
        super().__init__(cache.cache_path, cache._impl.filename_base, source_stamp=None)
        self._version = self._version, digest()

    def load(self, key):
        try:
            stored_for, data = super().load(key) or (None, None)
        except Exception:  # truncated or unreadable file
            return None
        # Of two processes that compile at the same time one may have replaced the other's file.
        return data if stored_for == (self._version, key) else None

    def save(self, key, data):
        with contextlib.suppress(OSError):  # full disk or read-only folder
            super().save(key, ((self._version, key), data))

    def _load_index(self):
        try:
            return super()._load_index()
        except Exception:  # truncated index: it is written again
            return {}


@functools.cache
def digest():
    """Digest of the sources of all kernels."""
    sources = [file for file in files(__package__).iterdir() if file.name.endswith(".py")]
    sources.sort(key=lambda file: file.name)
    names = "/".join(file.name for file in sources)
    contents = b"".join(hashlib.sha256(file.read_bytes()).digest() for file in sources)
    return hashlib.sha256(names.encode() + contents).hexdigest()
