"""The sans-IO API, with httpx as the app's own HTTP client."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import timedelta, timezone
from typing import Any

import httpx
import pytest
from conftest import MockLlm, calls, text
from machines import STOP, at, config, delta, opened

from stepwell import MisuseError, Tool, ToolCallUpdate, tool
from stepwell.machine import (
    Completed,
    TextMessageContent,
    AskApproval,
    CancelTool,
    CloseStream,
    OpenStream,
    Outputs,
    Persist,
    RetryPolicy,
    RunMachine,
    RunTool,
    StateKind,
    Timeouts,
    TurnStatus,
)
from stepwell.stores import TurnBlock, TurnRecord
from stepwell.updates import (
    AddChange,
    AnswerDropped,
    AppendChange,
    Cancelled,
    EndChange,
    Event,
    Failed,
    ToolArgumentsUpdate,
    Retrying,
    Success,
    ToolFailure,
    ToolFailureKind,
)

Start = Callable[..., MockLlm]


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name]


async def drive(machine: RunMachine, outputs: Outputs, tools: dict[str, Tool[..., Any]]) -> list[Event]:
    """The host's loop, with httpx."""
    events: list[Event] = []
    waiting = [outputs]

    async with httpx.AsyncClient() as client:
        while waiting:
            batch = waiting.pop(0)
            events += batch.events
            for effect in batch.effects:
                match effect:
                    case OpenStream(id=id, request=request):
                        async with client.stream(
                            request.method, request.url, headers=request.headers, content=request.body
                        ) as response:
                            if response.status_code >= 300:
                                waiting.append(machine.refused(id, response.status_code, await response.aread()))
                                continue
                            waiting.append(machine.opened(id, response.headers.get("content-type")))
                            async for chunk in response.aiter_raw():
                                waiting.append(machine.receive(id, chunk))
                        waiting.append(machine.ended(id))
                    case RunTool(id=id, invocation=invocation):
                        try:
                            result = await tools[invocation.name].run(invocation.arguments)
                            waiting.append(machine.tool_finished(id, result))
                        except Exception as error:
                            waiting.append(machine.tool_failed(id, str(error), kind=ToolFailureKind.PANICKED))
    return events


