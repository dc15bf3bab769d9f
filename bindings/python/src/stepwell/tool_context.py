"""The context of a tool's call: what the tool may know, report and ask."""

from __future__ import annotations

import asyncio
import typing
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ._ffi import stepwell_ffi as _ffi
from ._record import lift
from .errors import told
from .schema import from_json, schema_of

if TYPE_CHECKING:
    from ._ffi.effects import ToolInvocation

D = TypeVar("D")
T = TypeVar("T")


class ToolContext(Generic[D]):
    """The context of a call: a parameter with this annotation gets it, and is hidden from the model::

        @tool
        async def ship(context: ToolContext[Depot], parcel: str) -> str:
            context.report(0.5, "the parcel is packed")
            speed = await context.ask("How fast?", Literal["today", "this week"])
            return f"from {context.deps.city}: {speed or 'it waits'}"

        agent = Agent(…, tools=[ship], deps_type=Depot, answerer=ask_the_user)
        await agent.run("Ship the parcel.", deps=Depot("Bergen"))

    The methods can be called on any thread, so that plain functions have them too. ``ToolContext(deps=…)`` makes one
    for the tests of a tool: its reports are shown to no user, and its questions have no answer.
    """

    def __init__(self, deps: D = None) -> None:  # type: ignore[assignment]
        self.deps: D = deps
        """The app's own value: the ``deps`` of the run."""
        self._invocation: ToolInvocation | None = None
        self._context: _ffi.ToolContext | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    def of(cls, context: _ffi.ToolContext, deps: D, loop: asyncio.AbstractEventLoop) -> ToolContext[D]:
        """Creates the context of a call in a turn."""
        made = cls(deps)
        made._invocation = lift(context.invocation())
        made._context = context
        made._loop = loop
        return made

    def __repr__(self) -> str:
        return f"ToolContext({self.invocation.name!r}, tool_call_id={self.tool_call_id!r})"

    @property
    def invocation(self) -> ToolInvocation:
        """The call: its arguments, its id, the thread, the turn, the run and the attempt."""
        if self._invocation is None:
            from ._ffi.effects import ToolInvocation
            from ._ffi.events import CallKey

            self._invocation = ToolInvocation(CallKey(0, 0), "call", "", {}, "{}", "", "", "", 1)
        return self._invocation

    @property
    def thread_id(self) -> str:
        """The conversation."""
        return self.invocation.thread_id

    @property
    def turn(self) -> str:
        """The turn: the run id of its first hop."""
        return self.invocation.turn

    @property
    def run_id(self) -> str:
        """The run of the hop that asks for the call."""
        return self.invocation.run_id

    @property
    def hop(self) -> int:
        """The number of that hop, from 0."""
        return self.invocation.call.hop

    @property
    def tool_call_id(self) -> str:
        """The provider's id for the call."""
        return self.invocation.tool_call_id

    @property
    def attempt(self) -> int:
        """1, and one higher each time that an idempotent tool is run again because its process died."""
        return self.invocation.attempt

    @property
    def is_cancelled(self) -> bool:
        """Whether the result is no longer wanted; for plain functions that take long. An async tool is cancelled."""
        return self._context is not None and self._context.is_cancelled()

    def report(self, fraction: float | None = None, message: str = "") -> None:
        """Reports the call's progress, from 0 to 1 if that is known, and what the call is doing: ``ToolProgress``.

        For an app that is too slow to show every report, only the last is shown.
        """
        if self._context is not None:
            self._context.report(None if fraction is None else float(fraction), message)

    def partial(self, result: Any) -> None:
        """Shows a partial result, which replaces the previous one: ``ToolPartialResult``.

        The model gets only the final result. A partial result of more than 256 KiB is not shown.
        """
        from .media import shown

        if self._context is not None:
            self._context.partial(shown(result))

    @overload
    async def ask(self, message: str) -> str | None: ...

    @overload
    async def ask(self, message: str, kind: type[T]) -> T | None: ...

    @overload
    async def ask(self, message: str, kind: Any) -> Any: ...

    async def ask(self, message: str, kind: Any = str) -> Any:
        """Asks the user, and waits for the answer, which is of the type ``kind``: ``bool``, ``Literal["S", "M"]``, a dataclass …

        ``None`` if there is no answer: the agent has no ``answerer``, the user declined, or was not there in time. The
        tool's own clock is paused meanwhile. An idempotent tool that is run again after a crash and asks the same
        question gets the earlier answer.
        """
        schema = schema_of(kind, "an answer")
        if self._context is None:
            return None
        answer: Any = await told(self._context.ask(_ffi.Question(message=message, schema=schema)))
        if isinstance(answer, _ffi.UserAnswer.DECLINED):
            return None
        return from_json(kind, answer.value)

    @overload
    def ask_sync(self, message: str) -> str | None: ...

    @overload
    def ask_sync(self, message: str, kind: type[T]) -> T | None: ...

    @overload
    def ask_sync(self, message: str, kind: Any) -> Any: ...

    def ask_sync(self, message: str, kind: Any = str) -> Any:
        """Asks as ``ask`` does, for a plain function, which has its own thread."""
        if self._loop is None:
            return None
        return asyncio.run_coroutine_threadsafe(self.ask(message, kind), self._loop).result()


def is_context(hint: Any) -> bool:
    """Whether a parameter with this hint gets the context."""
    return hint is ToolContext or typing.get_origin(hint) is ToolContext
