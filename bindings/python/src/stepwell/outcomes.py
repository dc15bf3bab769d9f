"""How a turn ends."""

from __future__ import annotations

import enum

from . import _ffi
from ._record import Json, Record, lifts, record
from .errors import TurnError


@record
class Outcome(Record):
    """How a turn ended."""


@record
class Success(Outcome):
    """The answer is whole."""


@record
class TurnLimit(Record):
    """A limit that a turn has reached; see ``Limits``."""


@record
class MaxToolRounds(TurnLimit):
    """The rounds of tools."""

    max: int
    """How many it may have."""


@record
class MaxToolCalls(TurnLimit):
    """The tool calls."""

    max: int
    """How many it may make."""


@record
class MaxTokens(TurnLimit):
    """The tokens."""

    max: int
    """How many it may use."""


@record
class MaxDuration(TurnLimit):
    """The time."""

    max_ms: int
    """How long it may take, in milliseconds."""


@record
class NoProgress(TurnLimit):
    """The model goes in a circle."""

    tool: str
    """The tool."""
    times: int
    """How often it was asked for with the same arguments."""


@record
class MaxAnswerBytes(TurnLimit):
    """What one answer may bring."""

    max: int
    """How many bytes."""


@record
class MaxAnswerCalls(TurnLimit):
    """The calls of one answer."""

    max: int
    """How many it may leave without a result."""


@record
class OtherLimit(TurnLimit):
    """A limit that this version does not know."""

    name: str
    """Its name."""


@record
class LimitReached(Outcome):
    """The model asked for tools beyond a limit of the turn; what was said so far stands."""

    limit: TurnLimit
    """Which."""
    message: str
    """The same in a sentence."""


@record
class Cancelled(Outcome):
    """The person, or the agent, stopped it."""


@record
class Truncated(Outcome):
    """The stream ended before the answer did. What came of it is kept."""


class ApiErrorKind(str, enum.Enum):
    """The kinds of a provider's errors that an app acts on."""

    AUTHENTICATION = "authentication"
    """The key is missing, wrong or not allowed to do this: ask the person for another."""
    RATE_LIMIT = "rate_limit"
    """Too many requests, or the quota is used up: wait."""
    BAD_REQUEST = "bad_request"
    """The request is at fault: sending it again will not help."""
    NOT_FOUND = "not_found"
    """The model or the address does not exist."""
    UNAVAILABLE = "unavailable"
    """The provider is at fault: try again later."""
    OVERLOADED = "overloaded"
    """The provider or the model has too much to do: try again later, or another model."""
    CONTEXT_TOO_LONG = "context_too_long"
    """The conversation is longer than the model can read: shorten it."""
    CONTENT_FILTERED = "content_filtered"
    """The provider's filter stopped the request or the answer."""


class Deadline(str, enum.Enum):
    """The things that may take too long."""

    SILENCE = "silence"
    """The model's silence."""
    TURN = "turn"
    """The turn as a whole."""


@record
class Failure(Record):
    """Why a turn failed: the peer's fault, or the transport's."""


@record
class ApiFailure(Failure):
    """The provider answered with an HTTP error."""

    kind: ApiErrorKind
    """What kind of error it is."""
    status: int
    """The HTTP status."""
    message: str
    """The provider's own words."""
    code: str | None
    """The provider's own code or type for it."""
    retry_after_ms: int | None
    """The wait that the answer's body asks for before the next try, in milliseconds."""


@record
class ConnectionFailure(Failure):
    """The request could not be sent, or the connection broke."""

    message: str
    """What went wrong."""


@record
class UnexpectedBody(Failure):
    """The answer is no stream: a web page, say."""

    content_type: str
    """What the answer says it is."""
    excerpt: str
    """How it begins."""


@record
class StreamFailure(Failure):
    """The stream breaks its format or the protocol."""

    message: str
    """What is wrong, and where."""


@record
class ReportedFailure(Failure):
    """The stream itself reported a failure."""

    message: str
    """The stream's own words."""
    code: str | None
    """The stream's own code for it."""
    kind: ApiErrorKind | None
    """What kind of error it is, where its code or its words say."""


@record
class TimedOut(Failure):
    """It took too long."""

    deadline: Deadline
    """What took too long."""


@record
class RunNotCreated(Failure):
    """The backend did not create the next run. The tools' results are in the history: a new turn sends them."""

    message: str
    """The backend's words."""


@record
class NotStored(Failure):
    """What was said could not be stored."""

    message: str
    """The store's words."""


@record
class ContextTooLong(Failure):
    """The conversation does not fit the model's context window: the request was not sent."""

    tokens: int
    """How many tokens the request would have had, as far as can be told."""
    window: int
    """How many it may have: the model's window, without what is kept for the answer."""


@record
class LimitFailure(Failure):
    """The model asked for tools beyond a limit of the turn, and the policy is to fail."""

    limit: TurnLimit
    """Which."""


@record
class OtherFailure(Failure):
    """A failure of a kind that this version does not know."""

    message: str
    """What went wrong."""


