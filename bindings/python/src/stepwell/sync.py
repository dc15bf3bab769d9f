"""Turns for programs without an event loop, and for notebook cells without await."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as WaitTimeout
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._record import Json
from ._types import Out
from .arguments import names_arguments
from .errors import MisuseError
from .events import Completed, Event, Interrupt, Pending, ToolFailureKind
from .media import Content
from .messages import Transcript, UserMessage
from .outcomes import Finished, Outcome, TokenUsage
from .result import TurnResult
from .updates import TextUpdate, Update, update_of

if TYPE_CHECKING:
    from .plot import TurnPlot
    from .timeline import Span
    from .turn import Turn

logger = logging.getLogger("stepwell")

T = TypeVar("T")


class _LoopThread:
    """One event loop in its own thread, for all turns of the process that have none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._waited_for: set[Future[Any]] = set()
        self._interrupted: set[Future[Any]] = set()
        self._interrupt: KeyboardInterrupt | None = None

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs the work on the loop and waits; interrupting the wait, with Ctrl-C say, stops the work."""
        return self.wait(self.begin(work))

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if threading.current_thread() is self._thread:
            work.close()
            raise MisuseError(
                "a turn without an event loop was begun, or read, in an async tool of another such turn: it would wait "
                "for itself",
                "await `run` or `send` there, or make the tool a plain function",
            )
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        self._waited_for.add(future)
        future.add_done_callback(self._waited_for.discard)
        return future

    def wait(self, future: Future[T], timeout: float | None = None) -> T:
        try:
            result = future.result(timeout)
        except CancelledError:
            if future in self._interrupted:
                self._interrupted.discard(future)
                raise KeyboardInterrupt from None
            raise
        except Exception:
            raise
        except BaseException:
            future.cancel()
            raise
        if interrupt := self._interrupt:
            self._interrupt = None
            raise interrupt
        return result

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        """An exception of a tool ends only its own turn; ``KeyboardInterrupt`` is for the waiting threads."""
        while True:
            try:
                loop.run_forever()
                return
            except KeyboardInterrupt as interrupt:
                waited_for = list(self._waited_for)
                self._interrupt = None if waited_for else interrupt
                self._interrupted.update(waited_for)
                for future in waited_for:
                    future.cancel()
            except BaseException:
                logger.warning("a task broke off", exc_info=True)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run, args=(self._loop,), name="stepwell-sync", daemon=True
                )
                self._thread.start()
                atexit.register(self._stop, self._loop, self._thread)
            return self._loop

    @staticmethod
    def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
        async def wind_up() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            if others:
                await asyncio.wait(others, timeout=1.0)
            loop.stop()

        if thread.is_alive():
            asyncio.run_coroutine_threadsafe(wind_up(), loop)
            thread.join(2.0)
        # The loop is not closed: a late call from Stepwell's threads would fail on a closed one.


_thread = _LoopThread()

if hasattr(os, "register_at_fork"):
    # A forked process has the loop, but not its thread.
    os.register_at_fork(after_in_child=_thread.__init__)  # type: ignore[misc]


def run_sync(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs work on an event loop of Stepwell's own, in another thread, and waits for it."""

    async def begun() -> T:
        return await work()

    return _thread.wait_for(begun())


