"""What Stepwell raises."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ._ffi import stepwell_ffi as _ffi

if TYPE_CHECKING:
    from .outcomes import Finished, Outcome, Problem

P = ParamSpec("P")
T = TypeVar("T")


class StepwellError(Exception):
    """A call that failed."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"{reason}; {advice}")
        self.reason = reason
        """What went wrong."""
        self.advice = advice
        """What to do about it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.reason, self.advice)


class ConfigurationError(StepwellError):
    """The configuration does not work: an unknown provider, a missing key, a tool that cannot be registered."""


class InvalidArgumentError(StepwellError):
    """An argument is invalid."""


class MisuseError(StepwellError):
    """The call does not fit the state of the run: the app's own mistake. The run is unchanged."""


class SnapshotError(StepwellError):
    """The snapshot cannot be read."""


class BrokenError(StepwellError):
    """A call broke off inside Stepwell, so the run cannot be trusted any more."""


class JournalError(StepwellError):
    """The text is no journal, or the run differs from its journal."""


class StoreFailedError(StepwellError):
    """The store cannot be read or written, or does not have what was asked for."""


class StaleError(StepwellError):
    """The handle belongs to a run that no longer owns its thread. Nothing was changed."""


class UnavailableError(StepwellError):
    """The system does not provide what the agent needs: threads, or an HTTP client."""


class TurnError(StepwellError):
    """A turn whose answer is incomplete: the subclasses give the reason. Awaiting a turn raises it, and so does
    ``Agent.run_sync``."""

    def __init__(self, finished: Finished, problem: Problem) -> None:
        super().__init__(problem.message, problem.advice)
        self.finished = finished
        """The turn as it ended, with what was said so far."""
        self.outcome: Outcome = finished.outcome
        """How the turn ended."""
        self.retryable = problem.retryable
        """Whether a later attempt may succeed."""
        self._problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.finished, self._problem)


class AuthenticationError(TurnError):
    """The key is missing, wrong, or not allowed to do this."""


class RateLimitError(TurnError):
    """Too many requests, or the quota is used up."""


class InvalidRequestError(TurnError):
    """The request is at fault."""


class NotFoundError(TurnError):
    """The model or the address does not exist."""


class ServerError(TurnError):
    """The provider is at fault."""


class OverloadedError(TurnError):
    """The provider or the model is overloaded."""


class ContextTooLongError(TurnError):
    """The conversation is longer than the model can read."""


class ContentFilteredError(TurnError):
    """The provider's filter stopped the request or the answer."""


class RefusedError(TurnError):
    """The model refused to answer."""


class CutError(TurnError):
    """The answer was cut off at the model's limit of tokens."""


class EmptyAnswerError(TurnError):
    """The model ended without text, a tool call or media."""


class LimitReachedError(TurnError):
    """A limit of the turn was reached, or one of the agent's own."""


class ConnectionFailedError(TurnError):
    """The model's server cannot be reached, or the connection broke."""


class TimedOutError(TurnError):
    """The turn took too long."""


class UnreadableError(TurnError):
    """The answer is not in the provider's format."""


class OutputInvalidError(TurnError):
    """The model did not give the typed answer that it was asked for."""


class AgentFailedError(TurnError):
    """The agent reported that its run failed, without a known reason."""


class AppFailedError(TurnError):
    """The app's own code for the turn failed."""


class RefusedByHookError(TurnError):
    """A hook of the app's refused the request or the answer, or failed."""


class NotStoredError(TurnError):
    """The turn could not be stored."""


class BusyError(TurnError):
    """Another turn of the thread is under way."""


class StoppedError(TurnError):
    """The user, or the agent, stopped the turn."""


TURN_ERRORS: dict[str, type[TurnError]] = {
    "authentication": AuthenticationError,
    "rate_limit": RateLimitError,
    "invalid_request": InvalidRequestError,
    "not_found": NotFoundError,
    "server_error": ServerError,
    "overloaded": OverloadedError,
    "context_too_long": ContextTooLongError,
    "content_filtered": ContentFilteredError,
    "refused": RefusedError,
    "cut": CutError,
    "empty_answer": EmptyAnswerError,
    "limit_reached": LimitReachedError,
    "connection_failed": ConnectionFailedError,
    "timed_out": TimedOutError,
    "unreadable": UnreadableError,
    "output_invalid": OutputInvalidError,
    "agent_failed": AgentFailedError,
    "app_failed": AppFailedError,
    "refused_by_hook": RefusedByHookError,
    "not_stored": NotStoredError,
    "busy": BusyError,
    "stopped": StoppedError,
}
"""The exception of each kind of problem."""


class ToolError(Exception):
    """Raised by a tool that cannot do its work: the model is shown just the message, and can continue.

    For any other exception the model learns only that the tool failed: see ``Agent(tool_errors=…)``.
    """


class Deferred(Exception):
    """Raised by a tool that has begun something whose result comes later, in minutes or days.

    ``Turn.finish_call`` or ``Turn.fail_call`` supplies it, in this process or in a later one that revived the turn.
    """


_CLASSES: dict[str, type[StepwellError]] = {
    "Configuration": ConfigurationError,
    "InvalidArgument": InvalidArgumentError,
    "Misuse": MisuseError,
    "Snapshot": SnapshotError,
    "Broken": BrokenError,
    "Journal": JournalError,
    "Store": StoreFailedError,
    "Stale": StaleError,
    "Unavailable": UnavailableError,
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
