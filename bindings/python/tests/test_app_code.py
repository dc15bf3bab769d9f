"""Where the app's code runs, what it sees there, and what comes of what it raises."""

from __future__ import annotations

import argparse
import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import Agent, Conversation, Limits, MisuseError, Model, ToolInvocation, tool
from stepwell._ffi import stepwell_ffi as _ffi
from stepwell.updates import Finished, Success

Start = Callable[..., MockLlm]

who = contextvars.ContextVar("who", default="nobody")


def agent_of(mock: MockLlm, *tools: Callable[..., object], **settings: Any) -> Conversation[Any, Any]:
    return Agent(mock.model, tools=tools, **settings).conversation()


def results(finished: Finished) -> list[str]:
    return [str(message["content"]) for message in finished.messages if message["role"] == "tool"]


class Gone(BaseException):
    """As `pytest.fail` raises."""


@tool
def parse() -> str:
    """Parses."""
    argparse.ArgumentParser(prog="p", exit_on_error=True).exit(2)


@tool
async def leaves() -> str:
    sys.exit("bye")


@tool
def goes() -> str:
    raise Gone("away")


@tool
def stops() -> str:
    raise StopIteration("no more")


@tool
def fine() -> str:
    return "fine"


RAISES = ("parse", "leaves", "goes", "stops", "fine")
RAISED = {
    "parse": "SystemExit: 2",
    "leaves": "SystemExit: bye",
    "goes": "Gone: away",
    "stops": "RuntimeError: the tool raised StopIteration",
}
SAID = [*(f"`{name}` failed because of a mistake in its code: {text}" for name, text in RAISED.items()), "fine"]
"""What the model is shown where the app wants that."""


async def test_whatever_a_tool_raises_ends_that_call_only(mock_llm: Start) -> None:
    mock = mock_llm(calls(*((name, {}) for name in RAISES)), text("I see"))
    agent = agent_of(mock, parse, leaves, goes, stops, fine, on_tool_error="show")
    finished = await agent.stream("Go")._finish()
    assert (finished.outcome, results(finished)) == (Success(), SAID)


def test_in_a_plain_loop_too_and_later_turns_go_on(mock_llm: Start) -> None:
    mock = mock_llm(calls(*((name, {}) for name in RAISES)), text("I see"), repeat=True)
    agent = agent_of(mock, parse, leaves, goes, stops, fine, on_tool_error="show")
    for _ in range(2):
        finished = agent.stream_sync("Go")._finish()
        assert finished.outcome == Success()
        assert results(finished)[-5:] == SAID


async def test_an_approver_that_leaves_has_not_allowed_it(mock_llm: Start) -> None:
    @tool(requires_approval=True)
    def pay() -> str:
        return "paid"

    def approver(call: ToolInvocation) -> bool:
        sys.exit(1)

    agent = agent_of(mock_llm(calls(("pay", {})), text("I see")), pay, approver=approver)
    finished = await agent.stream("Go")._finish()
    assert results(finished) == ["the user did not allow the call: the user could not be asked"]


@tool
def interrupts() -> str:
    raise KeyboardInterrupt


@tool
async def interrupts_too() -> str:
    raise KeyboardInterrupt


@pytest.mark.parametrize("which", [interrupts, interrupts_too])
def test_an_interrupt_is_for_the_program(mock_llm: Start, which: Callable[..., object]) -> None:
    agent = agent_of(mock_llm(calls((which.name, {})), text("I see"), repeat=True), which, fine)  # type: ignore[attr-defined]

    async def main() -> None:
        await agent.stream("Go").result()

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    with pytest.raises(KeyboardInterrupt):
        agent.send_sync("Go")
    # Nothing hangs that comes later.
    other = agent_of(mock_llm(calls(("fine", {})), text("Well")), fine)
    assert other.send_sync("Go").text == "Well"