@record
class Failed(Outcome):
    """It went wrong. What was said so far is kept."""

    failure: Failure
    """Why."""
    message: str
    """The same in a sentence, for the person."""
    transient: bool
    """Whether trying again, from the start, may help."""


@record
class TokenUsage(Record):
    """How many tokens a turn used, over all its hops. An absent count is unknown, not zero."""

    input_tokens: int | None = None
    """What was sent."""
    output_tokens: int | None = None
    """What the model said."""
    total_tokens: int | None = None
    """Both together, as the provider counts them."""
    reasoning_tokens: int | None = None
    """What of the output was reasoning."""
    cached_input_tokens: int | None = None
    """What of the input came from the provider's cache."""
    cache_write_input_tokens: int | None = None
    """What of the input was put into the provider's cache."""


@record
class Finished(Record):
    """A turn that is over."""

    outcome: Outcome
    """How it ended."""
    text: str
    """All that the model said in it."""
    messages: list[dict[str, Json]]
    """The conversation after it: AG-UI messages."""
    usage: TokenUsage
    """What it cost, over all its hops."""
    hops: int
    """How many streams it took."""

    def raise_for_failure(self) -> Finished:
        """Itself, if the answer is whole or a limit ended it; else raises ``TurnError`` with what to do."""
        if told := _trouble(self.outcome):
            raise TurnError(self.outcome, *told)
        return self

    def _repr_markdown_(self) -> str:
        """The turn, for a notebook."""
        from .display import TurnCard

        return TurnCard.of_finished(self).to_markdown()

    def _ipython_display_(self) -> None:
        from .display import display_once

        display_once(self)


_ADVICE = {
    ApiErrorKind.AUTHENTICATION: "give another key",
    ApiErrorKind.RATE_LIMIT: "wait, or see whether the quota is used up",
    ApiErrorKind.BAD_REQUEST: "change the request: sending it again will not help",
    ApiErrorKind.NOT_FOUND: "look at the model's name and the address",
    ApiErrorKind.UNAVAILABLE: "try again later",
    ApiErrorKind.OVERLOADED: "try again later, or another model",
    ApiErrorKind.CONTEXT_TOO_LONG: "shorten the conversation, or set `ContextGuard(at_limit=\"trim\")`",
    ApiErrorKind.CONTENT_FILTERED: "ask in other words",
}


def _trouble(outcome: Outcome) -> tuple[str, str] | None:
    """What is wrong with an outcome and what to do, if something is."""
    if isinstance(outcome, (Success, LimitReached)):
        return None
    if isinstance(outcome, Cancelled):
        return "the turn was cancelled", "send the message again if that was not meant"
    if isinstance(outcome, Truncated):
        return "the stream ended before the answer did", "take what came as a part, or send the message again"
    if not isinstance(outcome, Failed):
        return f"the turn ended with {outcome!r}", "update Stepwell: this version does not know that end"
    kind = getattr(outcome.failure, "kind", None)
    fallback = "send the message again" if outcome.transient else "see `outcome.failure`; trying again will not help"
    return outcome.message, _ADVICE.get(kind, fallback) if isinstance(kind, ApiErrorKind) else fallback


for _generated, _ours in (
    (_ffi.Outcome.SUCCESS, Success),
    (_ffi.Outcome.LIMIT_REACHED, LimitReached),
    (_ffi.Outcome.CANCELLED, Cancelled),
    (_ffi.Outcome.TRUNCATED, Truncated),
    (_ffi.Outcome.FAILED, Failed),
    (_ffi.Failure.API, ApiFailure),
    (_ffi.Failure.CONNECTION, ConnectionFailure),
    (_ffi.Failure.UNEXPECTED_BODY, UnexpectedBody),
    (_ffi.Failure.STREAM, StreamFailure),
    (_ffi.Failure.REPORTED, ReportedFailure),
    (_ffi.Failure.TIMED_OUT, TimedOut),
    (_ffi.Failure.RUN_NOT_CREATED, RunNotCreated),
    (_ffi.Failure.NOT_STORED, NotStored),
    (_ffi.Failure.LIMIT_REACHED, LimitFailure),
    (_ffi.Failure.CONTEXT_TOO_LONG, ContextTooLong),
    (_ffi.Failure.OTHER, OtherFailure),
    (_ffi.TurnLimit.MAX_TOOL_ROUNDS, MaxToolRounds),
    (_ffi.TurnLimit.MAX_TOOL_CALLS, MaxToolCalls),
    (_ffi.TurnLimit.MAX_TOKENS, MaxTokens),
    (_ffi.TurnLimit.MAX_DURATION, MaxDuration),
    (_ffi.TurnLimit.NO_PROGRESS, NoProgress),
    (_ffi.TurnLimit.MAX_ANSWER_BYTES, MaxAnswerBytes),
    (_ffi.TurnLimit.MAX_ANSWER_CALLS, MaxAnswerCalls),
    (_ffi.TurnLimit.OTHER, OtherLimit),
    (_ffi.ApiErrorKind, ApiErrorKind),
    (_ffi.Deadline, Deadline),
    (_ffi.TokenUsage, TokenUsage),
    (_ffi.Finished, Finished),
):
    lifts(_generated, _ours)
