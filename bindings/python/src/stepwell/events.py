"""What happens in a turn.

Those of the turn itself (``Started``, ``ToolCallUpdate``, ``Completed`` …) stand beside the AG-UI events of the
streams: text, reasoning, tool calls, state and the rest, with AG-UI's names. All can be matched by class::

    match event:
        case TextMessageContent(delta=delta):
            print(delta, end="")
        case ToolCallUpdate(name=name, status=ToolCallStatus.EXECUTING):
            print(f"running {name}")
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from . import _ffi
from ._record import Json, Record, lift, lifts, record
from .outcomes import Outcome


@record
class Event(Record):
    """Something that happens in a turn. From ``Started`` to ``Completed`` it is one unbroken turn, however many hops."""


@record
class EventCommon(Record):
    """What any event of a stream may carry besides its own fields."""

    timestamp: int | None = None
    """When it happened: milliseconds since the epoch by convention."""
    raw_event: Json = None
    """The provider's own event that this one was made from."""
    metadata: dict[str, Json] | None = None
    """What the sender attached."""
    subagent_run_id: str | None = None
    """The subagent that it belongs to; absent for the parent agent."""
    extra: dict[str, Json] | None = None
    """Fields that this version does not know."""


@record
class CallKey(Record):
    """A tool call's place: the hop that asked for it and its position among that hop's calls, both from 0."""

    hop: int
    """The hop that asked for it, from 0."""
    index: int
    """Which call of that hop, from 0."""


class ToolCallStatus(str, enum.Enum):
    """Where a tool call stands."""

    STREAMING = "streaming"
    """Its arguments are still coming."""
    PENDING = "pending"
    """Its arguments are whole; it has not begun."""
    AWAITING_APPROVAL = "awaiting_approval"
    """The user is asked."""
    EXECUTING = "executing"
    """The app runs it."""
    DEFERRED = "deferred"
    """Its result comes later: in minutes, or days."""
    COMPLETED = "completed"
    """It gave a result."""
    FAILED = "failed"
    """It gave an error."""
    DENIED = "denied"
    """The user said no."""
    CANCELLED = "cancelled"
    """It was cancelled."""


class ToolFailureKind(str, enum.Enum):
    """The kinds of tool failures."""

    ERROR = "error"
    """The tool ran and gave an error."""
    PANICKED = "panicked"
    """The tool's code broke off with an exception that it does not declare."""
    TIMED_OUT = "timed_out"
    """The tool took longer than it may."""
    REJECTED = "rejected"
    """The call was not run: no such tool, or arguments that do not fit."""
    DENIED = "denied"
    """The user said no."""
    CANCELLED = "cancelled"
    """The turn, or this call, was cancelled."""
    OUTCOME_UNKNOWN = "outcome_unknown"
    """The app died while the tool ran: whether it did its work is not known."""
    LIMIT_REACHED = "limit_reached"
    """The call was not run since a limit of the turn was reached."""
    REPEATED = "repeated"
    """The call was not run since the model had asked for the same again and again."""


@record
class ToolOutput(Record):
    """What a tool gave back."""

    content: str
    """What the model is shown."""


@record
class ToolFailure(Record):
    """Why a tool call gave nothing back; the model is shown the message."""

    kind: ToolFailureKind
    """What kind of failure it is."""
    message: str
    """What the model is shown."""


@record
class Interrupt(Record):
    """Something an agent asks the user before it can go on."""

    id: str
    """What the answer is given by."""
    reason: str
    """The kind of question, as the agent names it."""
    message: str | None
    """The question, for the user."""
    tool_call_id: str | None
    """The tool call it is about."""
    response_schema: dict[str, Json] | None
    """The JSON Schema of the answer."""
    expires_at: str | None
    """When the question lapses, as an ISO 8601 time."""
    metadata: dict[str, Json] | None
    """What else the agent says of it."""
    subagent_run_id: str | None
    """The subagent that asks, if one does."""


class TextMessageRole(str, enum.Enum):
    """The role of a text message."""

    DEVELOPER = "developer"
    """Whoever made the app."""
    SYSTEM = "system"
    """The app itself."""
    ASSISTANT = "assistant"
    """The model."""
    USER = "user"
    """The user."""


class EncryptedValueSubtype(str, enum.Enum):
    """What an encrypted value belongs to."""

    TOOL_CALL = "tool-call"
    """It belongs to a tool call."""
    MESSAGE = "message"
    """It belongs to a message."""


@record
class Started(Event):
    """The turn begins."""

    thread_id: str
    """The conversation."""
    run_id: str
    """The turn: the run id of its first hop."""


@record
class HopStarted(Event):
    """The turn goes on with another stream. Nothing to show; for logs."""

    hop: int
    """The hop, from 1."""
    run_id: str
    """The hop's own run."""


