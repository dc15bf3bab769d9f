"""Many runs at once: which run owns which thread, and which inputs come too late."""

from __future__ import annotations

from ._ffi import stepwell_ffi as _ffi
from ._ffi.registry import *
from ._record import lift, lower
from .arguments import names_arguments
from .errors import translates
from .outcomes import Outcome
from .stores import ThreadKey, thread_key


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

    @property
    def inner(self) -> _ffi.RunRegistry:
        """The library's registry."""
        return self._registry

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
