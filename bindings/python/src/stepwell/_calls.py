"""How the calls of the sans-IO API reach the library."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._record import lift
from .effects import Outputs, lift_outputs
from .errors import translated


def outputs_of(method: Callable[..., _ffi.Outputs], *arguments: Any) -> Outputs:
    """Returns the outputs of an input."""
    try:
        return lift_outputs(method(*arguments))
    except _ffi.StepwellError as error:
        raise translated(error) from None


def answer_of(method: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the result of another call."""
    try:
        return lift(method(*arguments))
    except _ffi.StepwellError as error:
        raise translated(error) from None


def at(now: datetime | None) -> datetime:
    """Returns the time, or the clock's."""
    return datetime.now(timezone.utc) if now is None else now
