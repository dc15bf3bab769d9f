"""The updates of a turn: what a loop over it yields.

``Update`` is the union of their classes, so a type checker knows whether a ``match`` has them all::

    match update:
        case TextUpdate(delta=delta):
            print(delta, end="")
        case ToolCallUpdate(name=name, status=ToolCallStatus.EXECUTING):
            print(f"running {name}")

The end of a turn is no update: a loop raises if the answer is incomplete, and ``await turn.result()`` has the result. The events of
a ``RunMachine`` are in ``stepwell.machine``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, Union

from ._ffi import events as _events
from ._ffi import outcomes as _outcomes
from ._ffi.events import *
from ._ffi.outcomes import *
from ._record import Json, Record, record


@record
class TextUpdate(Record):
    """A delta of the answer's text."""

    message_id: str
    """The message that the delta belongs to."""
    delta: str
    """The delta."""

    def to_json(self) -> dict[str, Json]:
        """Returns the update as the AG-UI event that it was."""
        return event_of(self).to_json()


@record
class ReasoningUpdate(Record):
    """A delta of the model's reasoning."""

    message_id: str
    """The message that the delta belongs to."""
    delta: str
    """The delta."""

    def to_json(self) -> dict[str, Json]:
        """Returns the update as the AG-UI event that it was."""
        return event_of(self).to_json()


@record
class AgUiUpdate(Record):
    """Any other AG-UI event: where a message begins and ends, a shared state, an activity, what an agent sends of its own."""

    event: Event
    """The event."""

    def to_json(self) -> dict[str, Json]:
        """Returns the event as JSON."""
        return self.event.to_json()


Update: TypeAlias = Union[
    TextUpdate,
    ReasoningUpdate,
    ToolCallUpdate,
    ToolArgumentsUpdate,
    ToolProgress,
    ToolPartialResult,
    OutputUpdate,
    OutputRefused,
    PendingUpdate,
    Interrupted,
    Started,
    HopStarted,
    Retrying,
    ModelChanged,
    WaitingForNetwork,
    StreamResumed,
    SteeringTaken,
    SteeringRefused,
    ContextNearlyFull,
    ContextTrimmed,
    HookRefused,
    WarningUpdate,
    AgUiUpdate,
]
"""An update of a turn."""

_CHANGED: dict[type, Callable[[Any], Update]] = {
    TextMessageContent: lambda event: TextUpdate(event.message_id, event.delta),
    ReasoningMessageContent: lambda event: ReasoningUpdate(event.message_id, event.delta),
    AnswerDropped: lambda event: WarningUpdate(f"an answer for `{event.effect}` came when none was awaited"),
    UnknownToolCall: lambda event: WarningUpdate(
        f"the stream had an event for the tool call `{event.tool_call_id}`, which is not open"
    ),
}
_KEPT = frozenset(Update.__args__)  # type: ignore[attr-defined]


def update_of(event: Event) -> Update | None:
    """Returns the update of an event; ``None`` for the end of the turn, which is its result."""
    kind = type(event)
    if kind in _CHANGED:
        return _CHANGED[kind](event)
    if kind in _KEPT:
        return event  # type: ignore[return-value]
    return None if kind is Completed else AgUiUpdate(event)


def event_of(update: Update | Event) -> Event:
    """Returns the event that an update comes from: the reverse of ``update_of``."""
    match update:
        case TextUpdate():
            return TextMessageContent(update.message_id, update.delta)
        case ReasoningUpdate():
            return ReasoningMessageContent(update.message_id, update.delta)
        case AgUiUpdate():
            return update.event
    return update


__all__ = ["AgUiUpdate", "ReasoningUpdate", "TextUpdate", "Update"]
__all__ += [name for name in _events.__all__ if name != "Completed"]
__all__ += _outcomes.__all__
