"""What a run machine asks the app to do."""

from __future__ import annotations

import enum
from typing import Any, ClassVar

from . import _ffi
from ._record import Json, Record, lift, lifts, record
from .events import CallKey, Event, lift_event
from .outcomes import Outcome


@record
class Effect(Record):
    """Something to do. It stays pending under its id until it is answered."""

    id: str
    """What it is answered by."""


@record
class HttpRequest(Record):
    """An HTTP request to send."""

    _hidden: ClassVar[frozenset[str]] = frozenset({"headers", "body"})

    method: str
    """The HTTP method."""
    url: str
    """The address."""
    headers: list[tuple[str, str]]
    """Names are in lower case. One of them may hold the API key: do not log them."""
    body: bytes
    """JSON."""


@record
class ToolInvocation(Record):
    """A call that is to be run, checked against its tool's schema."""

    call: CallKey
    """Its place in the run."""
    tool_call_id: str
    """The provider's id for it."""
    name: str
    """The tool."""
    arguments: dict[str, Json]
    """The arguments, parsed."""
    raw_arguments: str
    """The arguments just as the model wrote them."""


@record
class CreateRun(Effect):
    """Create a run at the backend; answer with ``run_created`` or ``run_not_created``."""

    thread_id: str
    """The thread that the run is of."""
    parent_run_id: str | None
    """The run that the new one continues; a thread's first has none."""


@record
class OpenStream(Effect):
    """Send the request; answer with ``opened`` and then the body and its end, or ``refused`` or ``connection_failed``."""

    request: HttpRequest
    """The request to send."""


@record
class CloseStream(Effect):
    """Close the stream of this id, if it is open. Needs no answer."""


@record
class AskApproval(Effect):
    """Ask the user; answer with ``approve``, also with other arguments, or with ``deny``."""

    invocation: ToolInvocation
    """The call that the user is asked about."""


@record
class RunTool(Effect):
    """Run the tool; answer with ``tool_finished`` or ``tool_failed``, at once or after a ``tool_deferred``."""

    invocation: ToolInvocation
    """The call to run."""


@record
class CancelTool(Effect):
    """Stop the tool, or stop asking, under this id. Needs no answer."""


class TurnStatus(str, enum.Enum):
    """Where a stored turn stands."""

    STREAMING = "streaming"
    """It is under way."""
    COMPLETE = "complete"
    """It came to its end."""
    FAILED = "failed"
    """It failed."""
    CANCELLED = "cancelled"
    """It was stopped."""


@record
class Block(Record):
    """One finished piece of a turn."""

    sequence: int
    """Its number in the turn: 0, 1, 2 … without a gap, and none is ever used for two contents."""
    hop: int
    """The hop that it came in, from 0."""
    content: dict[str, Json]
    """What it holds; its ``type`` is ``text``, ``reasoning``, ``tool_use``, ``approval``, ``deferred``, ``tool_result``,
    ``resumed``, ``steering``, ``message``, ``messages``, ``state`` or ``usage``."""


@record
class Persist(Effect):
    """Store the blocks and the snapshot in one transaction; answer with ``persisted`` or ``persist_failed``."""

    turn: str
    """The turn that is written."""
    status: TurnStatus
    """How the turn stands."""
    blocks: list[Block]
    """What is new of it."""
    snapshot: str
    """What the turn is revived from."""
    outcome: Outcome | None
    """How the turn ended, with its last write."""
    stored_outcome: dict[str, Json] | str | None
    """The same as JSON, for an app that keeps each ``TurnRecord`` by itself."""


@record
class ContextMessage(Record):
    """A message of a conversation that does not fit the model's context."""

    message_id: str
    """The message."""
    tokens: int
    """How many tokens it takes: an estimate, on the same scale as those of the other messages."""


@record
class TrimContext(Effect):
    """Say which messages the next request is to carry, since all do not fit the model's context; answer with
    ``context_trimmed`` or ``context_not_trimmed``."""

    tokens: int
    """How many tokens the request would take."""
    window: int
    """How many it may take: the model's window, without what is kept for the answer."""
    messages: list[ContextMessage]
    """The messages of the request, oldest first."""


@record
class UnknownEffect(Effect):
    """Something that this version does not know."""

    name: str
    """What it is called in Stepwell's core."""


@record
class Outputs(Record):
    """All that came of one input."""

    events: list[Event]
    """What to show, in order."""
    effects: list[Effect]
    """What to do, in order."""
    wake_at_ms: int | None
    """When to call ``timeout``, in milliseconds since the epoch, if nothing happens before."""


for _generated, _ours in (
    (_ffi.Effect.CREATE_RUN, CreateRun),
    (_ffi.Effect.CLOSE_STREAM, CloseStream),
    (_ffi.Effect.OPEN_STREAM, OpenStream),
    (_ffi.Effect.ASK_APPROVAL, AskApproval),
    (_ffi.Effect.RUN_TOOL, RunTool),
    (_ffi.Effect.CANCEL_TOOL, CancelTool),
    (_ffi.Effect.PERSIST, Persist),
    (_ffi.Effect.TRIM_CONTEXT, TrimContext),
    (_ffi.ContextMessage, ContextMessage),
    (_ffi.Effect.UNKNOWN, UnknownEffect),
    (_ffi.HttpRequest, HttpRequest),
    (_ffi.ToolInvocation, ToolInvocation),
    (_ffi.Block, Block),
    (_ffi.TurnStatus, TurnStatus),
):
    lifts(_generated, _ours)


def lift_effect(effect: Any) -> Effect:
    """Our form of an effect."""
    if isinstance(effect, _ffi.Effect.OPEN_STREAM):
        request = effect.request
        headers = [(header.name, header.value) for header in request.headers]
        return OpenStream(effect.id, HttpRequest(request.method, request.url, headers, request.body))
    lifted: Effect = lift(effect)
    return lifted


def lift_outputs(outputs: _ffi.Outputs) -> Outputs:
    """Our form of a batch."""
    return Outputs(
        [lift_event(event) for event in outputs.events],
        [lift_effect(effect) for effect in outputs.effects],
        outputs.wake_at_ms,
    )
