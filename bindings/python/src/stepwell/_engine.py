"""The library's agents below an agent: what touches them is here."""

from __future__ import annotations

import asyncio
import threading
import uuid
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._ffi import stepwell_ffi as _ffi
from ._record import Json, lower
from .errors import MisuseError, told, translates
from .process import OwnProcess
from .runner import TurnRunner
from .stores import Store, ThreadKey

if TYPE_CHECKING:
    from ._definition import Definition
    from .output import TypedOutput
    from .sessions import SessionStore
    from .tools import Tool


class Engine:
    """The library's agent of a definition and a store. It is made when it is first needed, and again in a forked process;
    each conversation and each run without one is a thread of it."""

    def __init__(self, definition: Definition, given_store: SessionStore | Store | None, store: SessionStore | None) -> None:
        self.definition = definition
        self.given_store = given_store
        self.store = store
        self._made: _ffi.Agent | None = None
        self._process = OwnProcess("agent")
        # Reentrant: a thread may be released by the garbage collector, wherever that runs.
        self._lock = threading.RLock()
        self._held: dict[str, int] = {}
        # Threads whose turn runs by itself.
        self._detached: dict[str, ThreadKey] = {}

    def agent(self) -> _ffi.Agent:
        """Returns the library's agent in this process."""
        with self._lock:
            if self._made is None or not self._process.is_here():
                if self._made is not None and self.store is not None:
                    self._process.check()
                self._process = OwnProcess("agent")
                self._held.clear()
                self._detached.clear()
                config, setup = self.definition.lowered(self.store)
                self._made = translates(_ffi.Agent.for_runners)(config, setup)
            return self._made

    def hold(self, key: ThreadKey) -> None:
        """Counts one more holder of a thread."""
        with self._lock:
            self._held[repr(key)] = self._held.get(repr(key), 0) + 1
            for name, each in list(self._detached.items()):
                if name not in self._held:
                    self._forget(each)

    def release(self, key: ThreadKey) -> None:
        """Forgets a thread with its last holder. What a store has of the thread stays there."""
        with self._lock:
            name = repr(key)
            self._held[name] = self._held.get(name, 1) - 1
            if self._held[name] > 0:
                return
            del self._held[name]
            self._forget(key)

    def detach(self, key: ThreadKey) -> None:
        """Lets the turn of a thread run to its end, although no holder is left."""
        with self._lock:
            self._detached[repr(key)] = key

    def _forget(self, key: ThreadKey) -> None:
        # In a registry of the app's own, a conversation that is let go stays unread.
        if self._made is None or not self._process.is_here() or self.definition.registry is not None:
            return
        if repr(key) in self._detached:
            if self._made.registry().current(lower(key)) is not None:
                return
            del self._detached[repr(key)]
        self._made.forget_thread(lower(key))

    def held(self) -> int:
        """Returns how many threads are held, or run by themselves."""
        return len(self._held) + len(self._detached)

    def begin(
        self,
        handle: _ffi.Agent,
        typed: TypedOutput | None,
        tools: Sequence[Tool[..., Any]] = (),
        deps: object = None,
    ) -> tuple[_ffi.Agent, TurnRunner]:
        """Returns the handle for a turn that begins now: its tools, approvals and the calls of an app's store run on the
        current event loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise MisuseError(
                "no event loop of asyncio runs here", "call it in a coroutine, or take the method whose name ends in `_sync`"
            ) from None
        definition = self.definition
        runner = definition.runner(loop, typed, tools, deps)
        own = definition.typed
        if typed is not None and typed is not own and not (typed.is_text and (own is None or own.is_text)):
            handle = translates(handle.with_output)(typed.asked.lower(), None)
        store = self.store and self.store.on(loop)
        there = handle.with_runner(runner, store, definition.client is not None, definition.instructions_source is not None)
        return there, runner


class Thread:
    """A thread of an engine, which is forgotten when no holder is left."""

    def __init__(
        self,
        engine: Engine,
        key: ThreadKey,
        history: Sequence[dict[str, Json]] | None = None,
        shared_state: Json = None,
    ) -> None:
        self.engine = engine
        self.key = key
        self._handle = self._opened(history, shared_state)
        self._process = OwnProcess("conversation")
        engine.hold(key)
        self._release = weakref.finalize(self, engine.release, key)
        self._release.atexit = False

    def _opened(self, history: Sequence[dict[str, Json]] | None, shared_state: Json) -> _ffi.Agent:
        agent = self.engine.agent()
        if not history and shared_state is None:
            return agent.thread(lower(self.key))
        return translates(agent.thread_with_history)(
            lower(self.key), list(history or ()), {} if shared_state is None else shared_state
        )

    @property
    def handle(self) -> _ffi.Agent:
        """The library's conversation in this process: in a forked one it is made again, with what was said so far."""
        if not self._process.is_here():
            if self.engine.store is not None:
                self._process.check()
            self._handle = self._opened(self._handle.messages(), self._handle.shared_state())
            self._process = OwnProcess("conversation")
            self.engine.hold(self.key)
        return self._handle

    @property
    def last_known(self) -> _ffi.Agent:
        """The conversation as this process knows it, for a look only."""
        return self._handle

    def detach(self) -> None:
        """Lets the turn under way run by itself."""
        self.engine.detach(self.key)

    async def delete(self) -> bool:
        """Cancels the turn, and deletes the thread from the store."""
        handle, _ = self.engine.begin(self.handle, None)
        return await told(handle.delete_thread(lower(self.key)))


def random_key() -> ThreadKey:
    """Returns the key of a new thread."""
    return ThreadKey(str(uuid.uuid4()))
