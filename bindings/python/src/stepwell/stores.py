"""The stores of an agent's turns: in a file, in memory, or in the app's own database.

The app's own database is a :class:`Store`; ``Agent(store=…)`` takes one, or a :class:`SqliteStore`, or a
:class:`MemoryStore`. For a failing store the agent raises a ``StoreFailedError``; a store itself raises the exceptions
of this module.
"""

from __future__ import annotations

import abc
import asyncio
import contextvars
import inspect
import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ._ffi import stepwell_ffi as _ffi
from ._ffi.effects import Block as Block
from ._ffi.effects import TurnStatus as TurnStatus
from ._ffi.stores import *
from ._record import lift, lower

logger = logging.getLogger("stepwell")

T = TypeVar("T")


class StoreFailure(Exception):
    """Why a store refused a request or failed. Unless an error says otherwise, nothing has changed.

    Any other exception of a store counts as temporary: the call is retried.
    """

    def __init__(self, message: str, **fields: Any) -> None:
        super().__init__(message)
        self._fields = fields or {"reason": message}


class Stale(StoreFailure):
    """The turn has another owner by now: the writer should stop, and leave the turn alone."""

    def __init__(self, turn: str, *, given: int, current: int) -> None:
        super().__init__(f"{turn!r} is of generation {current}, not {given}", turn=turn, given=given, current=current)


class Busy(StoreFailure):
    """The thread has an unfinished turn, which must end before another begins."""

    def __init__(self, turn: str, *, generation: int, owner: str) -> None:
        super().__init__(f"{owner!r} has the unfinished {turn!r}", turn=turn, generation=generation, owner=owner)


class Exists(StoreFailure):
    """The thread has a turn of this id."""

    def __init__(self, turn: str) -> None:
        super().__init__(f"there is a turn {turn!r} already", turn=turn)


class Closed(StoreFailure):
    """The turn is over, and its end is final."""

    def __init__(self, turn: str) -> None:
        super().__init__(f"the turn {turn!r} has ended", turn=turn)


class Gap(StoreFailure):
    """Blocks or events before this one are missing."""

    def __init__(self, turn: str, *, given: int, next: int) -> None:
        super().__init__(f"{given} of {turn!r} is beyond {next}, the next", turn=turn, given=given, next=next)


class Conflict(StoreFailure):
    """The number belongs to another content."""

    def __init__(self, turn: str, *, number: int) -> None:
        super().__init__(f"{number} of {turn!r} is stored with another content", turn=turn, number=number)


class NoTurn(StoreFailure):
    """There is no such turn."""

    def __init__(self, turn: str) -> None:
        super().__init__(f"there is no turn {turn!r} in this thread", turn=turn)


class NoThread(StoreFailure):
    """There is no such thread."""

    def __init__(self, thread: ThreadKey) -> None:
        super().__init__(f"there is no thread {thread.thread!r}", thread=thread)


class Refused(StoreFailure):
    """The request itself cannot be stored."""


class Full(StoreFailure):
    """There is no room left. The call is retried."""


class ReadOnly(StoreFailure):
    """The store is read-only."""


class Unavailable(StoreFailure):
    """The store cannot be reached, or is locked by another program. The call is retried; the write may have been
    done."""


class TooNew(StoreFailure):
    """The store was made by a later version of this program."""


class Damaged(StoreFailure):
    """The store's data cannot be read."""


class Other(StoreFailure):
    """Another failure of the store. The call is retried."""