@names_arguments
class SyncTurn(Iterator[Update], Generic[Out]):
    """A turn under way, for a plain ``for`` loop; ``stream_sync`` returns it.

    The loop raises a ``StepwellError`` after the last update if the answer is incomplete; a loop over
    ``turn.updates(raise_on_error=False)`` does not.

    The turn is cancelled by ``cancel``, by Ctrl-C, and by dropping the last reference to it. Leaving a loop over
    ``agent.stream_sync(…)`` drops it; a turn that has a name continues, so write ``with agent.stream_sync(…) as turn``.
    The turn's async tools run on an event loop of Stepwell's own, in another thread.
    """

    def __init__(self, begin: Callable[[], Turn[Out]]) -> None:
        async def begun() -> Turn[Out]:
            return begin()

        self._turn = _thread.wait_for(begun())
        self._ready: deque[Event] = deque()
        self._over = False
        self._raises = False
        self._asked: Future[list[Event]] | None = None
        self._outcome: Outcome | None = None

    def __repr__(self) -> str:
        return f"SyncTurn({'under way' if self._outcome is None else self._outcome!r})"

    def __iter__(self) -> SyncTurn[Out]:
        return self

    def __next__(self) -> Update:
        update = self._next()
        if update is None:
            if self._raises:
                self._raises = False
                self.result()
            raise StopIteration
        return update

    def _next(self) -> Update | None:
        while (event := self._next_event()) is not None:
            if (update := update_of(event)) is not None:
                return update
        return None

    def _next_event(self) -> Event | None:
        if not self._wait():
            return None
        event = self._ready.popleft()
        if isinstance(event, Completed):
            self._ended_with(event)
        return event

    def _ended_with(self, event: Completed) -> None:
        self._outcome = event.outcome
        self._raises = event.outcome.problem is not None

    def updates(self, *, raise_on_error: bool = True) -> Iterator[Update]:
        """Yields the updates as ``Turn.updates`` does: with ``raise_on_error=False`` the loop ends however the turn
        ended, and ``outcome`` says how."""
        return self if raise_on_error else iter(self._next, None)

    @property
    def text_stream(self) -> Iterator[str]:
        """As ``Turn.text_stream``."""
        return (update.delta for update in self if isinstance(update, TextUpdate))

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for an update, and returns whether there is one: after the last update there is none.

        Raises ``TimeoutError`` if no update comes in ``timeout`` seconds; the turn continues.
        """
        if self._wait(timeout) and isinstance(self._ready[0], Completed):
            self._next_event()
        return bool(self._ready)

    @property
    def outcome(self) -> Outcome | None:
        """As ``Turn.outcome``."""
        return self._outcome

    def _wait(self, timeout: float | None = None) -> bool:
        """Waits for an event."""
        if not self._ready and not self._over:
            self._asked = self._asked or _thread.begin(self._turn._events())
            try:
                events = _thread.wait(self._asked, timeout)
            except WaitTimeout:
                raise TimeoutError(f"no update in {timeout} s") from None
            except BaseException as error:
                self._broke_off(error)
                raise
            self._asked = None
            self._over = not events
            self._ready.extend(events)
        return bool(self._ready)

    def result(self) -> TurnResult[Out]:
        """As ``Turn.result``."""
        self._finish()
        return _thread.wait_for(self._turn.result())

    def _ended(self) -> TurnResult[Any]:
        """Waits for the end, and returns the result however the turn ended."""
        self._finish()
        return _thread.wait_for(self._turn._ended())

    def _finish(self) -> Finished:
        """Waits for the end, and returns it however the turn ended."""
        if self._asked is not None:
            self._wait()
        try:
            finished = _thread.wait_for(self._turn._finish())
        except BaseException as error:
            self._broke_off(error)
            raise
        self._outcome = finished.outcome
        self._over = True
        return finished

    def _broke_off(self, error: BaseException) -> None:
        """Handles Ctrl-C: a process that ends now must not have a turn that still calls into Python."""
        if not isinstance(error, Exception):
            self._turn.cancel()
            with contextlib.suppress(Exception):
                _thread.begin(self._turn._finish()).result(2.0)

    def cancel(self) -> None:
        """Stops the turn and its tools, and closes its connection. The updates up to the turn's end still arrive."""
        self._turn.cancel()

    def cancel_call(self, tool_call_id: str) -> None:
        """As ``Turn.cancel_call``."""
        _thread.wait_for(self._turn.cancel_call(tool_call_id))

    def resolve_call(self, tool_call_id: str, result: object) -> None:
        """As ``Turn.resolve_call``."""
        _thread.wait_for(self._turn.resolve_call(tool_call_id, result))

    def fail_call(self, tool_call_id: str, message: str, *, kind: ToolFailureKind = ToolFailureKind.ERROR) -> None:
        """As ``Turn.fail_call``."""
        _thread.wait_for(self._turn.fail_call(tool_call_id, message, kind=kind))

    def pending(self) -> list[Pending]:
        """As ``Turn.pending``."""
        return _thread.wait_for(self._turn.pending())

    def approve(self, id: str, *, arguments: Mapping[str, Json] | None = None) -> None:
        """As ``Turn.approve``."""
        _thread.wait_for(self._turn.approve(id, arguments=arguments))

    def deny(self, id: str, reason: str | None = None) -> None:
        """As ``Turn.deny``."""
        _thread.wait_for(self._turn.deny(id, reason))

    def answer(self, id: str, value: Json) -> None:
        """As ``Turn.answer``."""
        _thread.wait_for(self._turn.answer(id, value))

    def steer(self, message: Content | UserMessage, *parts: Content) -> str:
        """As ``Turn.steer``."""
        return _thread.wait_for(self._turn.steer(message, *parts))

    def resume(self, answers: Mapping[str, Json]) -> None:
        """As ``Turn.resume``."""
        _thread.wait_for(self._turn.resume(answers))

    def snapshot(self) -> str:
        """As ``Turn.snapshot``."""
        return _thread.wait_for(self._turn.snapshot())

    def suspend(self) -> str:
        """As ``Turn.suspend``."""
        return _thread.wait_for(self._turn.suspend())

    def messages(self) -> Transcript:
        """As ``Turn.messages``."""
        return _thread.wait_for(self._turn.messages())

    def shared_state(self) -> Json:
        """As ``Turn.shared_state``."""
        return _thread.wait_for(self._turn.shared_state())

    def interrupts(self) -> list[Interrupt]:
        """As ``Turn.interrupts``."""
        return _thread.wait_for(self._turn.interrupts())

    def usage(self) -> TokenUsage:
        """As ``Turn.usage``."""
        return _thread.wait_for(self._turn.usage())

    @property
    def partial_output(self) -> Json:
        """As ``Turn.partial_output``."""
        return self._turn.partial_output

    @property
    def timeline(self) -> list[Span]:
        """As ``Turn.timeline``."""
        return self._turn.timeline

    def plot(self) -> TurnPlot:
        """As ``Turn.plot``."""
        return self._turn.plot()

    def rested(self) -> str:
        """As ``Turn.rested``."""
        return _thread.wait_for(self._turn.rested())

    def __enter__(self) -> SyncTurn[Out]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cancel()
        _thread.wait_for(self._turn._wind_up())
