"""A turn that is cancelled has ended, with its tools, before whoever cancelled it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, text

from stepwell import Agent, Conversation, Turn, TurnCancelledError, tool
from stepwell.asgi import to_ag_ui
from stepwell.sync import SyncTurn, _thread
from stepwell.updates import Cancelled

Start = Callable[..., MockLlm]


class Slow:
    """A tool that takes its time to clean up."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = False

    def tool(self) -> Any:
        @tool
        async def waits() -> None:
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                # Some rounds of the loop: a stop that is told only does not take so long.
                for _ in range(50):
                    await asyncio.sleep(0)
                self.ended = True

        return waits


def agent_of(mock: MockLlm, *tools: Any) -> Conversation[Any, Any]:
    return Agent(mock.model, tools=tools).conversation()


SCRIPT: dict[str, Any] = {"steps": [{"text": "Wait."}, {"tool_call": {"name": "waits", "arguments": {}}}]}


def said(agent: Conversation[Any, Any]) -> list[str]:
    return [str(message["role"]) for message in agent.messages.to_json()]


async def awaiting(turn: Turn[Any]) -> None:
    await turn.result()


async def looping(turn: Turn[Any]) -> None:
    async for _ in turn:
        pass


async def finishing(turn: Turn[Any]) -> None:
    await turn._finish()


@pytest.mark.parametrize("wait", [awaiting, looping, finishing])
async def test_cancelling_who_waits_ends_the_tools_first(mock_llm: Start, wait: Callable[[Turn], Any]) -> None:
    slow = Slow()
    agent = agent_of(mock_llm(SCRIPT), slow.tool())
    task = asyncio.ensure_future(wait(agent.stream("Go")))
    await slow.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert slow.ended
    assert said(agent)[:2] == ["user", "assistant"]


async def test_leaving_the_block_ends_the_tools_first(mock_llm: Start) -> None:
    slow = Slow()
    agent = agent_of(mock_llm(SCRIPT), slow.tool())
    async with agent.stream("Go") as turn:
        await slow.begun.wait()
    assert slow.ended
    assert said(agent)[:2] == ["user", "assistant"]
    # What was not read of it is still there.
    with pytest.raises(TurnCancelledError):
        async for _ in turn:
            pass


async def test_finish_after_cancel_ends_the_tools_first(mock_llm: Start) -> None:
    slow = Slow()
    agent = agent_of(mock_llm(SCRIPT), slow.tool())
    turn = agent.stream("Go")
    await slow.begun.wait()
    turn.cancel()
    assert (await turn._finish()).outcome == Cancelled()
    assert slow.ended


async def test_a_recovered_turn_waits_for_its_own_tools(mock_llm: Start) -> None:
    slow, other = Slow(), Slow()
    agent = agent_of(mock_llm(SCRIPT, SCRIPT), slow.tool())
    turn = agent.stream("Go")
    runner = turn._runner
    # As `recover` shares it.
    runner.is_shared = True
    await slow.begun.wait()
    runner._of = {task: "mine" for task in runner._running}
    lasting: Any = asyncio.ensure_future(other.begun.wait())
    runner._running[-1], runner._of[-1] = lasting, "another"
    await runner.end("mine")
    assert slow.ended and not lasting.done()
    lasting.cancel()
    turn.cancel()
    await turn._finish()


async def test_a_second_cancel_ends_the_waiting(mock_llm: Start) -> None:
    begun, may_end, cleaning = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool
    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await may_end.wait()

    task = asyncio.ensure_future(agent_of(mock_llm(SCRIPT), waits).stream("Go")._finish())
    await begun.wait()
    task.cancel()
    await cleaning.wait()
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    may_end.set()


async def test_a_tool_may_wait_for_the_turn_that_it_cancels(mock_llm: Start) -> None:
    turns: list[Turn] = []

    @tool
    async def waits() -> None:
        turns[0].cancel()
        await turns[0]._finish()

    turns.append(agent_of(mock_llm(SCRIPT), waits).stream("Go"))
    assert (await turns[0]._finish()).outcome == Cancelled()


async def test_leaving_the_run_of_a_turn_ends_the_tools_first(mock_llm: Start) -> None:
    slow = Slow()
    run: Any = to_ag_ui(agent_of(mock_llm(SCRIPT), slow.tool()).stream("Go"))
    async for event in run:
        if event["type"] == "TOOL_CALL_END":
            break
    await slow.begun.wait()
    await run.aclose()
    assert slow.ended


def test_leaving_a_plain_block_ends_the_tools_first(mock_llm: Start) -> None:
    async def made() -> Slow:
        return Slow()

    slow = _thread.wait_for(made())
    agent = agent_of(mock_llm(SCRIPT), slow.tool())
    with agent.stream_sync("Go") as turn:
        assert isinstance(turn, SyncTurn)
        _thread.wait_for(slow.begun.wait())
    assert slow.ended
    assert said(agent)[:2] == ["user", "assistant"]


async def test_a_turn_that_went_well_waits_for_nothing(mock_llm: Start) -> None:
    """A call that was answered from elsewhere may still clean up."""
    begun, may_end = asyncio.Event(), asyncio.Event()

    @tool
    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()

    hops = {"steps": [{"tool_call": {"name": "waits", "id": "call", "arguments": {}}}]}, text("Done")
    turn = agent_of(mock_llm(*hops), waits).stream("Go")
    await begun.wait()
    await turn.resolve_call("call", "answered")
    assert (await turn.result()).text == "Done"
    may_end.set()
