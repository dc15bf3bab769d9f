"""Many runs at once: which run owns which thread, and which inputs come too late."""

from __future__ import annotations

from typing import Any

from . import _ffi
from ._record import Json, Record, lift, lifts, lower, record
from .arguments import names_arguments
from .errors import translates
from .outcomes import Outcome
from .stores import ThreadKey, thread_key


@record
class RunHandle(Record):
    """What an input belongs to: one hop of one run of one thread. Only a ``RunRegistry`` gives handles out."""

    key: ThreadKey
    """The thread that the run is, or was, of."""
    generation: int
    """The run: from 1, never given twice by one registry, whatever the thread."""
    hop: int
    """How often the run was continued, from 0."""


@record
class Registered(Record):
    """What came of ``RunRegistry.register``."""

    handle: RunHandle
    """The new run's handle."""
    replaced: RunHandle | None
    """The run that owned the thread before, now stale: cancel it and dispose of it."""


@record
class RegistryEvent(Record):
    """What happened to the runs of a registry."""


@record
class RunStarted(RegistryEvent):
    """A run began: the turn is on."""

    handle: RunHandle
    """The run."""


@record
class RunContinued(RegistryEvent):
    """A run goes on under a new handle. It is the same turn: nothing to show."""

    handle: RunHandle
    """The new handle. The one before it is stale."""


@record
class RunCompleted(RegistryEvent):
    """A run is over. One that was replaced or removed is over as cancelled, before what replaced it starts."""

    handle: RunHandle
    """The run, as it last was."""
    outcome: Outcome
    """How it ended."""


@record
class Unread(RegistryEvent):
    """A run ended in a thread that the user does not look at."""

    key: ThreadKey
    """The thread."""


@record
class Read(RegistryEvent):
    """The user looks at the thread that was unread, or it was removed."""

    key: ThreadKey
    """The thread."""


@record
class StaleInput(RegistryEvent):
    """Something came with a stale handle. It changed nothing."""

    given: RunHandle
    """The handle that came."""
    current: RunHandle | None
    """What owns its thread now; none if nothing runs there."""


@record
class DisposalFailed(RegistryEvent):
    """A run could not be disposed of. What replaced it stands."""

    handle: RunHandle
    """The run."""
    message: str
    """The app's words."""


@record
class Missed(RegistryEvent):
    """The app took no events for so long that the oldest were dropped.

    ``running`` and ``unread_threads`` say how things stand.
    """

    count: int
    """How many."""


@record
class UnknownRegistryEvent(RegistryEvent):
    """Something that this version does not know."""

    event: Json
    """All of it."""


_EVENT: Any = _ffi.RegistryEvent

for _generated, _ours in (
    (_ffi.RunHandle, RunHandle),
    (_ffi.Registered, Registered),
    (_EVENT.RUN_STARTED, RunStarted),
    (_EVENT.RUN_CONTINUED, RunContinued),
    (_EVENT.RUN_COMPLETED, RunCompleted),
    (_EVENT.UNREAD, Unread),
    (_EVENT.READ, Read),
    (_EVENT.STALE_INPUT, StaleInput),
    (_EVENT.DISPOSAL_FAILED, DisposalFailed),
    (_EVENT.MISSED, Missed),
    (_EVENT.UNKNOWN, UnknownRegistryEvent),
):
    lifts(_generated, _ours)


@names_arguments
class RunRegistry:
    """Which run owns which thread, what the user looks at, and what is unread. It starts nothing and calls nobody back.

    A thread has one owner at most. Whoever registers takes it over, and the handle before is stale: check the handle with
    whatever the run's network, tools and timers bring, and drop what comes with a stale one. Every call is one step that
    no other call comes between, from any thread. A call with a stale handle raises ``StaleError``. A mere id names the
    thread of an app that has one server and no rooms.
    """

    def __init__(self) -> None:
        self._registry: _ffi.RunRegistry = _ffi.RunRegistry()

    @classmethod
    def restore(cls, snapshot: str) -> RunRegistry:
        """A registry that was stored: what ``snapshot`` gave."""
        return cls.of(translates(_ffi.RunRegistry.restore)(snapshot))

    @classmethod
    def of(cls, registry: _ffi.RunRegistry) -> RunRegistry:
        """The library's registry as one of ours."""
        made = cls.__new__(cls)
        made._registry = registry
        return made

    def snapshot(self) -> str:
        """The registry as text, to be stored and given to ``restore``."""
        return self._registry.snapshot()

    def register(self, thread: ThreadKey | str) -> Registered:
        """A new run takes the thread over, whatever ran there."""
        registered: Registered = lift(self._registry.register(lower(thread_key(thread))))
        return registered

    def replace(self, old: RunHandle) -> RunHandle:
        """The run goes on under a new handle, with the hop raised, if ``old`` still owns the thread."""
        handle: RunHandle = lift(translates(self._registry.replace)(lower(old)))
        return handle

    def check(self, handle: RunHandle) -> None:
        """Whether what came with the handle may be given to its run; raises ``StaleError`` if not."""
        translates(self._registry.check)(lower(handle))

    def complete(self, handle: RunHandle, outcome: Outcome) -> None:
        """The run is over. Marks its thread unread if the user does not look at it."""
        translates(self._registry.complete)(lower(handle), lower(outcome))

    def disposal_failed(self, handle: RunHandle, message: str) -> None:
        """The app could not dispose of a run. That undoes nothing; it is said as an event."""
        translates(self._registry.disposal_failed)(lower(handle), message)

    def current(self, thread: ThreadKey | str) -> RunHandle | None:
        """The run that owns the thread."""
        handle: RunHandle | None = lift(self._registry.current(lower(thread_key(thread))))
        return handle

    def running(self) -> list[RunHandle]:
        """All runs that own a thread, in the order of their threads' keys."""
        handles: list[RunHandle] = lift(self._registry.running())
        return handles

    def look_at(self, thread: ThreadKey | str | None) -> None:
        """The user looks at this thread now, or at none. It is no longer unread."""
        self._registry.look_at(None if thread is None else lower(thread_key(thread)))

    @property
    def looked_at(self) -> ThreadKey | None:
        """The thread that the user looks at."""
        key: ThreadKey | None = lift(self._registry.looked_at())
        return key

    def unread(self, thread: ThreadKey | str) -> bool:
        """Whether a run has ended in the thread since the user last looked at it."""
        return self._registry.unread(lower(thread_key(thread)))

    def unread_threads(self) -> list[ThreadKey]:
        """All unread threads, in the order of their keys."""
        keys: list[ThreadKey] = lift(self._registry.unread_threads())
        return keys

    def remove(self, thread: ThreadKey | str) -> RunHandle | None:
        """Forgets the thread. A run that owned it is now stale, and given back: cancel it and dispose of it."""
        handle: RunHandle | None = lift(self._registry.remove(lower(thread_key(thread))))
        return handle

    def take_events(self) -> list[RegistryEvent]:
        """Takes the events that wait, in order: each goes to one caller."""
        return [lift(event) for event in self._registry.take_events()]