class Store(abc.ABC):
    """The app's own database, as the store of an agent's threads.

    A store holds threads; a thread holds a tree of turns; a turn holds its blocks in sequence, its status, the
    checkpoint to revive it from, and the log of what the user was shown. A turn has one writing owner at a time.

    Each method is one transaction: it is done completely or not at all, even if it is cancelled midway, and what the
    method has confirmed survives the death of the process. A method that fails raises the ``StoreFailure`` that gives the
    reason.

    A method may be ``async``: then it runs on the caller's event loop, several at once. Plain methods run one after the
    other, on a thread of the store's own.

    Names that are too long or hold a NUL, and batches whose numbers do not fit, never reach the store.
    """

    @abc.abstractmethod
    def begin_turn(self, turn: NewTurn) -> int | Awaitable[int]:
        """Begins a turn, and its thread if that is new; the turn's status is streaming. Returns the turn's generation,
        1.

        ``Busy`` if another turn of the thread is unfinished, ``Exists`` if the thread has a turn of this id, ``NoTurn``
        if there is no such parent.
        """

    @abc.abstractmethod
    def claim(self, turn: TurnKey, seen: int, owner: str) -> Claimed | Awaitable[Claimed]:
        """Makes ``owner`` the owner of an unfinished turn, if its generation is still ``seen``: compare-and-swap.

        Returns the new generation, one higher, and the checkpoint to continue from. ``Stale`` if another owner claimed
        the turn first, ``Closed`` if the turn is over, ``NoTurn``.
        """

    @abc.abstractmethod
    def persist(self, turn: TurnKey, generation: int, batch: PersistBatch) -> None | Awaitable[None]:
        """Stores blocks, status, outcome and checkpoint.

        Blocks that are stored already must be the same, and change nothing: a batch may be sent again, alone or as a
        part of a longer one. The newer checkpoint replaces the older; a closed turn has none. A batch that ends before
        what is stored is an earlier one that arrives late: it changes nothing. Nor does a batch that closes a turn with
        the end that the turn already has.

        ``Stale`` if ``generation`` is not the turn's, ``Gap`` if blocks are missing before the first, ``Conflict`` if
        one is stored with another content, ``Closed`` if the turn has ended otherwise, ``NoTurn``.
        """

    @abc.abstractmethod
    def unfinished(self, owner: str | None) -> Sequence[Unfinished] | Awaitable[Sequence[Unfinished]]:
        """Returns the unfinished turns, oldest first: all, or those that ``owner`` has."""

    @abc.abstractmethod
    def turn(self, turn: TurnKey) -> TurnRecord | None | Awaitable[TurnRecord | None]:
        """Returns a turn with its blocks; none if there is no such turn."""

    @abc.abstractmethod
    def turns(self, thread: ThreadKey) -> Sequence[TurnRecord] | Awaitable[Sequence[TurnRecord]]:
        """Returns all turns of a thread, in the order in which they began; none if there is no such thread."""

    @abc.abstractmethod
    def thread(self, thread: ThreadKey) -> ThreadRecord | None | Awaitable[ThreadRecord | None]:
        """Returns a thread; none if there is no such thread."""

    @abc.abstractmethod
    def threads(self, query: ThreadQuery) -> Sequence[ThreadRecord] | Awaitable[Sequence[ThreadRecord]]:
        """Returns threads, the last used first, then by server, room and thread."""

    @abc.abstractmethod
    def rename_thread(self, thread: ThreadKey, title: str) -> None | Awaitable[None]:
        """Gives a thread a title. A new title does not count as use. ``NoThread``."""

    @abc.abstractmethod
    def delete_thread(self, thread: ThreadKey) -> bool | Awaitable[bool]:
        """Deletes a thread with all that it holds, and returns whether there was one.

        The owner of an unfinished turn of the thread gets ``NoTurn`` at the next write.
        """

    def append_events(
        self, turn: TurnKey, generation: int, first: int, events: list[str]
    ) -> None | Awaitable[None]:
        """Appends to the log of what the user is shown of a turn; the first of ``events`` gets the index ``first``.

        An agent keeps no such log: it is for hosts that serve turns to others, so a store need not have one. As for
        blocks, events that are stored already must be the same, and change nothing. The owner may still append when the
        turn is closed. ``Stale``, ``Gap``, ``Conflict``, ``NoTurn``.
        """
        raise Refused("this store keeps no log of events")

    def events(
        self, turn: TurnKey, after: int | None, limit: int
    ) -> Sequence[LoggedEvent] | Awaitable[Sequence[LoggedEvent]]:
        """Returns what was shown of a turn after the event ``after``, or from the beginning: ``limit`` events at most.
        ``NoTurn``."""
        return []

    def event_log(self, turn: TurnKey) -> EventLog | Awaitable[EventLog]:
        """Returns how long the log of a turn is, and how much of it was acknowledged. ``NoTurn``."""
        return EventLog(0, None)

    def acknowledge(self, turn: TurnKey, index: int) -> None | Awaitable[None]:
        """Records that the user has seen the events up to and including ``index``, which never decreases. ``Gap``,
        ``NoTurn``."""
        raise Refused("this store keeps no log of events")


def thread_key(thread: ThreadKey | str) -> ThreadKey:
    """Returns a thread's key; for an app with one server and no rooms, an id alone names the thread."""
    return ThreadKey(thread) if isinstance(thread, str) else thread


def random_key() -> ThreadKey:
    """Returns the key of a new thread."""
    return ThreadKey(str(uuid.uuid4()))


_CALL: Any = _ffi.StoreCall
_ANSWER: Any = _ffi.StoreAnswer

