"""The events of a turn.

Events of the turn itself (``Started``, ``ToolCallUpdate``, ``Completed`` …) come alongside the AG-UI events of the
streams: text, reasoning, tool calls, state and the rest, with AG-UI's names. All can be matched by class::

    match event:
        case TextMessageContent(delta=delta):
            print(delta, end="")
        case ToolCallUpdate(name=name, status=ToolCallStatus.EXECUTING):
            print(f"running {name}")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._record import lift
from ._ffi import events as _shapes
from ._ffi.events import *

__all__ = ["lift_event"]
__all__ += _shapes.__all__

# Most events are these, so they take a shorter path.
_DELTAS: dict[type, Callable[[Any], Event]] = {
    _ffi.Event.TEXT_MESSAGE_CONTENT: lambda event: TextMessageContent(event.message_id, event.delta),
    _ffi.Event.TOOL_CALL_ARGS: lambda event: ToolCallArgs(event.tool_call_id, event.delta),
    _ffi.Event.REASONING_MESSAGE_CONTENT: lambda event: ReasoningMessageContent(event.message_id, event.delta),
}


def lift_event(event: _ffi.Event) -> Event:
    """Converts an event to ours."""
    delta = _DELTAS.get(type(event))
    lifted: Event = delta(event) if delta else lift(event)
    return lifted