@record
class ToolCallUpdate(Event):
    """A tool call moved on."""

    call: CallKey
    """Its place in the run."""
    tool_call_id: str
    """The provider's id for it."""
    name: str
    """The tool."""
    status: ToolCallStatus
    """Where it stands."""
    result: ToolOutput | ToolFailure | None
    """What came of it, once it is done."""


@record
class ArgumentsChange(Record):
    """What new pieces of a tool call's arguments changed in their value."""

    path: str
    """A JSON Pointer (RFC 6901), ``""`` for the whole."""


@record
class AddChange(ArgumentsChange):
    """A member, or the next element of a list, begins. A string, list or object is empty, and grows until its end."""

    value: Json
    """What is new there."""


@record
class AppendChange(ArgumentsChange):
    """A string grows."""

    text: str
    """What the text there goes on with."""


@record
class EndChange(ArgumentsChange):
    """A string, list or object is whole."""


@record
class ReplaceChange(ArgumentsChange):
    """The arguments are complete, and a key that came twice has another value than was said."""

    value: Json
    """What is there now."""


@record
class UnknownChange(Record):
    """A change that this version does not know."""

    change: dict[str, Json]
    """All of it."""


@record
class PartialArguments(Event):
    """What new pieces of a tool call's arguments say, parsed; only with ``RunConfig(partial_arguments=True)``.

    Applied in order, beginning with ``None``, the changes make the value of what came so far. A change of the whole
    (path ``""``) begins anew.
    """

    call: CallKey
    """The call."""
    tool_call_id: str
    """The provider's id for the call."""
    changes: list[ArgumentsChange | UnknownChange]
    """What the piece changed, in order."""
    stopped: str | None
    """Why the arguments are read no further, once they are not: they are no JSON."""


@record
class Retrying(Event):
    """A request failed, and is tried again."""

    attempt: int
    """The try that is to come, from 1."""
    delay_ms: int
    """How long until then, in milliseconds."""
    reason: str
    """Why."""


@record
class Interrupted(Event):
    """The agent asks the user; the turn rests until it is resumed."""

    interrupts: list[Interrupt]
    """The questions."""


@record
class AnswerDropped(Event):
    """An answer came to an effect that is no longer pending. It changed nothing."""

    effect: str
    """The effect's id."""


@record
class WarningEvent(Event):
    """Something odd that did not stop the turn."""

    message: str
    """What."""


@record
class UnknownToolCall(Event):
    """The stream had something for a tool call that never began, or has ended. It was dropped, and the stream goes on."""

    tool_call_id: str
    """The provider's id for the call."""


class SteeringRefusal(str, enum.Enum):
    """Why a message that the user sent during the turn was not taken."""

    TURN_OVER = "turn_over"
    """The turn ended before the message could be taken in: start another one with it."""
    DISPOSED = "disposed"
    """The app goes away: send it where the turn goes on."""
    QUEUE_FULL = "queue_full"
    """Too many messages wait already."""
    DUPLICATE_ID = "duplicate_id"
    """The conversation, or a message that waits, has the same id."""
    NOT_FROM_USER = "not_from_user"
    """Only the user's own messages can be sent so."""
    OTHER = "other"
    """A reason that this version does not know; the event's ``explanation`` says it."""


@record
class SteeringTaken(Event):
    """What the user typed during the turn is in the conversation now, and this hop answers it."""

    message_id: str
    """The message."""
    hop: int
    """The hop."""


@record
class SteeringRefused(Event):
    """What the user typed during the turn was not taken, and is given back. It may come after the end of the turn."""

    message: dict[str, Json]
    """The message, whole."""
    reason: SteeringRefusal
    """Why."""
    explanation: str
    """The same in a sentence."""


@record
class WaitingForNetwork(Event):
    """There is no network: the next request waits for it."""

    up_to_ms: int
    """How long at most, in milliseconds."""


@record
class StreamResumed(Event):
    """A stream that broke off is open again: what follows goes on where it stopped."""

    hop: int
    """The hop."""
    attempt: int
    """The try, from 1."""


@record
class ContextNearlyFull(Event):
    """The conversation nearly fills the model's context window; said once a turn. The model is told too."""

    tokens: int
    """How many tokens the request has, as far as can be told."""
    window: int
    """How many it may have: the model's window, without what is kept for the answer."""


@record
class ContextTrimmed(Event):
    """The turn goes on without some messages, which did not fit the model's context window. The history has them."""

    left_out: list[str]
    """The messages that the requests do not carry any more."""
    tokens: int
    """How many tokens the request has now, as far as can be told."""


@record
class Completed(Event):
    """The turn is over."""

    outcome: Outcome
    """How it ended."""


