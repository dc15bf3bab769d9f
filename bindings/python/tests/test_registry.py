"""Many runs at once, and the journals of them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from conftest import MockLlm, calls, text
from machines import at

from stepwell import Agent, MisuseError, ThreadKey, ToolCallUpdate, tool
from stepwell.device import Device
from stepwell.machine import (
    OpenStream,
    RunConfig,
    RunMachine,
    RunRegistry,
    RunTool,
    StateKind,
    redact_journal,
    replay_journal,
)
from stepwell.media import Parts
from stepwell.providers import context_window, providers
from stepwell.registry import DisposalFailed, Read, RunCompleted, RunContinued, RunStarted, StaleInput, Unread
from stepwell.updates import ApiErrorKind, ApiFailure, Cancelled, Failed, LimitReached, MaxTokens, Success

Start = Callable[..., MockLlm]


def test_a_thread_has_one_owner() -> None:
    registry = RunRegistry()
    registry.look_at("a")
    assert registry.looked_at == ThreadKey("a")
    first = registry.register("a").handle
    registered = registry.register(ThreadKey("a"))
    handle = registered.handle
    assert registered.replaced == first
    with pytest.raises(MisuseError, match="is stale"):
        registry.check(first)
    with pytest.raises(MisuseError):
        registry.complete(first, Success())
    with pytest.raises(MisuseError):
        registry.replace(first)
    registry.disposal_failed(first, "no")
    continued = registry.replace(handle)
    assert (continued.generation, continued.hop) == (handle.generation, 1)
    assert registry.current("a") == continued and registry.running() == [continued]

    stored = RunRegistry.restore(registry.snapshot())
    stored.check(continued)
    with pytest.raises(MisuseError):
        RunRegistry.restore("[]")

    registry.look_at(None)
    registry.complete(continued, Success())
    assert registry.unread("a") and registry.unread_threads() == [ThreadKey("a")]
    registry.look_at("a")
    assert not registry.unread("a") and registry.current("a") is None
    assert registry.remove("a") is None
    assert registry.take_events() == [
        RunStarted(first),
        RunCompleted(first, Cancelled()),
        RunStarted(handle),
        *[StaleInput(first, handle)] * 3,
        DisposalFailed(first, "no"),
        RunContinued(continued),
        RunCompleted(continued, Success()),
        Unread(ThreadKey("a")),
        Read(ThreadKey("a")),
    ]
    assert registry.take_events() == []


def test_how_a_run_ended_is_kept() -> None:
    registry = RunRegistry()
    failure = ApiFailure(ApiErrorKind.OVERLOADED, 529, "Words.", None, 1500)
    for outcome in (Cancelled(), LimitReached(MaxTokens(9), "x"), Failed(failure, "x", True)):
        registry.complete(registry.register("a").handle, outcome)
        *_, told = [event for event in registry.take_events() if isinstance(event, RunCompleted)]
        if isinstance(outcome, Failed):
            assert isinstance(told.outcome, Failed) and told.outcome.failure == failure
        elif isinstance(outcome, LimitReached):
            assert isinstance(told.outcome, LimitReached) and told.outcome.limit == MaxTokens(9)
        else:
            assert told.outcome == outcome


async def test_which_threads_are_unread(mock_llm: Start) -> None:
    mock = mock_llm(text("Hello"), text("Hello"))
    agent = Agent(mock.model)
    registry = Device(agent).registry
    registry.look_at("first")
    first, other = agent.conversation("first"), agent.conversation("other")
    await first.send("Hi")
    await other.send("Hi")
    assert registry.unread_threads() == [ThreadKey("other")]
    assert registry.take_events()[-1] == Unread(ThreadKey("other"))


@tool
def photo() -> Parts:
    """A picture."""
    source = {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}
    return Parts([{"type": "text", "text": "A cat."}, {"type": "image", "source": source}])


async def test_a_tool_may_give_a_picture(mock_llm: Start) -> None:
    mock = mock_llm(calls(("photo", {})), text("A cat"))
    agent = Agent(mock.model, tools=[photo]).conversation()
    events = [event async for event in agent.stream("Show me")]
    assert "A cat." in str([event.result for event in events if isinstance(event, ToolCallUpdate)])
    result = agent.messages.to_json()[2]
    assert [part["type"] for part in result["content"]] == ["text", "image"]
    assert result["content"][1]["source"]["value"] == "iVBORw0KGgo="
    assert mock.failures() == []


CALL = (
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":'
    b'{"name":"photo","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
)


async def test_a_journal_is_lived_through_again() -> None:
    config = RunConfig(provider="openai-compatible", base_url="http://localhost/v1", model="mock", tools=[photo])
    run = RunMachine(config, thread_id="thread", journal=True)
    (opening,) = run.start("A secret?", run_id="run", now=at(1)).effects
    run.opened(opening.id, "text/event-stream", now=at(2))
    run.receive(opening.id, CALL, now=at(3))
    (call,) = run.ended(opening.id, now=at(4)).effects
    assert isinstance(call, RunTool)
    with pytest.raises(MisuseError, match="content parts"):
        run.tool_finished(call.id, Parts([{"type": "no such type"}]), now=at(5))
    (opening,) = run.tool_finished(call.id, await photo.run({}), now=at(5)).effects
    assert isinstance(opening, OpenStream)
    journal = run.take_journal()
    snapshot = run.snapshot()
    run.cancel(now=at(6))
    journal += run.end_journal()
    assert run.take_journal() == ""
    replayed = replay_journal(journal)
    assert (replayed.is_closed, replayed.digest, replayed.outcome) == (True, run.digest(), Cancelled())
    assert replayed.effects == ["open:0:0", "tool:0:0", "open:1:0"]
    assert replayed.states[-1] is StateKind.COMPLETED
    hidden = redact_journal(journal)
    assert "secret" in journal and "secret" not in hidden
    for odd in ("", "nonsense", journal.replace("A cat.", "A dog."), hidden):
        with pytest.raises(MisuseError):
            replay_journal(odd)

    revived = RunMachine.revive(snapshot, config, now=at(9), journal=True)
    revived.poll_outputs()
    revived.cancel(now=at(10))
    assert replay_journal(revived.end_journal()).inputs == 2


async def test_a_turns_journal_goes_to_the_app(mock_llm: Start) -> None:
    written: dict[str, str] = {}

    def write(turn: str, lines: str) -> None:
        written[turn] = written.get(turn, "") + lines
        raise OSError("the disk is full")

    mock = mock_llm(text("Hello"))
    agent = Agent(mock.model, journal=write)
    assert (await agent.stream("Hi")._finish()).outcome == Success()
    (journal,) = written.values()
    assert replay_journal(journal).outcome == Success()
    assert all(isinstance(json.loads(line), dict) for line in journal.splitlines())


def test_the_providers_say_what_they_can_do() -> None:
    openai = next(provider for provider in providers() if provider.name == "openai")
    assert (openai.key_variable, openai.needs_key) == ("OPENAI_API_KEY", True)
    usual = next(api for api in openai.apis if api.name == openai.default_api)
    assert usual.capabilities.tools and usual.capabilities.images
    own = {"providers": [{"name": "mine", "dialect": "openai-chat", "base_url": "http://localhost/v1"}]}
    assert providers(own)[-1].name == "mine" or "mine" in [provider.name for provider in providers(own)]
    with pytest.raises(MisuseError):
        providers({"providers": 3})
    window = context_window("openai", "gpt-4o-mini")
    assert window is not None and window.window >= 100_000
    assert context_window("openai", "none") is None
