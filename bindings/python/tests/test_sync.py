"""Turns without an event loop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import (
    Agent,
    AuthenticationError,
    Conversation,
    Deferred,
    MisuseError,
    StepwellError,
    TextUpdate,
    ToolCallUpdate,
    ToolOutput,
    tool,
)
from stepwell.updates import Cancelled, Failed, Success, ToolCallStatus

Start = Callable[..., MockLlm]


def agent_of(mock: MockLlm, *tools: Callable[..., object], **settings: Any) -> Conversation[Any, Any]:
    return Agent(mock.model, tools=tools, **settings).conversation()


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name]


@tool
async def wait() -> str:
    """Waits without end."""
    await asyncio.Event().wait()
    return "never"


def test_a_plain_loop(mock_llm: Start) -> None:
    agent = agent_of(mock_llm(), get_secret_number)
    turn = agent.stream_sync("Go")
    events = list(turn)
    assert turn.outcome == Success()
    results = {event.call.index: event.result for event in events if isinstance(event, ToolCallUpdate)}
    assert results == {0: ToolOutput("42"), 1: ToolOutput("7")}
    assert turn.result().messages == agent.messages
    assert list(turn) == []


def test_one_line(mock_llm: Start) -> None:
    assert agent_of(mock_llm(text("Hello"))).send_sync("Hi").text == "Hello"


async def test_within_a_loop_that_runs(mock_llm: Start) -> None:
    agent = agent_of(mock_llm(), get_secret_number)
    assert agent.stream_sync("Go")._finish().outcome == Success()
    assert (await agent.stream("And again")._finish()).outcome == Success()


def test_async_tools_run_beside_each_other_and_off_the_callers_thread(mock_llm: Start) -> None:
    threads: set[str] = set()
    both = asyncio.Event()

    @tool
    async def meet(name: str) -> str:
        threads.add(threading.current_thread().name)
        if name == "b":
            both.set()
        await both.wait()
        return name

    mock = mock_llm(calls(("meet", {"name": "a"}), ("meet", {"name": "b"})), text("Met"))
    assert agent_of(mock, meet).send_sync("Go").text == "Met"
    assert threads == {"stepwell-sync"}


def test_leaving_the_loop_cancels(mock_llm: Start) -> None:
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]})
    for event in agent_of(mock).stream_sync("Go"):
        if isinstance(event, TextUpdate):
            break
    gc.collect()
    mock.wait_until(lambda requests: requests[0]["delivery"] == "client_left")


def test_with_cancels_at_its_end(mock_llm: Start) -> None:
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]})
    with agent_of(mock).stream_sync("Go") as turn:
        next(turn)
    assert turn._finish().outcome == Cancelled()


def test_waiting_has_an_end_and_loses_nothing(mock_llm: Start) -> None:
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]})
    turn = agent_of(mock).stream_sync("Go")
    while not isinstance(next(turn), TextUpdate):
        pass
    with pytest.raises(TimeoutError):
        while turn.wait(0.05):
            next(turn)
    turn.cancel()
    list(turn.updates(raise_on_error=False))
    assert turn.outcome == Cancelled()


def test_what_a_turn_is_told(mock_llm: Start) -> None:
    @tool
    def order(what: str) -> str:
        raise Deferred

    mock = mock_llm(calls(("order", {"what": "tea"}), ("wait", {})), text("Enjoy"))
    turn = agent_of(mock, order, wait).stream_sync("Tea")
    for event in turn:
        if isinstance(event, ToolCallUpdate) and event.status is ToolCallStatus.DEFERRED:
            turn.resolve_call(event.tool_call_id, "the tea is here")
        if isinstance(event, ToolCallUpdate) and (event.name, event.status) == ("wait", ToolCallStatus.EXECUTING):
            assert turn.steer("Quickly")
            turn.fail_call(event.tool_call_id, "enough")
    assert turn._outcome == Success()
    told = [message["content"] for message in mock.requests()[1]["body"]["messages"]]
    assert told[2:] == ["the tea is here", '{"error":"enough"}', "Quickly"]


def test_a_turn_that_rests_is_revived(mock_llm: Start) -> None:
    @tool
    def order(what: str) -> str:
        raise Deferred

    mock = mock_llm(calls(("order", {"what": "tea"})), text("Enjoy"))
    first = agent_of(mock, order)
    with first.stream_sync("Tea") as turn:
        snapshot = turn.rested()
        assert turn.snapshot() == snapshot
    turn._finish()
    (waiting,) = [call for message in first.messages.to_json() for call in message.get("toolCalls", [])]
    revived = first.agent.revive_sync(snapshot)
    revived.resolve_call(waiting["id"], "the tea is here")
    assert revived._finish().text == "Enjoy"


def test_a_turn_that_would_wait_for_itself_is_refused(mock_llm: Start) -> None:
    agent = agent_of(mock_llm(text("Hello")))
    caught: list[MisuseError] = []

    @tool
    async def ask() -> str:
        try:
            return agent.send_sync("Hi").text
        except MisuseError as error:
            caught.append(error)
            raise

    with pytest.raises(MisuseError):
        agent_of(mock_llm(calls(("ask", {})), text("Done")), ask).send_sync("Go")
    (error,) = caught
    assert "it would wait for itself" in error.message and "await `run` or `send`" in error.advice


def test_a_plain_tool_may_ask_another_agent(mock_llm: Start) -> None:
    inner = agent_of(mock_llm(text("42")))

    @tool
    def ask() -> str:
        return inner.send_sync("Hi").text

    finished = agent_of(mock_llm(calls(("ask", {})), text("Done")), ask).stream_sync("Go")._finish()
    assert [message["content"] for message in finished.messages if message["role"] == "tool"] == ["42"]


def test_a_failure_is_an_exception_unless_asked_not_to(mock_llm: Start) -> None:
    refused = {"status": 401, "error": "Incorrect API key provided"}
    agent = agent_of(mock_llm(refused, refused))
    assert isinstance(agent.stream_sync("Hi")._finish().outcome, Failed)
    with pytest.raises(StepwellError, match="Incorrect API key provided") as caught:
        agent.send_sync("Hi")
    assert caught.value.advice == "give another key"
    assert isinstance(caught.value, AuthenticationError)


@pytest.mark.parametrize(
    ("hop", "reason"),
    [
        ({"steps": [{"text": "Half"}, "end_early"]}, "ended before the answer did"),
        ({"steps": [{"text": "Half"}, {"error_event": "overheated"}]}, "overheated"),
    ],
)
def test_other_failures_have_advice_too(mock_llm: Start, hop: dict[str, Any], reason: str) -> None:
    with pytest.raises(StepwellError, match=reason) as caught:
        agent_of(mock_llm(hop)).send_sync("Hi")
    assert caught.value.advice


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one child")
def test_ctrl_c_cancels_the_turn(mock_llm: Start) -> None:
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]})
    program = """
        import sys
        from stepwell import Agent, Model, TextUpdate
        try:
            for event in Agent(Model.openai_compatible("m", base_url=sys.argv[1])).stream_sync("Go"):
                if isinstance(event, TextUpdate):
                    print("began", flush=True)
        except KeyboardInterrupt:
            print("stopped")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program), mock.base_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdout.readline() == "began\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.communicate() == ("stopped\n", "")
    assert process.returncode == 0
    mock.wait_until(lambda requests: requests[0]["delivery"] == "client_left")