def test_what_wakes_a_loop_says_nothing_once_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    loop = asyncio.new_event_loop()
    handle = _ffi._UniffiContinuationHandleMap.insert((loop, loop.create_future()))
    loop.close()
    # As a thread of the library calls it.
    _ffi._uniffi_continuation_callback(handle, 0)
    assert told == []


async def test_an_approver_that_answers_otherwise_has_not_allowed_it(
    mock_llm: Start, caplog: pytest.LogCaptureFixture
) -> None:
    @tool(requires_approval=True)
    def pay() -> str:
        return "paid"

    agent = agent_of(mock_llm(calls(("pay", {})), text("I see")), pay, approver=lambda call: 1)
    finished = await agent.stream("Go")._finish()
    assert results(finished) == ["the user did not allow the call: the user could not be asked"]
    assert "the approver returned a value of the type int: return True, False" in caplog.text


async def test_cancelling_a_turn_reaches_its_tool(mock_llm: Start) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set()
            raise

    task = asyncio.ensure_future(agent_of(mock_llm(calls(("waits", {}))), waits).stream("Go")._finish())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ended.wait()


async def test_plain_tools_wait_for_each_other_as_many_as_run_side_by_side(mock_llm: Start) -> None:
    """A pool would have fewer threads, all of which wait."""
    many = 40
    all_of_them = threading.Barrier(many, timeout=600)

    @tool
    def meet(number: int) -> str:
        all_of_them.wait()
        return "met"

    hop = calls(*(("meet", {"number": number}) for number in range(many)))
    agent = agent_of(mock_llm(hop, text("Done")), meet, limits=Limits(max_parallel_tools=many))
    assert results(await agent.stream("Go")._finish()) == ["met"] * many


def test_each_turn_runs_its_tools_on_its_own_loop(mock_llm: Start) -> None:
    """Two threads with a loop each, which both have a turn of one agent under way."""
    both = threading.Barrier(2, timeout=600)
    loops: dict[str, asyncio.AbstractEventLoop] = {}
    ran_on: dict[str, asyncio.AbstractEventLoop] = {}
    ended: dict[str, object] = {}

    @tool
    async def where() -> str:
        ran_on[who.get()] = asyncio.get_running_loop()
        return who.get()

    agent = agent_of(mock_llm(calls(("where", {})), text("Done"), repeat=True), where)

    async def turn(name: str) -> None:
        who.set(name)
        loops[name] = asyncio.get_running_loop()
        # Both have bound the agent before either turn runs a tool.
        here = agent.agent.conversation(name)
        both.wait()
        turn = here.stream("Go")
        both.wait()
        ended[name] = (await turn._finish()).outcome
        both.wait()

    threads = [threading.Thread(target=lambda name=name: asyncio.run(turn(name))) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ended == {"a": Success(), "b": Success()}
    assert ran_on == loops


def test_the_callers_context_reaches_its_tools(mock_llm: Start) -> None:
    @tool
    def plain() -> str:
        return who.get()

    @tool
    async def asynchronous() -> str:
        return who.get()

    @tool(requires_approval=True)
    def asked() -> str:
        return who.get()

    def approver(call: ToolInvocation) -> bool:
        return who.get() == "alice"

    hop = calls(("plain", {}), ("asynchronous", {}), ("asked", {}))
    agent = agent_of(mock_llm(hop, text("Done"), repeat=True), plain, asynchronous, asked, approver=approver)

    async def main() -> list[str]:
        turn = agent.stream("Go")
        # What is set later is not the turn's.
        who.set("bob")
        return results(await turn._finish())

    def run() -> None:
        who.set("alice")
        assert results(agent.stream_sync("Go")._finish()) == ["alice"] * 3
        assert asyncio.run(main())[-3:] == ["alice"] * 3
        assert who.get() == "alice"

    contextvars.copy_context().run(run)


def test_a_turn_without_a_loop_says_what_to_do() -> None:
    agent = Agent(Model.openai_compatible("mock", base_url="http://localhost"))
    with pytest.raises(MisuseError, match="no event loop of asyncio runs here.*_sync"):
        agent.stream("Go")