# The library's request, the method that handles it, and the name of its result in the answer.
_CALLS: dict[Any, tuple[str, Any, str | None]] = {
    _CALL.BEGIN_TURN: ("begin_turn", _ANSWER.GENERATION, "generation"),
    _CALL.CLAIM: ("claim", _ANSWER.CLAIMED, "claimed"),
    _CALL.PERSIST: ("persist", _ANSWER.DONE, None),
    _CALL.UNFINISHED: ("unfinished", _ANSWER.UNFINISHED, "turns"),
    _CALL.TURN: ("turn", _ANSWER.TURN, "turn"),
    _CALL.TURNS: ("turns", _ANSWER.TURNS, "turns"),
    _CALL.THREAD: ("thread", _ANSWER.THREAD, "thread"),
    _CALL.THREADS: ("threads", _ANSWER.THREADS, "threads"),
    _CALL.RENAME_THREAD: ("rename_thread", _ANSWER.DONE, None),
    _CALL.DELETE_THREAD: ("delete_thread", _ANSWER.DELETED, "deleted"),
    _CALL.APPEND_EVENTS: ("append_events", _ANSWER.DONE, None),
    _CALL.EVENTS: ("events", _ANSWER.EVENTS, "events"),
    _CALL.EVENT_LOG: ("event_log", _ANSWER.EVENT_LOG, "log"),
    _CALL.ACKNOWLEDGE: ("acknowledge", _ANSWER.DONE, None),
}


class PlainThread:
    """The thread for a store's plain methods, started when it is first needed."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None

    def submit(self, work: Callable[..., object], *arguments: Any) -> None:
        """Runs work after what was submitted before."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "stepwell-store")
        self._thread.submit(work, *arguments)


class StoreRunner(_ffi.StoreRunner):
    """Carries out the calls of an app's store in the caller's context, ``async`` methods on one loop. The public
    methods are called on other threads."""

    def __init__(self, store: Store, plain: PlainThread, loop: asyncio.AbstractEventLoop | None) -> None:
        self._store = store
        self._plain = plain
        self._loop = loop
        self._context = contextvars.copy_context()
        self._running: dict[int, asyncio.Task[None]] = {}

    def run(self, task: _ffi.StoreTask) -> None:
        """Begins a call."""
        call = task.call()
        name, answer, field = _CALLS[type(call)]
        method = getattr(self._store, name)
        arguments = {argument: lift(value) for argument, value in vars(call).items()}

        def answered(result: Any) -> Any:
            return answer() if field is None else answer(**{field: lower(result)})

        try:
            if not inspect.iscoroutinefunction(method):
                here = self._context.copy()
                self._plain.submit(here.run, _carry_out, task, lambda: answered(method(**arguments)))
                return
            if self._loop is None:
                raise RuntimeError("none runs here")

            async def carried_out() -> Any:
                return answered(await method(**arguments))

            self._loop.call_soon_threadsafe(self._begin, task, carried_out)
        except RuntimeError as error:
            failed: Any = getattr(_ffi.CallbackError, "Failed")
            raise failed(f"the app's event loop takes no more work: {error}") from None

    def cancel(self, task: int) -> None:
        """Stops a call."""
        try:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._stop, task)
        except RuntimeError:
            # With the loop, its tasks are gone too.
            pass

    def _begin(self, task: _ffi.StoreTask, work: Callable[[], Awaitable[Any]]) -> None:
        number = task.id()
        loop = asyncio.get_running_loop()
        running: asyncio.Task[None] = self._context.copy().run(
            lambda: loop.create_task(_carry_out_async(task, work), name=f"stepwell-{number}")
        )
        self._running[number] = running
        running.add_done_callback(lambda _: self._running.pop(number, None))

    def _stop(self, task: int) -> None:
        if running := self._running.get(task):
            running.cancel()


def _carry_out(task: _ffi.StoreTask, work: Callable[[], Any]) -> None:
    try:
        task.finish(work())
    except BaseException as error:
        _fail(task, error)


async def _carry_out_async(task: _ffi.StoreTask, work: Callable[[], Awaitable[Any]]) -> None:
    try:
        task.finish(await work())
    except asyncio.CancelledError:
        task.fail(_lower_error(Other("the call was cancelled")))
        raise
    except KeyboardInterrupt:
        task.fail(_lower_error(Other("the program was interrupted")))
        raise
    except BaseException as error:
        _fail(task, error)


def _fail(task: _ffi.StoreTask, error: BaseException) -> None:
    if type(error) is StoreFailure or not isinstance(error, StoreFailure):
        logger.warning("the store failed", exc_info=error)
        error = Other(f"{type(error).__name__}: {error}")
    task.fail(_lower_error(error))


def _lower_error(error: StoreFailure) -> Any:
    kind = next(kind for kind in type(error).__mro__ if kind.__base__ is StoreFailure)
    generated = getattr(_ffi.StoreError, kind.__name__)
    return generated(**{name: lower(value) for name, value in error._fields.items()})
