"""Turns that survive: in the stores that come along, and in two of an app's own."""

from __future__ import annotations

import asyncio
import contextvars
import importlib.util
import subprocess
import sys
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

import pytest
from conftest import ROOT, MockLlm, calls, postgres_url, text
from machines import at

from stepwell import (
    Agent,
    Conversation,
    MemoryStore,
    Model,
    SessionStore,
    PostgresStore,
    SqliteStore,
    StoreError,
    ThreadKey,
    ToolCallUpdate,
    Turn,
    tool,
)
from stepwell.machine import Block, RetryPolicy, TurnStatus
from stepwell.sessions import Role
from stepwell.stores import (
    Busy,
    Claimed,
    Closed,
    Conflict,
    EventLog,
    Exists,
    Full,
    Gap,
    NewTurn,
    NoThread,
    NoTurn,
    PersistBatch,
    Refused,
    Stale,
    Store,
    StoreFailure,
    ThreadCursor,
    ThreadQuery,
    ThreadRecord,
    TurnKey,
    TurnRecord,
    Unfinished,
)
from stepwell.updates import Cancelled, Failed, NotStored, Success, ToolCallStatus, Update, WarningUpdate

Start = Callable[..., MockLlm]

OWN_STORE = ROOT / "examples" / "python" / "own_store.py"


_opened: list[Any] = []


