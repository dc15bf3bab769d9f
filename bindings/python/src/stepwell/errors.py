"""What Stepwell raises: one tree below ``StepwellError``, with a class for each thing that an app may do about it."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ._ffi import stepwell_ffi as _ffi

if TYPE_CHECKING:
    from .outcomes import ModelName, Problem
    from .result import TurnResult

P = ParamSpec("P")
T = TypeVar("T")


class StepwellError(Exception):
    """A turn without a complete answer, or a call that cannot be done; the subclasses say why."""

    message: str
    """What went wrong, in a sentence without anything of the conversation."""
    advice: str
    """What to do about it."""
    provider: str | None
    """The name of the model's provider, with a fallback that of the model which was asked last; ``None`` where no turn is
    concerned."""
    model: str | None
    """The name of the model that was asked last; ``None`` where no turn had begun."""
    status: int | None
    """The HTTP status of the provider's answer, if it answered with an error."""
    retryable: bool
    """Whether the same may succeed another time."""
    result: TurnResult[Any] | None
    """The turn so far, with what was said; ``None`` if none had begun."""

    def __init__(
        self,
        message: str,
        advice: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        status: int | None = None,
        retryable: bool = False,
        result: TurnResult[Any] | None = None,
    ) -> None:
        super().__init__(f"{message}; {advice}")
        self.message = message
        self.advice = advice
        self.provider = provider
        self.model = model
        self.status = status
        self.retryable = retryable
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        known = (self.provider, self.model, self.status, self.retryable, self.result)
        return _again, (type(self), self.message, self.advice, *known)


def _again(
    kind: type[StepwellError],
    message: str,
    advice: str,
    provider: str | None,
    model: str | None,
    status: int | None,
    retryable: bool,
    result: TurnResult[Any] | None,
) -> StepwellError:
    """Makes an unpickled error."""
    return kind(message, advice, provider=provider, model=model, status=status, retryable=retryable, result=result)


class AuthenticationError(StepwellError):
    """The key is missing or wrong."""


class PermissionDeniedError(StepwellError, builtins.PermissionError):
    """The key is valid, and not allowed to do this."""


class NotFoundError(StepwellError, LookupError):
    """The model or the address does not exist."""


class RateLimitError(StepwellError):
    """Too many requests."""


class QuotaError(StepwellError):
    """The account's quota or credit is used up."""


class ContextTooLongError(StepwellError):
    """The conversation is longer than the model can read."""


class InvalidRequestError(StepwellError):
    """The request is at fault."""


class RefusedError(StepwellError):
    """The model refused to answer, or a hook refused the request or the answer."""


class ContentFilterError(StepwellError):
    """The provider's filter stopped the request or the answer."""


class OutputInvalidError(StepwellError):
    """The answer is empty, or is not of the type that was asked for."""


class LimitReachedError(StepwellError):
    """A limit was reached: the turn's, the agent's own, or the model's limit of tokens, which cut the answer off."""


class ToolFailedError(StepwellError):
    """A tool, or other code of the app for the turn, failed."""


class ServerError(StepwellError):
    """The provider or the agent is at fault."""


class OverloadedError(StepwellError):
    """The provider or the model has too much to do."""


class InvalidResponseError(StepwellError):
    """The response is not an answer in the provider's format."""


class ConnectionFailedError(StepwellError, builtins.ConnectionError):
    """The model's server cannot be reached, or the connection broke."""


class TimedOutError(StepwellError, builtins.TimeoutError):
    """The request or the turn took too long."""


class StoreError(StepwellError):
    """The store cannot be read or written, or does not have what was asked for."""


class BusyError(StepwellError):
    """Another turn of the conversation is under way."""


class TurnCancelledError(StepwellError):
    """The user or the app stopped the turn."""


class MisuseError(StepwellError, ValueError):
    """The program uses Stepwell in a way that cannot work: a wrong argument, an unknown provider, a call at a moment that
    it does not fit, a snapshot that cannot be read. Nothing was changed."""


KINDS: dict[str, type[StepwellError]] = {
    "authentication": AuthenticationError,
    "permission": PermissionDeniedError,
    "not_found": NotFoundError,
    "rate_limit": RateLimitError,
    "quota": QuotaError,
    "context_too_long": ContextTooLongError,
    "invalid_request": InvalidRequestError,
    "refused": RefusedError,
    "content_filter": ContentFilterError,
    "output_invalid": OutputInvalidError,
    "limit_reached": LimitReachedError,
    "tool_failed": ToolFailedError,
    "server_error": ServerError,
    "overloaded": OverloadedError,
    "invalid_response": InvalidResponseError,
    "connection": ConnectionFailedError,
    "timeout": TimedOutError,
    "store": StoreError,
    "busy": BusyError,
    "cancelled": TurnCancelledError,
    "misuse": MisuseError,
}
"""The class of each kind of problem."""


def error_of(
    problem: Problem, provider: str, asked: ModelName | None, result: TurnResult[Any] | None
) -> StepwellError:
    """Returns the error of a turn, which has asked this model last. ``provider`` is that of a turn that never began."""
    kind = KINDS.get(problem.kind.value, StepwellError)
    return kind(
        problem.message,
        problem.advice,
        provider=asked.provider if asked else provider,
        model=asked.model if asked else None,
        status=problem.status,
        retryable=problem.retryable,
        result=None if kind is BusyError else result,
    )


class ToolError(Exception):
    """Raised by a tool that cannot do its work: the model is shown just the message, and can continue.

    For any other exception the model learns only that the tool failed: see ``Agent(on_tool_error=…)``.
    """


class Deferred(Exception):
    """Raised by a tool that has begun something whose result comes later, in minutes or days.

    ``resolve_call`` or ``fail_call`` of the turn supplies it, or of its conversation, in any process that shares the store.
    """


_CLASSES: dict[str, type[StepwellError]] = {
    "Configuration": MisuseError,
    "InvalidArgument": MisuseError,
    "Misuse": MisuseError,
    "Snapshot": MisuseError,
    "Journal": MisuseError,
    "Stale": MisuseError,
    "Store": StoreError,
}


def translated(error: Any) -> StepwellError:
    """Returns the exception for an error of the library."""
    return _CLASSES.get(type(error).__name__, StepwellError)(error.reason, error.advice)


def translates(function: Callable[P, T]) -> Callable[P, T]:
    """Makes a function raise this module's exceptions for the library's."""

    @wraps(function)
    def translating(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except _ffi.StepwellError as error:
            raise translated(error) from None

    return translating


async def told(telling: Coroutine[Any, Any, T]) -> T:
    """Waits for a call of the library, and raises this module's exceptions for the library's."""
    try:
        return await telling
    except _ffi.StepwellError as error:
        raise translated(error) from None
