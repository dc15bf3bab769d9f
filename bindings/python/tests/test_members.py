"""What an agent and its turns can do beside the plain turn, over real HTTP."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import (
    Agent,
    Completed,
    ConfigurationError,
    ContextGuard,
    ContextOverflow,
    ContextTooLongError,
    Deferred,
    MemoryStore,
    NewRun,
    PartialArguments,
    RegistryEvent,
    RunConfig,
    RunRegistry,
    Success,
    TextOptions,
    Trimmed,
    TurnError,
    tool,
)
from stepwell.registry import RunStarted

Start = Callable[..., MockLlm]


def agent_of(mock: MockLlm, **settings: Any) -> Agent:
    return Agent(provider="openai-compatible", model="mock", base_url=mock.base_url, **settings)


def said(messages: list[dict[str, Any]]) -> list[Any]:
    return [message.get("content") for message in messages]


@tool
async def order(what: str) -> str:
    """Orders something that comes later."""
    raise Deferred


def test_every_option_of_the_configuration_is_one_of_an_agent() -> None:
    options = set(inspect.signature(Agent).parameters)
    assert set(RunConfig.__dataclass_fields__) - {"run_ids"} <= options
    assert "run_source" in options
    assert "context_guard: " in (Agent.__init__.__doc__ or "")


async def test_options_reach_the_turn(mock_llm: Start) -> None:
    own = {
        "name": "mine",
        "title": "Mine",
        "apis": [{"dialect": "openai-chat", "base_url": "http://localhost/v1", "auth": "none"}],
    }
    mock = mock_llm(calls(("order", {"what": "tea"})))
    agent = Agent(
        provider="openai-compatible",
        model="mock",
        base_url=mock.base_url,
        tools=[order],
        partial_arguments=True,
        resumption="never",
        text=TextOptions(drop_blank=True),
        providers=[],
    )
    turn = agent.send("Tea")
    async for event in turn:
        if isinstance(event, PartialArguments):
            break
    else:
        pytest.fail("the arguments were not parsed while they came")
    with pytest.raises(ConfigurationError):
        Agent(provider="nobody", providers=[own])


async def test_a_backend_makes_the_ids_of_the_runs(mock_llm: Start) -> None:
    created: list[NewRun] = []

    async def create(new: NewRun) -> str:
        created.append(new)
        return f"run-{len(created)}"

    mock = mock_llm(text("Hello"))
    agent = agent_of(mock, run_source=create, thread_id="garden")
    assert (await agent.send("Hi")).text == "Hello"
    assert [new.thread_id for new in created] == ["garden"]

    def refuse(new: NewRun) -> str:
        raise RuntimeError("the backend is away")

    with pytest.raises(TurnError, match="the backend is away"):
        await agent_of(mock, run_source=refuse).send("Hi")


HISTORY = [{"id": f"old-{at}", "role": "user", "content": "x" * 4_000} for at in range(3)]


async def test_the_app_says_what_to_leave_out(mock_llm: Start) -> None:
    def trim(overflow: ContextOverflow, messages: list[dict[str, Any]]) -> Trimmed:
        assert [message["id"] for message in messages] == [message.message_id for message in overflow.messages]
        return Trimmed(overflow.newest(0.5), "There were many x.")

    async def newest(overflow: ContextOverflow, messages: list[dict[str, Any]]) -> list[str]:
        return overflow.newest(0.5)

    mock = mock_llm(text("Yes."), text("Yes."))
    guard = ContextGuard(window=1_500)
    for code in (trim, newest):
        agent = agent_of(mock, history=HISTORY, context_guard=guard, trim_context=code)
        await agent.send("And?")
        assert len(agent.messages) == 5
    sent = [request["body"]["messages"] for request in mock.requests()]
    assert len(sent[0]) < 4
    assert "There were many x." in sent[0][0]["content"]

    def breaks(overflow: ContextOverflow, messages: list[dict[str, Any]]) -> None:
        raise ValueError("on purpose")

    with pytest.raises(ContextTooLongError):
        await agent_of(mock, history=HISTORY, context_guard=guard, trim_context=breaks).send("And?")
    with pytest.raises(ConfigurationError, match="trim_context"):
        agent_of(mock, context_guard=ContextGuard(at_limit="trim"))


async def test_a_turn_is_begun_with_ids_of_the_apps_own_and_said_otherwise(mock_llm: Start) -> None:
    mock = mock_llm(text("One"), text("Two"), text("Three"))
    store = MemoryStore()
    agent = agent_of(mock, store=store, thread_id="garden")
    message = {"id": "message", "role": "user", "content": [{"type": "text", "text": "First"}]}
    turn = agent.start(message=message, run_id="first")
    await turn.begun()
    assert turn.stored is not None
    assert (turn.stored.key.turn, turn.stored.key.thread) == ("first", agent.thread_key)
    assert (turn.store_trouble, turn.revived_from) == (None, None)
    await turn
    await agent.start("Second", run_id="second")
    await agent.branch("first", "Otherwise")
    assert said(agent.messages)[1:] == ["One", "Otherwise", "Three"]
    assert [turn.parent for turn in await store.turns("garden")] == [None, "first", "first"]


async def test_a_thread_begins_with_a_history_and_is_forgotten(mock_llm: Start) -> None:
    mock = mock_llm(text("Hello"))
    registry = RunRegistry()
    agent = agent_of(mock, registry=registry)
    other = agent.thread_with_history("other", [{"id": "old", "role": "user", "content": "Before"}])
    await other.send("Hi")
    assert said(other.messages) == ["Before", "Hi", "Hello"]
    event: RegistryEvent = await agent.next_registry_event()
    assert isinstance(event, RunStarted)
    assert event.handle.key == other.thread_key
    assert registry.unread("other")
    agent.forget_thread("other")
    assert agent.thread("other").messages == []


async def test_a_turn_is_looked_into_and_suspended(mock_llm: Start) -> None:
    mock = mock_llm(calls(("order", {"what": "tea"})), text("Enjoy!"))
    agent = agent_of(mock, tools=[order])
    turn = agent.send("Tea")
    await turn.rested()
    messages = await turn.messages()
    assert messages[0]["content"] == "Tea"
    assert await turn.interrupts() == []
    assert await turn.shared_state() == {}
    await turn.usage()

    async def watch() -> list[Any]:
        return [event async for event in turn]

    watching = asyncio.create_task(watch())
    snapshot = await turn.suspend()
    assert not any(isinstance(event, Completed) for event in await watching)

    revived = agent.revive(snapshot)
    await revived.begun()
    assert revived.revived_from == messages
    call = messages[1]["toolCalls"][0]
    assert json.loads(call["function"]["arguments"]) == {"what": "tea"}
    await revived.finish_call(call["id"], "here")
    finished = await revived.finish()
    assert finished.outcome == Success()
    assert finished.text.endswith("Enjoy!")
