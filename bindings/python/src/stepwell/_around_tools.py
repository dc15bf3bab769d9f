"""What a tracer has around the call of a tool."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

from ._ffi import stepwell_ffi as _ffi
from ._record import Json

Around = Callable[[list[dict[str, Json]]], AbstractContextManager[object]]

_around: list[Around] = []


def set_around(around: Around) -> None:
    """Has each tool called within this, which is given the span of the call and that of its turn: see ``ToolTask.spans``."""
    _around[:] = [around]


def around(task: _ffi.ToolTask) -> AbstractContextManager[object]:
    """What a tool is called within."""
    return _around[0](task.spans()) if _around else contextlib.nullcontext()
