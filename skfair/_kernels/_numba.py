"""Extensions of numba: the cache of compiled kernels, and helpers that are optimised later."""

import contextlib
import functools
import hashlib
from pathlib import Path

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

# Cache files of compiled kernels, stamped with a digest of all kernel sources.


def _make_read_only_locator(locator):
    """A variant of a numba locator that accepts a folder that cannot be written."""
    return type(locator.__name__, (locator,), {"ensure_cache_path": lambda self: None})


class _KernelFolders(CompileResultCacheImpl):
    """The folders of a kernel's files: the first that can be written, and those only read."""

    # numba's first two are NUMBA_CACHE_DIR and the folder of the sources. It would ignore both
    # where they cannot be written, as in a container that has compiled the kernels at its build.
    read_only_locators = [
        _make_read_only_locator(locator) for locator in CompileResultCacheImpl._locator_classes[:2]
    ]
    _locator_classes = [*CompileResultCacheImpl._locator_classes, *read_only_locators]


class KernelCache(FunctionCache):
    """The cache of one kernel."""

    _impl_class = _KernelFolders

    def __init__(self, kernel):
        super().__init__(kernel)
        source = kernel.__code__.co_filename
        locators = (one.from_function(kernel, source) for one in _KernelFolders.read_only_locators)
        # In addition to the folder that is written, read NUMBA_CACHE_DIR, or else the package's.
        read = [one.get_cache_path() for one in locators if one is not None][:1]
        paths = [self.cache_path, *read]
        self._cache_file = _KernelFiles(dict.fromkeys(paths), self._impl.filename_base)

    def save_overload(self, sig, data):
        with contextlib.suppress(OSError):  # full disk or read-only folder
            super().save_overload(sig, data)


class _KernelFiles:
    """The files of one kernel in several folders, of which the first is written."""

    def __init__(self, paths, name):
        self._files = [_FolderFiles(path, name) for path in paths]

    def load(self, key):
        stored = (file.load(key) for file in self._files)
        return next((data for data in stored if data is not None), None)

    def save(self, key, data):
        self._files[0].save(key, data)


class _FolderFiles(IndexDataCacheFile):
    """The cache files of one kernel in a folder; a damaged file counts as missing."""

    def __init__(self, path, name):
        # numba stamps a cache with the source of one kernel (before 0.68 with its modification
        # time), but the helpers of a kernel are in other files. numba compares the version before
        # it unpickles the rest, which may name classes that no longer exist.
        super().__init__(path, name, source_stamp=None)
        self._version = self._version, sources_digest()

    def load(self, key):
        if not _sources_are_unchanged():
            return None
        try:
            stored_for, data = super().load(key) or (None, None)
        except Exception:  # truncated or unreadable file
            return None
        # Of two processes that compile at the same time one may have replaced the other's file.
        return data if stored_for == (self._version, key) else None

    def save(self, key, data):
        if _sources_are_unchanged():
            super().save(key, ((self._version, key), data))

    def _load_index(self):
        try:
            return super()._load_index()
        except Exception:  # truncated index: it is written again
            return {}


def _sources():
    """Files of all kernels, in the order of their names."""
    return sorted(Path(__file__).parent.rglob("*.py"))


@functools.cache
def sources_digest():
    """Digest of the sources of all kernels, as they were when it was first asked for."""
    names = "/".join(file.name for file in _sources())
    contents = b"".join(hashlib.sha256(file.read_bytes()).digest() for file in _sources())
    return hashlib.sha256(names.encode() + contents).hexdigest()


def _state_of_sources():
    """Size and modification time of each source."""
    return [(file.name, (stat := file.stat()).st_size, stat.st_mtime_ns) for file in _sources()]


_STATE_AT_IMPORT = _state_of_sources()


def _sources_are_unchanged():
    """Whether the sources are those that this process has imported.

    An update may replace them while the process runs. Its kernels must not be stored under the
    digest of the new sources, nor may it load kernels whose structs have other fields.
    """
    with contextlib.suppress(OSError):
        return _state_of_sources() == _STATE_AT_IMPORT
    return False


# Compiler of helpers whose optimisation is deferred to the kernel that they are linked into.
#
# numba optimises every function, generates its machine code, and does both again in every function
# that calls it. A deferred helper is called by kernels only, so both can wait for the kernel, which
# makes compilation of kernels with many helpers much faster. Helpers of inner loops are not
# deferred: they run faster if they have been optimised before they are inlined.


NUMBA_VERSION_RANGE = (0, 61), (0, 68)
"""First and last numba version with this library interface; others compile as usual."""


class DeferredLibrary(JITCodeLibrary):
    """The code of a deferred helper, which is linked into kernels and never run by itself."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        return 0

    @property
    def codegen(self):
        return self  # callers only use `set_env`

    def set_env(self, name, environment):
        """Do nothing: there is no machine code whose environment could be set."""


class DeferredCompiler(Compiler):
    """The default compiler, with a `DeferredLibrary` for its code."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        if NUMBA_VERSION_RANGE[0] <= numba.version_info[:2] <= NUMBA_VERSION_RANGE[1]:
            self.state.library = DeferredLibrary(self.state.targetctx.codegen(), "deferred")
