"""Sessions: the threads of a store, and how the user sees them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._ffi.sessions import *
from ._record import Json, lift, lower
from .arguments import names_arguments
from .errors import told, translates
from .events import Pending
from .process import OwnProcess
from .stores import (
    PlainThread,
    Store,
    StoreRunner,
    ThreadCursor,
    ThreadKey,
    ThreadQuery,
    ThreadRecord,
    TurnRecord,
    thread_key,
)


def session_view(turns: Sequence[TurnRecord], turn: str | None = None) -> SessionView:
    """Returns a session from stored turns, on the path to ``turn``, or without one on the path that ends last.

    For apps that themselves store what a ``RunMachine`` emits; a ``SessionStore`` has ``view``.
    """
    view: SessionView = lift(translates(_ffi.session_view)(lower(turns), turn))
    return view


def conversation_of(turns: Sequence[TurnRecord], turn: str | None = None) -> list[dict[str, Json]]:
    """Returns the conversation of stored turns, for the next run to begin with: AG-UI messages, oldest first."""
    messages: list[dict[str, Json]] = translates(_ffi.conversation_of)(lower(turns), turn)
    return messages


@names_arguments
class SessionStore:
    """A store for agents, and the sessions in it: their list, each with its turns and messages.

    A thread is a tree of turns: a message that is edited and sent again makes a sibling. A session is one path of the
    tree: the path to a given turn, or the one that ends last. For an app with one server and no rooms, an id alone
    names the thread.
    """

    def __init__(self, store: Store) -> None:
        self._app: tuple[Store, PlainThread] | None = (store, PlainThread())
        self._process = OwnProcess("store")
        self._inner = _ffi.SessionStore.with_store_runner(StoreRunner(*self._app, None))

    async def threads(
        self,
        *,
        server: str | None = None,
        room: str | None = None,
        after: ThreadCursor | None = None,
        limit: int = 50,
    ) -> list[ThreadRecord]:
        """Returns threads, the last used first."""
        listed: list[ThreadRecord] = await _lifted(
            self._here().threads(lower(ThreadQuery(server, room, after, limit)))
        )
        return listed

    async def thread(self, thread: ThreadKey | str) -> ThreadRecord | None:
        """Returns a thread; none if there is no such thread."""
        found: ThreadRecord | None = await _lifted(self._here().thread(lower(thread_key(thread))))
        return found

    async def turns(self, thread: ThreadKey | str) -> list[TurnView]:
        """Returns all turns of a thread, in the order in which they began: its tree, by their parents."""
        turns: list[TurnView] = await _lifted(self._here().turns(lower(thread_key(thread))))
        return turns

    async def view(self, thread: ThreadKey | str, turn: str | None = None) -> SessionView:
        """Returns a thread as the user sees it, on the path to ``turn``."""
        view: SessionView = await _lifted(self._here().view(lower(thread_key(thread)), turn))
        return view

    async def messages(self, thread: ThreadKey | str, turn: str | None = None) -> list[dict[str, Json]]:
        """Returns the conversation on the path to ``turn``: AG-UI messages, oldest first."""
        messages: list[dict[str, Json]] = await _lifted(self._here().messages(lower(thread_key(thread)), turn))
        return messages

    async def pending(self, conversation: ThreadKey | str) -> list[Pending]:
        """Returns what the unfinished turn of a conversation waits for, in any process and without the agent: approvals and
        questions for the user, and results of deferred calls. ``Conversation`` takes the replies."""
        pending: list[Pending] = await _lifted(self._here().pending(lower(thread_key(conversation))))
        return pending

    async def rename_thread(self, thread: ThreadKey | str, title: str) -> None:
        """Gives a thread a title. A new title does not count as use."""
        await _lifted(self._here().rename_thread(lower(thread_key(thread)), title))

    async def delete_thread(self, thread: ThreadKey | str) -> bool:
        """Deletes a thread with all that it holds, and returns whether there was one.

        Delete a thread that an agent has with ``Conversation.delete``, which stops its turn first.
        """
        deleted: bool = await _lifted(self._here().delete_thread(lower(thread_key(thread))))
        return deleted

    def is_here(self) -> bool:
        """Returns whether the store was made in this process, and not before it was forked."""
        return self._process.is_here()

    @property
    def inner(self) -> _ffi.SessionStore:
        """The library's store."""
        self._process.check()
        return self._inner

    def on(self, loop: asyncio.AbstractEventLoop) -> _ffi.SessionStore:
        """Returns the library's store; the ``async`` methods of an app's store run on this event loop."""
        self._process.check()
        if self._app is None:
            return self._inner
        return _ffi.SessionStore.with_store_runner(StoreRunner(*self._app, loop))

    def _here(self) -> _ffi.SessionStore:
        return self.on(asyncio.get_running_loop())


_wrapping = threading.Lock()


def session_store_of(store: SessionStore | Store | None) -> SessionStore | None:
    """Returns the store with its sessions: one for each store of the app's, whose plain methods share a thread."""
    if not isinstance(store, Store):
        return store
    with _wrapping:
        made: SessionStore | None = vars(store).get("_sessions")
        if made is None or not made._process.is_here():
            made = SessionStore(store)
            vars(store)["_sessions"] = made
        return made


async def _lifted(telling: Coroutine[Any, Any, Any]) -> Any:
    return lift(await told(telling))


class MemoryStore(SessionStore):
    """A store in memory, which is gone with the process."""

    def __init__(self) -> None:
        self._app = None
        self._process = OwnProcess("store")
        self._inner = _ffi.SessionStore.in_memory()


@names_arguments
class SqliteStore(SessionStore):
    """A store in a file of its own, with the built-in SQLite::

        agent = Agent("openai:gpt-5-mini", store=await SqliteStore.open("chats.db"))
    """

    def __init__(self, opened: _ffi.SessionStore) -> None:
        self._app = None
        self._process = OwnProcess("store")
        self._inner = opened

    @classmethod
    async def open(cls, path: str | os.PathLike[str]) -> SqliteStore:
        """Opens a file, or creates it. SQLite keeps ``-wal`` and ``-shm`` alongside it."""
        OwnProcess("store")
        return cls(await told(_ffi.SessionStore.open_sqlite(os.fspath(path))))


@names_arguments
class PostgresStore(SessionStore):
    """A store on a PostgreSQL server, which several processes and machines share::

        store = await PostgresStore.open("postgres://app:secret@db/chats?sslmode=verify-full")
    """

    def __init__(self, opened: _ffi.SessionStore) -> None:
        self._app = None
        self._process = OwnProcess("store")
        self._inner = opened

    @classmethod
    async def open(cls, url: str, *, schema: str | None = None, max_connections: int = 10) -> PostgresStore:
        """Connects to the server, and creates the tables if there are none.

        The address is as libpq takes it; what it leaves out is taken from libpq's environment variables. The tables are in
        ``schema``, or in that of the user's search path. ``max_connections`` are those of this process, at least 3.
        """
        OwnProcess("store")
        return cls(await told(_ffi.SessionStore.open_postgres(url, schema, max_connections)))
