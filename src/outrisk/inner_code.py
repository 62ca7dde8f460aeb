"""Functions that only compiled code calls, optimised and made machine code once: as part of what Python calls.

numba does both for each function by itself, and again for every one that calls it: with calls of calls, more than a
third of what compiling took. What is exchanged here are private parts of it, so only in versions that this was tried
with (`TRIED`); in others these functions are compiled as numba does by itself, and all else is the same.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import _dynfunc, njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering

TRIED = numba.version_info.short in {(0, 68)}


class _Unfinished(JITCodeLibrary):  # type: ignore[misc]
    """Code to be linked into that of its callers as it is."""

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LowerInner(LoweringPass):  # type: ignore[misc]
    _name = "lower_inner"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """As numba's own, but for what would make a function executable: it is known to callers, and that is all."""
        from numba.core.compiler import _LowerResult  # private, too

        library = state.library = _Unfinished(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        NativeLowering().run_pass(state)
        lowered = state["cr"]
        function, env = lowered.fndesc, lowered.env
        stands_for = _dynfunc.make_function(function.lookup_module(), function.qualname, "", 0, env, (library,))
        state.targetctx.insert_user_function(stands_for, function, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = _LowerResult(function, lowered.call_helper, cfunc=stands_for, env=env)
        return True


class _Inner(CompilerBase):  # type: ignore[misc]
    def define_pipelines(self) -> list[Any]:
        """Numba's passes, one of them exchanged."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_LowerInner if each is NativeLowering else each, why) for each, why in passes.passes]
        passes._finalized = False
        passes.finalize()
        return [passes]


def inner(**options: Any) -> Any:
    """`njit` for functions that only compiled code calls; Python cannot call them."""
    if TRIED:
        options["pipeline_class"] = _Inner
    return njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)
