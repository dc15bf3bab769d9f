"""How a turn ends."""

from __future__ import annotations

import enum

from . import _ffi
from ._record import Json, Record, lift, lifts, lower, record
from .errors import TURN_ERRORS, TurnError


class ProblemKind(str, enum.Enum):
    """What a problem is, so that an app can act on it. Each has its exception: ``AuthenticationError``, …"""

    AUTHENTICATION = "authentication"
    """The key is missing, wrong, or not allowed to do this."""
    RATE_LIMIT = "rate_limit"
    """Too many requests, or the quota is used up."""
    INVALID_REQUEST = "invalid_request"
    """The request is at fault."""
    NOT_FOUND = "not_found"
    """The model or the address does not exist."""
    SERVER_ERROR = "server_error"
    """The provider is at fault."""
    OVERLOADED = "overloaded"
    """The provider or the model has too much to do."""
    CONTEXT_TOO_LONG = "context_too_long"
    """The conversation is longer than the model can read."""
    CONTENT_FILTERED = "content_filtered"
    """The provider's filter stopped the request or the answer."""
    REFUSED = "refused"
    """The model refused to answer."""
    CUT = "cut"
    """The answer was cut off at the model's limit of tokens."""
    LIMIT_REACHED = "limit_reached"
    """A limit of the turn was reached, or one of the agent's own."""
    CONNECTION_FAILED = "connection_failed"
    """The model's server cannot be reached, or the connection broke."""
    TIMED_OUT = "timed_out"
    """It took too long."""
    UNREADABLE = "unreadable"
    """What came is no answer in the provider's format."""
    AGENT_FAILED = "agent_failed"
    """The agent said that its run failed, and not why in words that are known."""
    NOT_STORED = "not_stored"
    """What was said could not be stored."""
    STOPPED = "stopped"
    """The user, or the agent, stopped it."""
    OTHER = "other"
    """Something that this version does not know."""


@record
class Problem(Record):
    """What kept a turn from a whole answer."""

    kind: ProblemKind
    """By this an app acts."""
    message: str
    """What is wrong, in a sentence."""
    advice: str
    """What to do about it."""
    retryable: bool
    """Whether the same may go well another time."""


@record
class Outcome(Record):
    """How a turn ended."""

    @property
    def problem(self) -> Problem | None:
        """What kept the turn from a whole answer; ``None`` if the answer is whole."""
        problem: Problem | None = lift(_ffi.problem_of(lower(self)))
        return problem


@record
class Success(Outcome):
    """The answer is whole."""


class IncompleteReason(str, enum.Enum):
    """Why a model stopped before its answer was whole."""

    LENGTH = "length"
    """The answer was cut off at the most tokens that it may have, or that the model can read and write."""
    CONTENT_FILTER = "content_filter"
    """The provider's filter stopped it."""
    REFUSAL = "refusal"
    """The model refused to answer."""
    LIMIT = "limit"
    """The agent came to a limit of its own."""


@record
class Incomplete(Outcome):
    """The model stopped before its answer was whole. What it said stands."""

    reason: IncompleteReason
    """Why."""
    message: str
    """The same in a sentence."""


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
    """The user, or the agent, stopped it."""


@record
class Truncated(Outcome):
    """The stream ended before the answer did. What came of it is kept."""


class ApiErrorKind(str, enum.Enum):
    """The kinds of a provider's errors that an app acts on."""

    AUTHENTICATION = "authentication"
    """The key is missing, wrong or not allowed to do this: ask the user for another."""
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
class AttachmentRefused(Failure):
    """The user attached what the provider does not take: the request was not sent."""

    message: str
    """What it does not take, and what to do."""


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
    """The same in a sentence, for the user."""
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
        """Itself, if the answer is whole; else raises the ``TurnError`` of the kind, with what to do."""
        if problem := self.outcome.problem:
            raise TURN_ERRORS.get(problem.kind.value, TurnError)(self, problem)
        return self

    def _repr_markdown_(self) -> str:
        """The turn, for a notebook."""
        from .display import TurnCard

        return TurnCard.of_finished(self).to_markdown()

    def _ipython_display_(self) -> None:
        from .display import display_once

        display_once(self)


for _generated, _ours in (
    (_ffi.ProblemKind, ProblemKind),
    (_ffi.Problem, Problem),
    (_ffi.Incomplete, IncompleteReason),
    (_ffi.Outcome.SUCCESS, Success),
    (_ffi.Outcome.INCOMPLETE, Incomplete),
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
    (_ffi.Failure.ATTACHMENT_REFUSED, AttachmentRefused),
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
