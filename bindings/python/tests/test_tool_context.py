"""What a tool knows of its call, and says and asks while it runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from conftest import MockLlm, calls, text

from stepwell import Agent, Question, Tool, ToolContext, ToolInvocation, tool
from stepwell.callbacks import AnswerDeclined
from stepwell.updates import ToolPartialResult, ToolProgress

Start = Callable[..., MockLlm]


@dataclass
class Depot:
    city: str


@tool
async def ship(context: ToolContext[Depot], parcel: str) -> str:
    """Ships a parcel.

    Args:
        context: Who calls.
        parcel: What.
    """
    context.report(0.25, f"{parcel} is packed")
    context.partial({"city": context.deps.city})
    speed = await context.ask("How fast?", Literal["today", "this week"])
    return f"{parcel} leaves {context.deps.city} {speed} {context.attempt} {context.hop} {context.thread_id}"


@tool
def wait(context: ToolContext[None]) -> str:
    """Waits for the user."""
    return f"{context.ask_sync('Sure?', bool)} {context.is_cancelled}"


def agent_of(server: MockLlm, *tools: Tool[..., Any], **options: Any) -> Agent[Any, Any]:
    return Agent(server.model, tools=tools, **options)


def told(server: MockLlm, request: int = 1) -> str:
    """What the model was told of its call."""
    messages = server.requests()[request]["body"]["messages"]
    return str([message for message in messages if message["role"] == "tool"][-1]["content"])


def test_the_model_is_not_asked_for_the_context() -> None:
    assert ship.parameters["properties"].keys() == {"parcel"}
    assert wait.parameters.get("properties", {}) == {}


def test_a_tool_has_its_context(mock_llm: Start) -> None:
    server = mock_llm(calls(("ship", {"parcel": "a book"})), text("Done."))
    asked: list[tuple[ToolInvocation, Question]] = []

    async def ask(call: ToolInvocation, question: Question) -> str:
        asked.append((call, question))
        return "today"

    agent = agent_of(server, ship, answerer=ask)
    events = list(agent.conversation("thread-1").stream_sync("Ship it", deps=Depot("Bergen")))
    assert told(server) == "a book leaves Bergen today 1 0 thread-1"
    [progress] = [event for event in events if isinstance(event, ToolProgress)]
    assert (progress.fraction, progress.message) == (0.25, "a book is packed")
    [partial] = [event for event in events if isinstance(event, ToolPartialResult)]
    assert json.loads(partial.content) == {"city": "Bergen"}
    [(call, question)] = asked
    assert (call.name, question.message) == ("ship", "How fast?")
    assert question.schema["enum"] == ["today", "this week"]


def test_each_run_has_a_value_of_its_own(mock_llm: Start) -> None:
    server = mock_llm(calls(("ship", {"parcel": "a book"})), text("Done."), repeat=True)
    agent = agent_of(server, ship)
    for number, city in enumerate(("Bergen", "Oslo")):
        agent.run_sync("Ship it", deps=Depot(city))
        assert told(server, 2 * number + 1).startswith(f"a book leaves {city} None")


@pytest.mark.parametrize("answer", [None, AnswerDeclined("not now"), 7])
def test_no_answer_is_none(mock_llm: Start, answer: object) -> None:
    server = mock_llm(calls(("wait", {})), text("Done."))
    agent_of(server, wait, answerer=lambda call, question: answer).run_sync("Wait")
    assert told(server) == "None False"


def test_a_plain_function_asks(mock_llm: Start) -> None:
    server = mock_llm(calls(("wait", {})), text("Done."))
    agent_of(server, wait, answerer=lambda call, question: True).run_sync("Wait")
    assert told(server) == "True False"


async def test_a_tool_can_be_tried_without_a_turn() -> None:
    context = ToolContext(Depot("Bergen"))
    assert await ship(context, "a book") == "a book leaves Bergen None 1 0 "
    assert await wait.run({}) == "None False"
