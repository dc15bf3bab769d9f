"""The updates of a turn, and how it ends.

A loop over a turn yields them. Updates of the turn itself (``Started``, ``ToolCallUpdate``, ``Completed`` …) come alongside the
AG-UI events of the streams: text, reasoning, tool calls, state and the rest, with AG-UI's names. All can be matched by
class::

    match update:
        case TextMessageContent(delta=delta):
            print(delta, end="")
        case ToolCallUpdate(name=name, status=ToolCallStatus.EXECUTING):
            print(f"running {name}")
"""

from ._ffi import events as _events
from ._ffi import outcomes as _outcomes
from ._ffi.events import *
from ._ffi.outcomes import *

Update = Event
"""An update: the base of all of them."""

__all__ = ["Update"]
__all__ += _events.__all__
__all__ += _outcomes.__all__