def own_store(path: Path) -> Store:
    """The example's; it is closed when the test is over."""
    spec = importlib.util.spec_from_file_location("own_store", OWN_STORE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    _opened.append(module.OwnStore(str(path)))
    return cast(Store, _opened[-1])


@pytest.fixture(autouse=True)
def closes() -> Iterator[None]:
    yield
    while _opened:
        _opened.pop().close()


class AsyncStore(Store):
    """As the store over sqlite3, but each method is ``async`` and lets others run first."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.loops: set[asyncio.AbstractEventLoop] = set()

    async def _do(self, method: str, *arguments: Any) -> Any:
        self.loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return getattr(self.inner, method)(*arguments)

    async def begin_turn(self, turn: NewTurn) -> int:
        return cast(int, await self._do("begin_turn", turn))

    async def claim(self, turn: TurnKey, seen: int, owner: str) -> Claimed:
        return cast(Claimed, await self._do("claim", turn, seen, owner))

    async def persist(self, turn: TurnKey, generation: int, batch: PersistBatch) -> None:
        await self._do("persist", turn, generation, batch)

    async def unfinished(self, owner: str | None) -> list[Unfinished]:
        return cast(list[Unfinished], await self._do("unfinished", owner))

    async def turn(self, turn: TurnKey) -> TurnRecord | None:
        return cast("TurnRecord | None", await self._do("turn", turn))

    async def turns(self, thread: ThreadKey) -> list[TurnRecord]:
        return cast(list[TurnRecord], await self._do("turns", thread))

    async def thread(self, thread: ThreadKey) -> ThreadRecord | None:
        return cast("ThreadRecord | None", await self._do("thread", thread))

    async def threads(self, query: ThreadQuery) -> list[ThreadRecord]:
        return cast(list[ThreadRecord], await self._do("threads", query))

    async def rename_thread(self, thread: ThreadKey, title: str) -> None:
        await self._do("rename_thread", thread, title)

    async def delete_thread(self, thread: ThreadKey) -> bool:
        return cast(bool, await self._do("delete_thread", thread))


AnyStore = Store | SessionStore
MakeStore = Callable[[Path], Awaitable[AnyStore]]


async def in_memory(_: Path) -> AnyStore:
    return MemoryStore()


async def in_sqlite(folder: Path) -> AnyStore:
    return await SqliteStore.open(folder / "stepwell.db")


async def in_own(folder: Path) -> AnyStore:
    return own_store(folder / "own.db")


async def in_async(folder: Path) -> AnyStore:
    return AsyncStore(own_store(folder / "own.db"))


async def in_postgres(_: Path) -> AnyStore:
    return await PostgresStore.open(postgres_url(), schema=f"python_{uuid.uuid4().hex}", max_connections=4)


every_store = pytest.mark.parametrize("make", [in_memory, in_sqlite, in_postgres, in_own, in_async])


@tool(idempotent=True)
def number() -> int:
    """The number."""
    return 42


def agent_of(mock: MockLlm, store: AnyStore, *tools: Callable[..., object], **others: Any) -> Conversation[None, str]:
    """The conversation `thread` of an agent."""
    return Agent(mock.model, store=store, tools=tools or (number,), **others).conversation("thread")


@every_store
async def test_a_turn_is_there_after_a_restart(mock_llm: Start, make: MakeStore, tmp_path: Path) -> None:
    mock = mock_llm(calls(("number", {})), text("It is 42"), text("As I said"))
    store = await make(tmp_path)
    agent = agent_of(mock, store)
    assert (await agent.stream("What is the *number*?")._finish()).outcome == Success()
    sessions = agent.agent.store
    assert sessions is not None

    (listed,) = await sessions.threads()
    assert (listed.key, listed.title, listed.unfinished) == (ThreadKey("thread"), "What is the number?", None)
    assert listed.created_at <= listed.updated_at <= datetime.now(timezone.utc)
    assert await sessions.thread("thread") == listed
    view = await sessions.view("thread")
    assert [(turn.id, turn.status, turn.outcome) for turn in view.turns] == [
        (listed.latest, TurnStatus.COMPLETE, Success())
    ]
    assert [(message.role, message.text) for message in view.messages] == [
        (Role.USER, "What is the *number*?"),
        (Role.ASSISTANT, ""),
        (Role.ASSISTANT, "It is 42"),
    ]
    (execution,) = view.messages[1].tool_executions
    assert (execution.tool_name, execution.args, execution.result) == ("number", {}, "42")
    assert execution.status is ToolCallStatus.COMPLETED
    assert await sessions.messages("thread") == agent.messages.to_json()

    # Another process has nothing but the store.
    assert (await agent_of(mock, sessions).stream("Sure?")._finish()).outcome == Success()
    roles = [message["role"] for message in mock.requests()[2]["body"]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert mock.failures() == []


@every_store
async def test_what_was_said_is_said_otherwise(mock_llm: Start, make: MakeStore, tmp_path: Path) -> None:
    mock = mock_llm(text("Bergen"), text("Rain"), text("Sun"), text("Elsewhere"))
    agent = agent_of(mock, await make(tmp_path))
    sessions = agent.agent.store
    assert sessions is not None
    await agent.stream("Where?").result()
    await agent.stream("And the weather?").result()
    first, second = await sessions.turns("thread")
    edited = await agent.resend(second.id, "And tomorrow?")
    assert (await edited.result()).stop_reason == "complete"
    *_, third = await sessions.turns("thread")
    assert third.parent == second.parent == first.id

    async def said(turn: str | None) -> list[str]:
        return [message.text for message in (await sessions.view("thread", turn)).messages]

    assert await said(None) == ["Where?", "Bergen", "And tomorrow?", "Sun"]
    assert await said(second.id) == ["Where?", "Bergen", "And the weather?", "Rain"]
    with pytest.raises(StoreError, match="no such turn"):
        await agent.resend("no such turn", "?")

    other = agent.agent.conversation(ThreadKey("other", room="room"))
    assert (await other.stream("And there?").result()).text == "Elsewhere"
    assert other.id == "other" and agent.id == "thread"
    assert [record.key.thread for record in await sessions.threads(limit=1)] == ["other"]
    latest = (await sessions.threads())[0]
    cursor = ThreadCursor(latest.updated_at, latest.key)
    assert [record.key.thread for record in await sessions.threads(after=cursor)] == ["thread"]
    assert [record.key.thread for record in await sessions.threads(room="room")] == ["other"]

    await sessions.rename_thread("thread", "Weather")
    record = await sessions.thread("thread")
    assert record is not None and record.title == "Weather"
    with pytest.raises(StoreError, match="no thread"):
        await sessions.rename_thread("none", "Weather")
    assert await agent.delete()
    assert await sessions.thread("thread") is None
    assert not await sessions.delete_thread("thread")
    assert mock.failures() == []


async def all_of(turn: Turn[Any]) -> list[Update]:
    return [event async for event in turn.updates(raise_on_error=False)]


@every_store
async def test_the_owner_before_is_refused(mock_llm: Start, make: MakeStore, tmp_path: Path) -> None:
    """Who drives a turn keeps it, until the user moves on elsewhere: then it comes back too late."""
    mock = mock_llm(calls(("slow", {})), text("It is 42"))
    begun, may_end = asyncio.Event(), asyncio.Event()

    @tool(name="slow", idempotent=True)
    async def held() -> int:
        begun.set()
        await may_end.wait()
        return 41

    @tool(name="slow", idempotent=True)
    async def quick() -> int:
        return 42

    store = await make(tmp_path)
    sessions = SessionStore(store) if isinstance(store, Store) else store
    lost = agent_of(mock, sessions, held).stream("What is the number?")
    await begun.wait()

    agent = agent_of(mock, sessions, quick)
    assert await agent.agent.recover() == []
    assert (await agent.stream("Never mind", when_busy="cancel")._finish()).outcome == Success()

    may_end.set()
    events = await all_of(lost)
    assert lost._outcome == Cancelled()
    warnings = [event.message for event in events if isinstance(event, WarningUpdate)]
    assert any("has generation 2 by now, and the writer has 1" in warning for warning in warnings), warnings
    view = await sessions.view("thread")
    assert [turn.status for turn in view.turns] == [TurnStatus.CANCELLED, TurnStatus.COMPLETE]
    assert view.messages[-1].text == "It is 42"
    assert await agent.agent.recover() == []


DIES = """
import asyncio, importlib.util, os, sys
from stepwell import Agent, Model, SqliteStore, tool

@tool
def slow() -> int:
    "The number."
    os._exit(9)

async def main() -> None:
    _, base_url, kind, path = sys.argv
    if kind == "own":
        sys.path.insert(0, os.path.dirname(path))
        from own_store import OwnStore
        store = OwnStore(os.environ["DATABASE"])
    else:
        store = await SqliteStore.open(os.environ["DATABASE"])
    agent = Agent(Model.openai_compatible("mock", base_url=base_url), store=store, tools=[slow])
    await agent.conversation("thread").send("What is the number?")

asyncio.run(main())
"""


@pytest.mark.parametrize("kind", ["own", "sqlite"])
async def test_a_process_that_is_killed_in_a_tool(mock_llm: Start, kind: str, tmp_path: Path) -> None:
    mock = mock_llm(calls(("slow", {})), text("I do not know"))
    database = tmp_path / "app.db"
    killed = subprocess.run(
        [sys.executable, "-c", DIES, mock.base_url, kind, str(OWN_STORE)],
        env={"DATABASE": str(database), "PYTHONPATH": ":".join(sys.path)},
        check=False,
    )
    assert killed.returncode == 9
    ran: list[str] = []

    @tool
    def slow() -> int:
        ran.append("slow")
        return 42

    store = own_store(database) if kind == "own" else await SqliteStore.open(database)
    agent = agent_of(mock, store, slow)
    assert agent.agent.store is not None
    record = await agent.agent.store.thread("thread")
    assert record is not None and record.unfinished is not None
    (recovered,) = await agent.agent.recover()
    assert recovered.turn is not None
    events = await all_of(recovered.turn)
    assert recovered.turn._outcome == Success()
    results = [event.result for event in events if isinstance(event, ToolCallUpdate) and event.result is not None]
    assert "whether it did its work is not known" in str(results) or "OUTCOME_UNKNOWN" in str(results), results
    assert ran == [], "a tool that had begun is not run twice"
    assert (await recovered.turn.result()).text == "I do not know"
    assert mock.failures() == []


async def test_a_store_that_fails_is_tried_again(mock_llm: Start, tmp_path: Path) -> None:
    class Shaky(AsyncStore):
        failures = 2

        async def persist(self, turn: TurnKey, generation: int, batch: PersistBatch) -> None:
            if self.failures:
                self.failures -= 1
                raise ConnectionError("no route")
            await super().persist(turn, generation, batch)

    store = Shaky(own_store(tmp_path / "own.db"))
    at_once = RetryPolicy(first_delay=0.0, max_delay=0.0)
    agent = agent_of(mock_llm(text("Hello")), store, retry=at_once)
    turn = agent.stream("Hi")
    events = await all_of(turn)
    assert turn._outcome == Success()
    warnings = [event.message for event in events if isinstance(event, WarningUpdate)]
    assert len(warnings) == 2 and "ConnectionError: no route" in warnings[0]
    assert store.loops == {asyncio.get_running_loop()}


async def test_a_store_that_is_full_is_said(mock_llm: Start, tmp_path: Path) -> None:
    class FullStore(AsyncStore):
        async def begin_turn(self, turn: NewTurn) -> int:
            raise Full("9 of 9 pages")

        async def threads(self, query: ThreadQuery) -> list[ThreadRecord]:
            raise Full("9 of 9 pages")

    at_once = RetryPolicy(first_delay=0.0, max_delay=0.0)
    agent = agent_of(mock_llm(), FullStore(own_store(tmp_path / "own.db")), retry=at_once)
    outcome = (await agent.stream("Hi")._finish()).outcome
    assert isinstance(outcome, Failed) and isinstance(outcome.failure, NotStored)
    assert "9 of 9 pages" in outcome.message
    assert agent.agent.store is not None
    with pytest.raises(StoreError, match="9 of 9 pages.*make room"):
        await agent.agent.store.threads()


async def test_an_agent_without_a_store(mock_llm: Start) -> None:
    agent = Agent(Model.openai_compatible("mock", base_url="http://localhost/v1")).conversation("thread")
    assert agent.agent.store is None
    assert await agent.agent.recover() == []
    assert not await agent.delete()
    with pytest.raises(StoreError, match="no store"):
        await agent.resend("turn", "?")
    with pytest.raises(StoreError):
        await SqliteStore.open("/no such folder/app.db")


def test_a_loop_of_its_own_each(mock_llm: Start, tmp_path: Path) -> None:
    """One store, used in one event loop after another."""
    store = AsyncStore(own_store(tmp_path / "own.db"))
    mock = mock_llm(text("Hello"), text("Again"))
    agent = agent_of(mock, store)
    for said in ("Hello", "Again"):

        async def send() -> str:
            return (await agent.stream("Hi").result()).text

        assert asyncio.run(send()) == said
    assert len(store.loops) == 2


async def test_what_a_store_of_the_apps_own_refuses(tmp_path: Path) -> None:
    """The rules that Stepwell's own stores are held to, for the example's."""
    store: Any = own_store(tmp_path / "own.db")
    thread = ThreadKey("t", "r", "s")

    def begin(turn: str, parent: str | None = None) -> None:
        new = NewTurn(TurnKey(thread, turn), parent, {"role": "user"}, None, "checkpoint", "host", "Title", at(1))
        assert store.begin_turn(new) == 1

    def write(first: int, *texts: str, end: bool = False) -> PersistBatch:
        blocks = [Block(first + place, 0, {"type": "text", "text": said}) for place, said in enumerate(texts)]
        status = TurnStatus.COMPLETE if end else TurnStatus.STREAMING
        return PersistBatch(first, blocks, status, "success" if end else None, f"after {first}", 0, [], at(2))

    begin("a")
    key = TurnKey(thread, "a")
    for error, refused in (
        (Exists, lambda: begin("a")),
        (Busy, lambda: begin("b")),
        (Gap, lambda: store.persist(key, 1, write(1, "x"))),
        (Stale, lambda: store.persist(key, 2, write(0, "x"))),
        (Stale, lambda: store.claim(key, 2, "other")),
        (NoTurn, lambda: store.claim(TurnKey(thread, "c"), 1, "other")),
        (NoThread, lambda: store.rename_thread(ThreadKey("none"), "x")),
    ):
        with pytest.raises(error):
            refused()
    store.persist(key, 1, write(0, "x", "y"))
    store.persist(key, 1, write(0, "x", "y"))
    store.persist(key, 1, write(1, "y", "z"))
    with pytest.raises(Conflict):
        store.persist(key, 1, write(2, "other"))
    assert store.claim(key, 1, "other") == Claimed(2, "after 1")
    assert [found.owner for found in store.unfinished(None)] == ["other"]
    assert store.unfinished("host") == []
    with pytest.raises(Stale):
        store.persist(key, 1, write(3, end=True))
    store.persist(key, 2, write(3, end=True))
    store.persist(key, 2, write(3, end=True))
    for late in (write(3, "w"), write(3), write(3, "w", end=True)):
        with pytest.raises(Closed):
            store.persist(key, 2, late)
    with pytest.raises(Closed):
        store.claim(key, 2, "host")
    with pytest.raises(NoTurn):
        begin("b", "none")
    begin("b", "a")
    texts = [block.block.content["text"] for block in store.turn(key).blocks]
    assert texts == ["x", "y", "z"]
    assert [turn.parent for turn in store.turns(thread)] == [None, "a"]
    record = store.thread(thread)
    assert (record.latest, record.title, record.unfinished.key.turn) == ("b", "Title", "b")
    assert store.delete_thread(thread) and not store.delete_thread(thread)
    assert store.turns(thread) == [] and store.turn(key) is None
    with pytest.raises(NoTurn):
        store.persist(TurnKey(thread, "b"), 1, write(0, "x"))
    assert store.events(key, None, 1) == [] and store.event_log(key) == EventLog(0, None)
    with pytest.raises(Refused):
        store.append_events(key, 1, 0, ["x"])


def test_errors_say_what_they_are_of() -> None:
    from stepwell._ffi import stepwell_ffi as _ffi
    from stepwell.stores import _lower_error

    for error in (
        Stale("t", given=1, current=2),
        Busy("t", generation=1, owner="o"),
        Exists("t"),
        Closed("t"),
        Gap("t", given=3, next=2),
        Conflict("t", number=1),
        NoTurn("t"),
        NoThread(ThreadKey("t")),
        Refused("why"),
        Full("why"),
    ):
        lowered = _lower_error(error)
        assert isinstance(lowered, _ffi.StoreError), error
        assert all(getattr(lowered, name) is not None for name in error._fields)

    class Own(Full):
        """A kind of the app's own."""

    assert type(_lower_error(Own("why"))).__name__ == "Full"
    assert isinstance(Own("why"), StoreFailure)


def test_each_turn_reaches_the_store_from_its_own_loop_and_context(
    mock_llm: Callable[..., MockLlm], tmp_path: Path
) -> None:
    used_by: dict[str, set[asyncio.AbstractEventLoop]] = {"a": set(), "b": set()}
    loops: dict[str, asyncio.AbstractEventLoop] = {}
    both = threading.Barrier(2, timeout=600)
    who = contextvars.ContextVar("who", default="nobody")

    class Watching(AsyncStore):
        async def _do(self, method: str, *arguments: Any) -> Any:
            used_by[who.get()].add(asyncio.get_running_loop())
            return await super()._do(method, *arguments)

    mock = mock_llm(text("Hello"), repeat=True)
    store = Watching(own_store(tmp_path / "own.db"))
    agent = Agent(mock.model, store=store)

    async def turn(name: str) -> None:
        who.set(name)
        loops[name] = asyncio.get_running_loop()
        begun = agent.conversation(name).stream("Hi")
        both.wait()
        assert (await begun.result()).stop_reason == "complete"
        both.wait()

    threads = [threading.Thread(target=asyncio.run, args=(turn(name),)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert used_by == {name: {loop} for name, loop in loops.items()}
