"""Many turns: one after the other without a leak, and side by side; and what a listener or a tool may do to them."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from conftest import THOROUGH, MockLlm, calls, text
from machines import STOP, at, config, delta, opened

from stepwell import Agent, ToolCallUpdate, tool
from stepwell.machine import RunMachine
from stepwell.updates import Cancelled, Success, ToolFailure, ToolFailureKind

Start = Callable[..., MockLlm]

MIB = 1 << 20
ANSWER = "word " * 8_000
"""40 kB: a turn that is not let go of weighs more than that, in the library and here."""
TURNS = 1_000 if THOROUGH else 50
BOUND = TURNS * len(ANSWER) // 3
"""What these turns may leave: a third of an answer each."""

LIBC = ctypes.CDLL(None)


class MallInfo(ctypes.Structure):
    """What glibc says of its memory."""

    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


needs_glibc = pytest.mark.skipif(not hasattr(LIBC, "mallinfo2"), reason="the memory is asked of glibc")
if hasattr(LIBC, "mallinfo2"):
    LIBC.mallinfo2.restype = MallInfo


def held() -> int:
    """What the process has taken with `malloc` and not given back, in bytes: the library's memory, and Python's long strings."""
    gc.collect()
    info = LIBC.mallinfo2()
    return int(info.uordblks + info.hblkhd)


def grown(turns: int, turn: Callable[[], object]) -> int:
    """By how much memory grows over so many turns, after some that warm up."""
    for _ in range(20):
        turn()
    before = held()
    for _ in range(turns):
        turn()
    return held() - before


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[str], None]]:
    def say(line: str) -> None:
        with capsys.disabled():
            print(f"\n{line}")

    yield say


def machine_turn() -> RunMachine:
    machine = RunMachine(config())
    effect = opened(machine)
    body = delta(ANSWER) + STOP
    for start in range(0, len(body), 4096):
        machine.receive(effect, body[start : start + 4096], now=at(1000))
    machine.ended(effect, now=at(1000))
    assert machine.outcome == Success()
    return machine


@needs_glibc
def test_many_turns_through_run_machine_leave_nothing(printed: Callable[[str], None]) -> None:
    growth = grown(TURNS, machine_turn)
    printed(f"RunMachine: {TURNS} turns of {len(ANSWER):,} bytes leave {growth / MIB:.1f} MiB")
    assert growth < BOUND


@needs_glibc
def test_a_leak_would_be_seen() -> None:
    kept: list[RunMachine] = []
    growth = grown(TURNS, lambda: kept.append(machine_turn()))
    assert growth > BOUND


@needs_glibc
def test_many_turns_through_agent_leave_nothing(mock_llm: Start, printed: Callable[[str], None]) -> None:
    @tool
    async def look(what: str) -> str:
        return what

    asked, said = calls(("look", {"what": ANSWER})), text("Done.")
    for hop in (asked, said):
        hop["pieces"] = 4096
    mock = mock_llm(asked, said, repeat=True)

    async def many() -> int:
        async def turns(number: int) -> None:
            for _ in range(number // 2):
                agent = Agent(mock.model, tools=[look])
                for _ in range(2):
                    assert (await agent.run("Go")).stop_reason == "complete"

        await turns(20)
        before = held()
        await turns(TURNS)
        return held() - before

    growth = asyncio.run(many())
    printed(f"Agent: {TURNS} turns with a tool leave {growth / MIB:.1f} MiB")
    assert growth < BOUND


async def test_fifty_turns_at_once(mock_llm: Start) -> None:
    here, everybody = 0, asyncio.Event()

    @tool
    async def meet(name: str) -> str:
        # None goes on before all have come: they really are under way together.
        nonlocal here
        here += 1
        if here == 100:
            everybody.set()
        await everybody.wait()
        return name

    mock = mock_llm(calls(("meet", {"name": "a"}), ("meet", {"name": "b"})), text("All met."), repeat=True)
    agents = [Agent(mock.model, tools=[meet]) for _ in range(50)]
    finished = await asyncio.gather(*(agent.stream("Go")._finish() for agent in agents))
    assert [one.outcome for one in finished] == [Success()] * 50
    assert {one.text for one in finished} == {"All met."}
    assert (len(mock.requests()), mock.failures()) == (100, [])


def test_fifty_turns_at_once_from_threads(mock_llm: Start) -> None:
    mock = mock_llm()
    together = threading.Barrier(50)

    @tool
    async def get_secret_number(name: str) -> int:
        return 42

    said: list[str] = []

    def turn() -> None:
        agent = Agent(mock.model, tools=[get_secret_number])
        together.wait()
        said.append(agent.run_sync("Go").text)

    threads = [threading.Thread(target=turn) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == 50 and all(each.endswith("Bob's is 7") for each in said)
    assert mock.failures() == []


async def test_a_slow_plain_tool_holds_up_nobody(mock_llm: Start) -> None:
    release = threading.Event()

    @tool
    def slow() -> str:
        release.wait()
        return "at last"

    mock = mock_llm(calls(("slow", {})), text("Well then."))
    turn = Agent(mock.model, tools=[slow]).stream("Go")
    other = Agent(mock_llm(text("Quick")).model)
    async for event in turn:
        if isinstance(event, ToolCallUpdate) and event.status.value == "executing":
            assert (await other.stream("Hi").result()).text == "Quick"
            release.set()
    assert turn._outcome == Success()


@pytest.mark.parametrize("blocking", [True, False])
async def test_a_tool_that_is_too_slow_is_given_up(mock_llm: Start, blocking: bool) -> None:
    release = threading.Event()

    def block() -> str:
        release.wait()
        return "too late"

    async def wait() -> str:
        await asyncio.Event().wait()
        return "never"

    slow = tool(name="slow", timeout=0.05)(block if blocking else wait)
    mock = mock_llm(calls(("slow", {})), text("Never mind."))
    agent = Agent(mock.model, tools=[slow]).conversation()
    (result,) = [e.result async for e in agent.stream("Go") if isinstance(e, ToolCallUpdate) and e.result]
    release.set()
    assert isinstance(result, ToolFailure) and result.kind is ToolFailureKind.TIMED_OUT
    assert [message.role for message in agent.messages] == ["user", "assistant", "tool", "assistant"]


ways: dict[str, Callable[[Agent[None, str]], Awaitable[object]]] = {
    "wait_for": lambda agent: asyncio.wait_for(agent.run("Go"), 60),
    "gather": lambda agent: asyncio.gather(agent.run("Go")),
    "task": lambda agent: asyncio.create_task(agent.run("Go")),
    "conversation": lambda agent: agent.conversation().send("Go"),
    "result": lambda agent: agent.stream("Go").result(),
}


@pytest.mark.parametrize("way", ways)
async def test_cancelling_any_way_of_waiting_cancels_the_turn(mock_llm: Start, way: str) -> None:
    running, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    mock = mock_llm(calls(("slow", {})), text("Again"))
    agent = Agent(mock.model, tools=[slow])
    task = asyncio.ensure_future(ways[way](agent))
    await running.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await stopped.wait()
    assert (await agent.stream("Go on")._finish()).outcome == Success()


async def test_a_timeout_of_asyncio_closes_the_connection(mock_llm: Start) -> None:
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]})
    agent = Agent(mock.model)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(agent.stream("Go")._finish(), 0.2)
    await asyncio.to_thread(mock.wait_until, lambda requests: not requests or requests[0]["delivery"] == "client_left")


async def test_cancelling_fifty_turns_leaves_no_task(mock_llm: Start) -> None:
    @tool
    async def slow() -> str:
        await asyncio.Event().wait()
        return "never"

    mock = mock_llm(calls(("slow", {})), repeat=True)
    agents = [Agent(mock.model, tools=[slow]) for _ in range(50)]
    turns = [agent.stream("Go") for agent in agents]

    async def until_cancelled(turn: Any) -> None:
        async for event in turn.updates(raise_on_error=False):
            if isinstance(event, ToolCallUpdate) and event.status.value == "executing":
                turn.cancel()

    await asyncio.gather(*map(until_cancelled, turns))
    assert {turn._outcome for turn in turns} == {Cancelled()}
    left = [task for task in asyncio.all_tasks() if task.get_name().startswith("stepwell-")]
    await asyncio.gather(*left, return_exceptions=True)
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("stepwell-")]
