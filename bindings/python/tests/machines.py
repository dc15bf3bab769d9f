"""Machines for the tests that play the network themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from stepwell import Tool, ToolCallUpdate, tool
from stepwell.machine import OpenStream, Outputs, RunConfig, RunMachine

STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def at(milliseconds: int) -> datetime:
    """A point in time, so long after the epoch."""
    return datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=milliseconds)


def config(base_url: str = "http://localhost/v1", *tools: Tool[..., Any], **settings: object) -> RunConfig:
    return RunConfig(provider="openai-compatible", model="mock", base_url=base_url, tools=tools, **settings)  # type: ignore[arg-type]


def delta(content: str) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % content.encode()


def asks(*calls: tuple[str, str, dict[str, Any]]) -> bytes:
    """A whole answer that asks for tools, each with its id, name and arguments."""
    wanted = [
        {"index": index, "id": id, "function": {"name": name, "arguments": json.dumps(arguments)}}
        for index, (id, name, arguments) in enumerate(calls)
    ]
    choice = {"index": 0, "delta": {"tool_calls": wanted}, "finish_reason": "tool_calls"}
    return b"data: %s\n\ndata: [DONE]\n\n" % json.dumps({"choices": [choice]}).encode()


def opened(machine: RunMachine) -> str:
    """Starts a turn and opens its stream."""
    return stream(machine, machine.start("Hi", now=at(1000)))


def stream(machine: RunMachine, outputs: Outputs, now: int = 1000) -> str:
    """Opens the stream that was asked for."""
    (effect,) = [effect for effect in outputs.effects if isinstance(effect, OpenStream)]
    machine.opened(effect.id, "text/event-stream", now=at(now))
    return effect.id


def answers(machine: RunMachine, outputs: Outputs, body: bytes, now: int = 1000) -> Outputs:
    """Opens the stream that was asked for and answers with a whole body; what came of it."""
    effect = stream(machine, outputs, now)
    received = machine.receive(effect, body, now=at(now))
    ended = machine.ended(effect, now=at(now))
    return Outputs(received.events + ended.events, received.effects + ended.effects, ended.wake_at)


def asked(setup: RunConfig, *calls: tuple[str, str, dict[str, Any]]) -> tuple[RunMachine, Outputs]:
    """A machine whose model has asked for tools, and what came of that."""
    machine = RunMachine(setup, thread_id="thread")
    return machine, answers(machine, machine.start("Hi", run_id="run", now=at(1000)), asks(*calls))


def updates(events: Sequence[object], tool_call_id: str) -> list[ToolCallUpdate]:
    """What became of a call."""
    return [event for event in events if isinstance(event, ToolCallUpdate) and event.tool_call_id == tool_call_id]


def contents(machine: RunMachine) -> list[tuple[str, Any]]:
    """The conversation's roles and contents."""
    return [(message["role"], message.get("content")) for message in machine.messages]


def sent(outputs: Outputs) -> Any:
    """The request that is to be sent, parsed."""
    (request,) = [effect.request for effect in outputs.effects if isinstance(effect, OpenStream)]
    return json.loads(request.body)


@tool
def order(what: str) -> str:
    """Orders something."""
    return f"ordered {what}"
