"""The context that a tracer puts around the call of a tool."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

from ._ffi import stepwell_ffi as _ffi
from ._record import Json

Around = Callable[[list[dict[str, Json]]], AbstractContextManager[object]]

_around: list[Around] = []


def set_around(around: Around) -> None:
    """Sets the context that each tool is called within. It gets the spans of the call and of its turn: see
    ``ToolTask.spans``."""
    _around[:] = [around]


def around(task: _ffi.ToolTask) -> AbstractContextManager[object]:
    """Returns the context that a tool is called within."""
    return _around[0](task.spans()) if _around else contextlib.nullcontext()
