"""Compiler of helpers whose optimisation is deferred to the kernel that they are linked into.

numba optimises every function, generates its machine code, and does both again in every function
that calls it. A deferred helper is called by kernels only, so both can wait for the kernel, which
makes compilation of kernels with many helpers much faster. Helpers of inner loops are not deferred:
they run faster if they have been optimised before they are inlined.
"""

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

SUPPORTED_VERSIONS = (0, 61), (0, 68)
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
        if SUPPORTED_VERSIONS[0] <= numba.version_info[:2] <= SUPPORTED_VERSIONS[1]:
            self.state.library = DeferredLibrary(self.state.targetctx.codegen(), "deferred")
