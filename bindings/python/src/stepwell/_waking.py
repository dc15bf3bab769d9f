"""Wakes a coroutine that waits for the library, instead of uniffi's own code, which raises on a thread of the library
if the loop was closed meanwhile: after Ctrl-C, say."""

from __future__ import annotations

import contextlib

from ._ffi import stepwell_ffi as _ffi


def _wake(handle: int, code: int) -> None:
    loop, future = _ffi._UniffiContinuationHandleMap.remove(handle)
    # On a closed loop no coroutine waits any more.
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(_ffi._uniffi_set_future_result, future, code)


_ffi._uniffi_continuation_callback = _ffi._UNIFFI_RUST_FUTURE_CONTINUATION_CALLBACK(_wake)