@record
class TextMessageContent(Event):
    """A piece of a text message. Neighbouring pieces of one message come as one."""

    message_id: str
    """The message."""
    delta: str
    """The piece."""


@record
class ToolCallArgs(Event):
    """A piece of a tool call's arguments."""

    tool_call_id: str
    """The call."""
    delta: str
    """A piece of JSON text."""


@record
class ReasoningMessageContent(Event):
    """A piece of a reasoning message."""

    message_id: str
    """The message."""
    delta: str
    """The piece."""


@record
class TextMessageStart(Event):
    """A text message begins, or goes on after its end."""

    message_id: str
    """The message."""
    role: TextMessageRole | None
    """Who speaks; absent is the assistant."""
    name: str | None
    """Who of several speaks."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class TextMessageEnd(Event):
    """A text message is whole."""

    message_id: str
    """The message."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ToolCallStart(Event):
    """A tool call begins."""

    tool_call_id: str
    """The call."""
    tool_call_name: str
    """The tool."""
    parent_message_id: str | None
    """The assistant message that the call belongs to."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ToolCallEnd(Event):
    """A tool call's arguments are whole."""

    tool_call_id: str
    """The call."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ToolCallResult(Event):
    """A tool call was answered by the agent itself."""

    message_id: str
    """The tool message that holds the answer."""
    tool_call_id: str
    """The call."""
    content: str
    """The text of the answer."""
    parts: list[Json] | None
    """The whole answer where it is more than text: content parts."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class StepStarted(Event):
    """A step of the agent begins."""

    step_name: str
    """The step."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class StepFinished(Event):
    """A step of the agent ended."""

    step_name: str
    """The step."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class StateSnapshot(Event):
    """The shared state, whole."""

    snapshot: Json
    """The state."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class StateDelta(Event):
    """A change of the shared state."""

    delta: list[Json]
    """The change: operations of JSON Patch (RFC 6902)."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class MessagesSnapshot(Event):
    """The conversation, whole."""

    messages: list[Json]
    """The messages."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ActivitySnapshot(Event):
    """An activity, whole."""

    message_id: str
    """The activity message."""
    activity_type: str
    """The kind of activity."""
    content: dict[str, Json]
    """What to show."""
    replace: bool | None
    """Whether an earlier one is replaced; absent is yes."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ActivityDelta(Event):
    """A change of an activity."""

    message_id: str
    """The activity message."""
    activity_type: str
    """The kind of activity."""
    patch: list[Json]
    """The change: operations of JSON Patch (RFC 6902)."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ReasoningStart(Event):
    """The model begins to think."""

    message_id: str
    """The span of thinking."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ReasoningEnd(Event):
    """The model stops thinking."""

    message_id: str
    """The span of thinking."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ReasoningMessageStart(Event):
    """A reasoning message begins, or goes on after its end."""

    message_id: str
    """The message."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ReasoningMessageEnd(Event):
    """A reasoning message is whole."""

    message_id: str
    """The message."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class ReasoningEncryptedValue(Event):
    """What the provider wants back unchanged with a message or a tool call."""

    subtype: EncryptedValueSubtype
    """What it belongs to."""
    entity_id: str
    """The id of the message or tool call."""
    encrypted_value: str
    """The value."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class SubagentStarted(Event):
    """A subagent begins."""

    subagent_run_id: str
    """The subagent's run."""
    name: str
    """Its name."""
    description: str | None
    """What it is for."""
    parent_subagent_run_id: str | None
    """The subagent that started it."""
    parent_tool_call_id: str | None
    """The tool call that started it."""
    parent_message_id: str | None
    """The message that started it."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class SubagentFinished(Event):
    """A subagent ended as it should."""

    subagent_run_id: str
    """The subagent's run."""
    result: Json
    """What it gives back."""
    outcome: dict[str, Json] | None
    """How it ended; absent is success."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class SubagentError(Event):
    """A subagent failed."""

    subagent_run_id: str
    """The subagent's run."""
    message: str
    """What went wrong."""
    code: str | None
    """The agent's code for it."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class Raw(Event):
    """A provider's own event, passed through."""

    event: Json
    """The event."""
    source: str | None
    """Where it is from."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class Custom(Event):
    """An event that agent and app agreed on."""

    name: str
    """Its name."""
    value: Json
    """Its value."""
    common: EventCommon | None = None
    """What every AG-UI event may bear."""


@record
class UnknownEvent(Event):
    """An event of a type that this version does not know, kept as it came."""

    kind: str
    """Its ``type``."""
    event: dict[str, Json]
    """All of it."""


for _generated, _ours in (
    (_ffi.Event.STARTED, Started),
    (_ffi.Event.HOP_STARTED, HopStarted),
    (_ffi.Event.TOOL_CALL, ToolCallUpdate),
    (_ffi.Event.PARTIAL_ARGUMENTS, PartialArguments),
    (_ffi.ArgumentsChange.ADD, AddChange),
    (_ffi.ArgumentsChange.APPEND, AppendChange),
    (_ffi.ArgumentsChange.END, EndChange),
    (_ffi.ArgumentsChange.REPLACE, ReplaceChange),
    (_ffi.ArgumentsChange.UNKNOWN, UnknownChange),
    (_ffi.Event.RETRYING, Retrying),
    (_ffi.Event.INTERRUPTED, Interrupted),
    (_ffi.Event.ANSWER_DROPPED, AnswerDropped),
    (_ffi.Event.WARNING, WarningEvent),
    (_ffi.Event.UNKNOWN_TOOL_CALL, UnknownToolCall),
    (_ffi.Event.STEERING_TAKEN, SteeringTaken),
    (_ffi.Event.STEERING_REFUSED, SteeringRefused),
    (_ffi.Event.WAITING_FOR_NETWORK, WaitingForNetwork),
    (_ffi.Event.STREAM_RESUMED, StreamResumed),
    (_ffi.Event.CONTEXT_NEARLY_FULL, ContextNearlyFull),
    (_ffi.Event.CONTEXT_TRIMMED, ContextTrimmed),
    (_ffi.Event.COMPLETED, Completed),
    (_ffi.Event.TEXT_MESSAGE_CONTENT, TextMessageContent),
    (_ffi.Event.TOOL_CALL_ARGS, ToolCallArgs),
    (_ffi.Event.REASONING_MESSAGE_CONTENT, ReasoningMessageContent),
    (_ffi.Event.TEXT_MESSAGE_START, TextMessageStart),
    (_ffi.Event.TEXT_MESSAGE_END, TextMessageEnd),
    (_ffi.Event.TOOL_CALL_START, ToolCallStart),
    (_ffi.Event.TOOL_CALL_END, ToolCallEnd),
    (_ffi.Event.TOOL_CALL_RESULT, ToolCallResult),
    (_ffi.Event.STEP_STARTED, StepStarted),
    (_ffi.Event.STEP_FINISHED, StepFinished),
    (_ffi.Event.STATE_SNAPSHOT, StateSnapshot),
    (_ffi.Event.STATE_DELTA, StateDelta),
    (_ffi.Event.MESSAGES_SNAPSHOT, MessagesSnapshot),
    (_ffi.Event.ACTIVITY_SNAPSHOT, ActivitySnapshot),
    (_ffi.Event.ACTIVITY_DELTA, ActivityDelta),
    (_ffi.Event.REASONING_START, ReasoningStart),
    (_ffi.Event.REASONING_END, ReasoningEnd),
    (_ffi.Event.REASONING_MESSAGE_START, ReasoningMessageStart),
    (_ffi.Event.REASONING_MESSAGE_END, ReasoningMessageEnd),
    (_ffi.Event.REASONING_ENCRYPTED_VALUE, ReasoningEncryptedValue),
    (_ffi.Event.SUBAGENT_STARTED, SubagentStarted),
    (_ffi.Event.SUBAGENT_FINISHED, SubagentFinished),
    (_ffi.Event.SUBAGENT_ERROR, SubagentError),
    (_ffi.Event.RAW, Raw),
    (_ffi.Event.CUSTOM, Custom),
    (_ffi.Event.UNKNOWN, UnknownEvent),
    (_ffi.EventCommon, EventCommon),
    (_ffi.CallKey, CallKey),
    (_ffi.ToolCallStatus, ToolCallStatus),
    (_ffi.ToolFailureKind, ToolFailureKind),
    (_ffi.SteeringRefusal, SteeringRefusal),
    (_ffi.ToolResult.FINISHED, ToolOutput),
    (_ffi.ToolResult.FAILED, ToolFailure),
    (_ffi.Interrupt, Interrupt),
    (_ffi.TextMessageRole, TextMessageRole),
    (_ffi.EncryptedValueSubtype, EncryptedValueSubtype),
):
    lifts(_generated, _ours)

# Most events are these, so they go a shorter way.
_DELTAS: dict[type, Callable[[Any], Event]] = {
    _ffi.Event.TEXT_MESSAGE_CONTENT: lambda event: TextMessageContent(event.message_id, event.delta),
    _ffi.Event.TOOL_CALL_ARGS: lambda event: ToolCallArgs(event.tool_call_id, event.delta),
    _ffi.Event.REASONING_MESSAGE_CONTENT: lambda event: ReasoningMessageContent(event.message_id, event.delta),
}


def lift_event(event: _ffi.Event) -> Event:
    """Our form of an event."""
    delta = _DELTAS.get(type(event))
    lifted: Event = delta(event) if delta else lift(event)
    return lifted
