"""What an agent and its turns can do beside the plain turn, over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import (
    Agent,
    AssistantMessage,
    ContextTooLongError,
    Deferred,
    MemoryStore,
    MisuseError,
    Model,
    StepwellError,
    Transcript,
    UserMessage,
    tool,
)
from stepwell.callbacks import ContextOverflow, NewRun, Trimmed
from stepwell.device import Device
from stepwell.machine import ContextGuard, RegistryEvent, RunConfig, RunRegistry, TextOptions
from stepwell.options import AgentKeywords
from stepwell.registry import RunStarted
from stepwell.settings import GenerationSettings, ModelSettings, RunOptions
from stepwell.updates import ToolArgumentsUpdate, Success

Start = Callable[..., MockLlm]


def agent_of(mock: MockLlm, **settings: Any) -> Agent[Any, Any]:
    return Agent(mock.model, **settings)


def said(messages: list[dict[str, Any]]) -> list[Any]:
    return [message.get("content") for message in messages]


@tool
async def order(what: str) -> str:
    """Orders something that comes later."""
    raise Deferred


def test_every_option_of_the_configuration_is_one_of_an_agent() -> None:
    renamed = {"text": "text_options"}
    of_the_model = {"provider", "model", "api", "base_url", "key", "headers", "providers", "credentials"}
    # The type of the answer is that of `output_type`; blocks are stored where there is a store; hooks are code.
    otherwise = {"run_ids", "output", "persist_attempts", "hooks"}
    fields = {renamed.get(name, name) for name in RunConfig.__dataclass_fields__ if name not in of_the_model | otherwise}
    assert fields <= set(AgentKeywords.__annotations__)
    settings = {{"max_output_tokens": "max_tokens"}.get(name, name) for name in GenerationSettings.__dataclass_fields__}
    assert settings - {"context"} <= set(ModelSettings.__annotations__)
    assert set(ModelSettings.__annotations__) < set(RunOptions.__annotations__) & set(AgentKeywords.__annotations__)


async def test_options_reach_the_turn(mock_llm: Start) -> None:
    mock = mock_llm(calls(("order", {"what": "tea"})))
    agent = Agent(
        mock.model,
        tools=[order],
        partial_arguments=True,
        resumption="never",
        text_options=TextOptions(drop_blank=True),
    )
    turn = agent.stream("Tea")
    async for event in turn:
        if isinstance(event, ToolArgumentsUpdate):
            break
    else:
        pytest.fail("the arguments were not parsed while they came")


def test_an_app_has_providers_of_its_own(mock_llm: Start) -> None:
    mock = mock_llm(text("Hello"))
    own = {"name": "mine", "dialect": "openai-chat", "base_url": mock.base_url, "needs_key": False}
    assert Agent(Model("mine:m", custom_providers=[own])).run_sync("Hi").text == "Hello"
    assert "mine" in [provider.name for provider in Model.providers([own])]
    with pytest.raises(MisuseError, match="nobody"):
        Agent(Model("nobody:m", custom_providers=[own])).run_sync("Hi")


async def test_a_backend_makes_the_ids_of_the_runs(mock_llm: Start) -> None:
    created: list[NewRun] = []

    async def create(new: NewRun) -> str:
        created.append(new)
        return f"run-{len(created)}"

    mock = mock_llm(text("Hello"))
    agent = agent_of(mock, run_source=create).conversation("garden")
    assert (await agent.stream("Hi").result()).text == "Hello"
    assert [new.thread_id for new in created] == ["garden"]

    def refuse(new: NewRun) -> str:
        raise RuntimeError("the backend is away")

    with pytest.raises(StepwellError, match="the backend is away"):
        await agent_of(mock, run_source=refuse).stream("Hi").result()


HISTORY = [UserMessage("x" * 4_000, id=f"old-{at}") for at in range(3)]


async def test_the_app_says_what_to_leave_out(mock_llm: Start) -> None:
    def trim(overflow: ContextOverflow, messages: list[dict[str, Any]]) -> Trimmed:
        assert [message["id"] for message in messages] == [message.message_id for message in overflow.messages]
        return Trimmed(overflow.newest(0.5), "There were many x.")

    async def newest(overflow: ContextOverflow, messages: list[dict[str, Any]]) -> list[str]:
        return overflow.newest(0.5)

    mock = mock_llm(text("Yes."), text("Yes."))
    guard = ContextGuard(window=1_500)
    for code in (trim, newest):
        agent = agent_of(mock, context_guard=guard, trim_context=code).conversation(history=HISTORY)
        await agent.stream("And?").result()
        assert len(agent.messages.to_json()) == 5
    sent = [request["body"]["messages"] for request in mock.requests()]
    assert len(sent[0]) < 4
    assert "There were many x." in sent[0][0]["content"]

    def breaks(overflow: ContextOverflow, messages: list[dict[str, Any]]) -> None:
        raise ValueError("on purpose")

    with pytest.raises(ContextTooLongError):
        await agent_of(mock, context_guard=guard, trim_context=breaks).conversation(history=HISTORY).send("And?")
    with pytest.raises(MisuseError, match="trim_context"):
        agent_of(mock, context_guard=ContextGuard(at_limit="trim"))


async def test_a_turn_is_begun_with_ids_of_the_apps_own_and_said_otherwise(mock_llm: Start) -> None:
    mock = mock_llm(text("One"), text("Two"), text("Three"))
    store = MemoryStore()
    agent = agent_of(mock, store=store).conversation("garden")
    turn = agent.stream(UserMessage([{"type": "text", "text": "First"}], id="message"), run_id="first")
    await turn.begun()
    assert turn.stored is not None
    assert (turn.stored.key.turn, turn.stored.key.thread) == ("first", agent.key)
    assert (turn.store_trouble, turn.revived_from) == (None, None)
    await turn.result()
    await agent.send("Second", run_id="second")
    await agent.branch("first", "Otherwise").result()
    assert said(agent.messages.to_json())[1:] == ["One", "Otherwise", "Three"]
    assert [turn.parent for turn in await store.turns("garden")] == [None, "first", "first"]


async def test_a_thread_begins_with_a_history_and_is_forgotten(mock_llm: Start) -> None:
    mock = mock_llm(text("Hello"))
    registry = RunRegistry()
    agent = agent_of(mock, registry=registry)
    other = agent.conversation("other", history=[UserMessage("Before")])
    await other.stream("Hi").result()
    assert said(other.messages.to_json()) == ["Before", "Hi", "Hello"]
    event: RegistryEvent = await Device(agent).next_registry_event()
    assert isinstance(event, RunStarted)
    assert event.handle.key == other.key
    assert registry.unread("other")
    del other
    assert agent.conversation("other").messages == Transcript()
    # In a registry of the app's own the conversation stays unread.
    assert registry.unread("other")


async def test_a_turn_is_looked_into_and_suspended(mock_llm: Start) -> None:
    mock = mock_llm(calls(("order", {"what": "tea"})), text("Enjoy!"))
    agent = agent_of(mock, tools=[order]).conversation()
    turn = agent.stream("Tea")
    await turn.rested()
    messages = await turn.messages()
    assert isinstance(messages[0], UserMessage) and messages[0].text == "Tea"
    assert await turn.interrupts() == []
    assert await turn.shared_state() == {}
    await turn.usage()

    async def watch() -> list[Any]:
        return [event async for event in turn]

    watching = asyncio.create_task(watch())
    snapshot = await turn.suspend()
    await watching
    assert turn.outcome is None

    revived = agent.agent.revive(snapshot)
    await revived.begun()
    assert revived.revived_from == messages
    assert isinstance(messages[1], AssistantMessage)
    (call,) = messages[1].tool_calls
    assert (call.name, call.arguments) == ("order", {"what": "tea"})
    await revived.resolve_call(call.id, "here")
    finished = await revived._finish()
    assert finished.outcome == Success()
    assert finished.text.endswith("Enjoy!")