async def test_secret_numbers(mock_llm: Start) -> None:
    mock = mock_llm()
    machine = RunMachine(config(mock.base_url, get_secret_number))
    assert machine.state is StateKind.IDLE
    start = machine.start("What are Alice's and Bob's secret numbers?")
    events = await drive(machine, start, {"get_secret_number": get_secret_number})
    assert events[-1] == Completed(Success())
    assert machine.outcome == Success()
    assert machine.text.endswith("Alice's number is 42, Bob's is 7")
    assert (machine.state, machine.hop) == (StateKind.COMPLETED, 1)
    assert [message["role"] for message in machine.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert mock.failures() == []


async def test_a_tool_that_raises(mock_llm: Start) -> None:
    mock = mock_llm(calls(("get_secret_number", {"name": "carol"})), text("Nobody knows"))
    machine = RunMachine(config(mock.base_url, get_secret_number))
    events = await drive(machine, machine.start("Carol's?"), {"get_secret_number": get_secret_number})
    (result,) = [event.result for event in events if isinstance(event, ToolCallUpdate) and event.result]
    assert result == ToolFailure(ToolFailureKind.PANICKED, "'carol'")
    assert machine.outcome == Success()


async def test_a_refused_request(mock_llm: Start) -> None:
    mock = mock_llm({"status": 401, "error": "Incorrect API key provided"})
    machine = RunMachine(config(mock.base_url))
    await drive(machine, machine.start("Hi"), {})
    assert isinstance(machine.outcome, Failed)
    assert "Incorrect API key provided" in machine.outcome.message


def test_the_request_holds_the_key_and_hides_it() -> None:
    machine = RunMachine(config(key="sk-secret", headers={"x-team": "blue"}, instructions="Be brief."))
    (effect,) = machine.start("Hi", run_id="run-1").effects
    assert isinstance(effect, OpenStream)
    assert effect.id == "open:0:0"
    assert ("authorization", "Bearer sk-secret") in effect.request.headers
    assert ("x-team", "blue") in effect.request.headers
    assert b"Be brief." in effect.request.body
    for shown in (repr(effect), repr(config(key="sk-secret")), repr(machine), str(config(key="sk-secret").lower())):
        assert "sk-secret" not in shown
    assert "sk-secret" not in machine.snapshot()


def test_neighbouring_pieces_of_one_chunk_come_as_one() -> None:
    machine = RunMachine(config())
    effect = opened(machine)
    events = machine.receive(effect, delta("Hel") + delta("lo")).events
    assert [event.delta for event in events if isinstance(event, TextMessageContent)] == ["Hello"]


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_chunks_may_be_cut_anywhere(chunk: int) -> None:
    machine = RunMachine(config())
    effect = opened(machine)
    body = delta("Grüße, ") + delta("世界") + STOP
    for at in range(0, len(body), chunk):
        machine.receive(effect, body[at : at + chunk])
    machine.ended(effect)
    assert (machine.text, machine.outcome) == ("Grüße, 世界", Success())


def test_snapshot_and_restore_in_the_middle_of_a_frame() -> None:
    whole = RunMachine(config(), thread_id="thread")
    effect = opened(whole)
    body = delta("Hel") + delta("lo") + STOP
    for cut in range(len(body)):
        machine = RunMachine(config(), thread_id="thread")
        opened(machine)
        machine.receive(effect, body[:cut])
        machine = RunMachine.restore(machine.snapshot(), config())
        assert machine.poll_outputs().effects == []
        machine.receive(effect, body[cut:])
        machine.ended(effect)
        assert (machine.text, machine.outcome, machine.thread_id) == ("Hello", Success(), "thread")


def test_a_revived_run_asks_again() -> None:
    machine = RunMachine(config())
    machine.start("Hi", now=at(1000))
    revived = RunMachine.revive(machine.snapshot(), config(), now=at(2000))
    (effect,) = revived.poll_outputs().effects
    assert isinstance(effect, OpenStream)


def test_outputs_of_a_revival_are_not_lost_if_nobody_polls() -> None:
    machine = RunMachine(config())
    machine.start("Hi", now=at(1000))
    revived = RunMachine.revive(machine.snapshot(), config(), now=at(2000))
    outputs = revived.timeout(now=at(2001))
    assert [type(effect) for effect in outputs.effects] == [OpenStream]


def test_retries_wait_for_their_time() -> None:
    machine = RunMachine(config(), thread_id="thread")
    (effect,) = machine.start("Hi", run_id="run", now=at(1000)).effects
    outputs = machine.refused(effect.id, 429, b"{}", retry_after=3.0, now=at(1000))
    assert [event.delay for event in outputs.events if isinstance(event, Retrying)] == [3.0]
    assert (outputs.wake_at, machine.state) == (at(4000), StateKind.WAITING)
    assert machine.timeout(now=at(3999)).effects == []
    (again,) = machine.timeout(now=at(4000)).effects
    assert isinstance(again, OpenStream)
    assert again.id == "open:0:1"


def test_the_time_may_be_that_of_any_zone() -> None:
    machine = RunMachine(config())
    elsewhere = at(1000).astimezone(timezone(timedelta(hours=5, minutes=30)))
    wake_at = machine.start("Hi", now=elsewhere).wake_at
    assert (wake_at, wake_at and wake_at.tzinfo) == (at(121_000), timezone.utc)
    # What lies beyond the years that Python has is its last.
    machine = RunMachine(config(timeouts=Timeouts(silence=1e15)))
    wake_at = machine.start("Hi", now=at(1000)).wake_at
    assert wake_at is not None and wake_at.year == 9999


def test_silence_fails_the_turn() -> None:
    machine = RunMachine(config())
    effect = opened(machine)
    machine.receive(effect, delta("Well"), now=at(1000))
    assert machine.poll_timeout() == at(121_000)
    outputs = machine.timeout(now=at(121_000))
    assert CloseStream(effect) in outputs.effects
    assert isinstance(machine.outcome, Failed)
    assert machine.outcome.transient


def executing() -> tuple[RunMachine, list[RunTool]]:
    """A machine whose tools are running."""
    machine = RunMachine(config("http://localhost/v1", get_secret_number))
    effect = opened(machine)
    call = (
        b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":'
        b'{"name":"get_secret_number","arguments":"{\\"name\\":\\"alice\\"}"}}]},"finish_reason":"tool_calls"}]}\n\n'
    )
    machine.receive(effect, call + b"data: [DONE]\n\n")
    return machine, [effect for effect in machine.ended(effect).effects if isinstance(effect, RunTool)]


def test_cancel_while_a_tool_runs() -> None:
    machine, (running,) = executing()
    assert running.invocation.arguments == {"name": "alice"}
    outputs = machine.cancel()
    assert outputs.effects == [CancelTool(running.id)]
    assert outputs.events[-1] == Completed(Cancelled())
    assert AnswerDropped(running.id) in machine.tool_finished(running.id, "42").events
    assert machine.cancel() == Outputs([], [], None)


def test_wrong_calls_are_refused_and_change_nothing() -> None:
    machine, (running,) = executing()
    wrongs: list[Callable[[], Outputs]] = [
        lambda: machine.start("Again"),
        lambda: machine.approve(running.id),
        lambda: machine.resume({}),
    ]
    for wrong in wrongs:
        with pytest.raises(MisuseError) as caught:
            wrong()
        assert caught.value.advice
    with pytest.raises(MisuseError, match="is not the id of an effect"):
        machine.tool_finished("tool", "42")
    assert machine.state is StateKind.EXECUTING_TOOLS
    assert [type(effect) for effect in machine.tool_finished(running.id, "42").effects] == [OpenStream]


def test_bytes_before_the_stream_is_open() -> None:
    machine = RunMachine(config())
    (effect,) = machine.start("Hi").effects
    with pytest.raises(MisuseError, match="call `opened`"):
        machine.receive(effect.id, b"data: {}\n\n")


def test_approval() -> None:
    @tool(requires_approval=True, name="get_secret_number")
    def asking(name: str) -> int:
        return get_secret_number(name)

    for answer in ("approve", "deny"):
        machine = RunMachine(config("http://localhost/v1", asking))
        effect = opened(machine)
        machine.receive(
            effect,
            b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":'
            b'"get_secret_number","arguments":"{\\"name\\":\\"bob\\"}"}}]},"finish_reason":"tool_calls"}]}\n\n',
        )
        (ask,) = machine.ended(effect).effects
        assert isinstance(ask, AskApproval)
        outputs = machine.approve(ask.id) if answer == "approve" else machine.deny(ask.id, "not today")
        (after,) = outputs.effects
        assert isinstance(after, RunTool if answer == "approve" else OpenStream)


def test_blocks_are_stored_before_what_depends_on_them() -> None:
    machine = RunMachine(config(persist_attempts=2))
    effect = opened(machine)
    (write,) = machine.receive(effect, delta("Hello") + STOP).effects
    assert isinstance(write, Persist)
    assert [(block.sequence, block.content["type"], block.content["text"]) for block in write.blocks] == [
        (0, "text", "Hello")
    ]
    assert machine.ended(effect).effects == []
    (again,) = machine.persist_failed(write.id, "disk full").effects
    assert isinstance(again, Persist)
    assert (again.id, again.blocks) == (write.id, write.blocks)
    (last,) = machine.persisted(again.id).effects
    assert isinstance(last, Persist)
    assert (last.blocks, last.status) == ([], TurnStatus.COMPLETE)
    assert machine.persisted(last.id).effects == []
    turn = TurnRecord(
        id=machine.turn,
        parent=None,
        message=None,
        history={"messages": machine.messages[:1], "state": {}},
        status=TurnStatus.STREAMING,
        outcome=None,
        created_at=at(0),
        updated_at=at(0),
        blocks=[TurnBlock(block, at(0)) for block in write.blocks],
    )
    revived = RunMachine.revive_from(last.checkpoint, [turn], turn.id, config(persist_attempts=2))
    assert revived.text == "Hello"
    with pytest.raises(MisuseError, match="revive_from"):
        RunMachine.revive(last.checkpoint, config(persist_attempts=2))
    with pytest.raises(MisuseError, match="blocks"):
        turn = dataclasses.replace(turn, blocks=[])
        RunMachine.revive_from(last.checkpoint, [turn], turn.id, config(persist_attempts=2))


def test_a_message_of_more_than_text() -> None:
    machine = RunMachine(config())
    image = {"type": "image", "source": {"type": "url", "value": "https://example.com/cat.png"}}
    message = {"id": "m1", "role": "user", "content": [{"type": "text", "text": "What is this?"}, image]}
    (effect,) = machine.start(message=message).effects
    assert isinstance(effect, OpenStream)
    assert b"https://example.com/cat.png" in effect.request.body
    with pytest.raises(MisuseError, match="not with both"):
        RunMachine(config()).start("Hi", message=message)


@pytest.mark.parametrize("snapshot", ["", "{}", "[]", '{"v":99}', "nonsense"])
def test_what_is_no_snapshot(snapshot: str) -> None:
    with pytest.raises(MisuseError) as caught:
        RunMachine.restore(snapshot, config())
    assert caught.value.advice


def test_what_is_no_history() -> None:
    with pytest.raises(MisuseError, match="the history is no JSON array of AG-UI messages"):
        RunMachine(config(), history=[{"role": "nobody"}])


@pytest.mark.parametrize("body", [b"\xff\xfe\x00", b"data: {\n\n", b"<html>", b"data: null\n\n"])
def test_bad_bytes_end_the_turn_and_break_nothing(body: bytes) -> None:
    machine = RunMachine(config(retry=RetryPolicy(attempts=1)))
    effect = opened(machine)
    machine.receive(effect, body)
    if machine.outcome is None:
        machine.ended(effect)
    assert machine.outcome not in (None, Success())
    assert machine.state is StateKind.COMPLETED


def test_arguments_are_parsed_while_they_stream() -> None:
    def piece(arguments: str) -> bytes:
        call = {"index": 0, "id": "call-1", "function": {"name": "get_secret_number", "arguments": arguments}}
        return b"data: %s\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).encode()

    machine = RunMachine(config("http://localhost/v1", get_secret_number, partial_arguments=True))
    effect = opened(machine)

    def updates(arguments: str) -> list[ToolArgumentsUpdate]:
        return [event for event in machine.receive(effect, piece(arguments)).events if isinstance(event, ToolArgumentsUpdate)]

    (first,) = updates('{"name": "al')
    assert (first.tool_call_id, first.call.index, first.stopped) == ("call-1", 0, None)
    assert first.changes == [AddChange("", {}), AddChange("/name", ""), AppendChange("/name", "al")]
    assert machine.partial_arguments("call-1") == {"name": "al"}

    machine = RunMachine.restore(machine.snapshot(), config("http://localhost/v1", partial_arguments=True))
    machine.poll_outputs()
    (second,) = updates('ice", oops')
    assert second.changes == [AppendChange("/name", "ice"), EndChange("/name")]
    assert second.stopped is not None
    assert machine.partial_arguments("call-1") == {"name": "alice"}
    assert machine.partial_arguments("call-2") is None
