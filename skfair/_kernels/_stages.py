"""A compiler for stages of kernels: as far as the kernel needs it, and no further.

numba optimises every function by itself, makes machine code of it, and does both again in every
function that calls it. A stage cannot be called from elsewhere, so that all of this can wait for
the kernel that it is linked into: one of many stages is then compiled much faster. What is called
once per candidate stays a part, which is faster if it has been optimised before it is inlined.
"""

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

KNOWN = (0, 61), (0, 68)
"""First and last version of numba whose libraries are known; others compile in the usual way."""


class StageLibrary(JITCodeLibrary):
    """The code of a stage, which is ready to be linked and is never run by itself."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        return 0

    @property
    def codegen(self):
        return self  # it is asked for nothing but `set_env`

    def set_env(self, name, environment):
        """What would be told to machine code."""


class StageCompiler(Compiler):
    """The usual compiler, but for where its code goes."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        if KNOWN[0] <= numba.version_info[:2] <= KNOWN[1]:
            self.state.library = StageLibrary(self.state.targetctx.codegen(), "stage")
