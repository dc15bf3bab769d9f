"""Agents that compact long conversations before a request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, text
from stepwell import Agent, Model
from stepwell.callbacks import ContextOverflow, CredentialRequest, Trimmed
from stepwell.errors import MisuseError
from stepwell.messages import Message, UserMessage
from stepwell.settings import DropResults, Summary
from stepwell.testing import calls
from stepwell.updates import ContextTrimmed

Start = Callable[..., MockLlm]

HISTORY: list[Message] = [UserMessage("x" * 2_000, id=f"old-{at}") for at in range(3)]

SMALL = {"window": 1_600}
"""A context that the history nearly fills."""


def named(mock: MockLlm, name: str) -> Model:
    return Model.openai_compatible(name, base_url=mock.base_url)


def sent(mock: MockLlm, request: int) -> str:
    return str(mock.requests()[request]["body"]["messages"])


async def test_a_cheap_model_summarises_and_the_next_turn_begins_from_there(mock_llm: Start) -> None:
    mock = mock_llm(text("Yes.", usage={"input": 60, "output": 1}), text("Still yes."), text("All of it."))
    writer = mock_llm(text("There were many x.", usage={"input": 500, "output": 10}), text("All x."))
    agent = Agent(named(mock, "large"), context_guard=SMALL, summary_model=named(writer, "cheap"))
    conversation = agent.conversation(history=HISTORY)
    turn = conversation.stream("And?")
    trimmed = [update async for update in turn if isinstance(update, ContextTrimmed)]
    result = await turn.result()
    assert result.output == "Yes."
    assert [update.compaction.summary for update in trimmed] == ["There were many x."]
    assert writer.requests()[0]["body"]["model"] == "cheap"
    assert "There were many x." in sent(mock, 0)
    # What the summary has cost is the turn's.
    assert (result.usage.input_tokens, result.usage.output_tokens) == (560, 11)
    assert len(conversation.messages.to_json()) == 5

    assert (await conversation.send("Sure?")).output == "Still yes."
    assert "There were many x." in sent(mock, 1)
    assert len(writer.requests()) == 1
    result = await conversation.send("Sure?", whole_history=True)
    assert result.output == "All of it."
    assert "Many x" not in sent(writer, 1)
    assert "All x." in sent(mock, 2)


async def test_an_agent_writes_its_own_summaries_as_it_is_told(mock_llm: Start) -> None:
    mock = mock_llm(text("Many x."), text("Yes."))
    ways = [Summary(instructions="Count the x.", keep=0.1)]
    agent = Agent(named(mock, "one"), context_guard=SMALL, compaction={"ways": ways, "at": 0.5})
    assert (await agent.conversation(history=HISTORY).send("And?")).output == "Yes."
    assert "Count the x." in sent(mock, 0)
    assert "Many x." in sent(mock, 1)


async def test_old_results_are_dropped_before_a_summary_is_written(mock_llm: Start) -> None:
    def page() -> str:
        """A page."""
        return "y" * 4_000

    mock = mock_llm(calls(("page", {})), text("Read."), text("Yes."))
    writer = mock_llm()
    agent = Agent(
        named(mock, "large"),
        tools=[page],
        context_guard={"window": 1_200, "at_limit": "send"},
        compaction={"ways": [DropResults(keep=0), Summary()]},
        summary_model=named(writer, "cheap"),
    )
    conversation = agent.conversation()
    await conversation.send("Read it.")
    assert (await conversation.send("And?")).output == "Yes."
    assert "y" * 4_000 not in sent(mock, 2)
    assert writer.requests() == []


async def test_the_app_compacts(mock_llm: Start) -> None:
    async def trim(overflow: ContextOverflow, messages: list[dict[str, Any]]) -> Trimmed:
        return Trimmed(overflow.newest(0.2), f"{len(messages)} messages of many x.")

    mock = mock_llm(text("Yes."), text("Still yes."))
    agent = Agent(named(mock, "one"), context_guard=SMALL, compaction={"ways": ["host"]}, trim_context=trim)
    conversation = agent.conversation(history=HISTORY)
    await conversation.send("And?")
    await conversation.send("Sure?")
    assert "4 messages of many x." in sent(mock, 0)
    assert "4 messages of many x." in sent(mock, 1)


def test_what_the_guide_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    from stepwell import Agent
    from stepwell.settings import DropResults, Summary

    agent = Agent(
        "openai:gpt-5",
        compaction={"ways": [DropResults(keep=5), Summary()]},
        summary_model="openai:gpt-5-mini",
    )
    assert agent.conversation().messages.to_json() == []


async def test_no_summary_comes_and_the_turn_continues(mock_llm: Start) -> None:
    mock, writer = mock_llm(text("Yes.")), mock_llm({"status": 401, "error": "Incorrect API key provided"})
    agent = Agent(named(mock, "large"), context_guard={"window": 1_800}, summary_model=named(writer, "cheap"))
    assert (await agent.conversation(history=HISTORY).send("And?")).output == "Yes."
    assert len(writer.requests()) == 1


async def test_the_model_for_summaries_has_a_key_of_its_own(mock_llm: Start) -> None:
    asked: list[str] = []

    def key(request: CredentialRequest) -> str:
        asked.append(request.model.model)
        return "a key"

    mock, writer = mock_llm(text("Yes.")), mock_llm(text("Many x."))
    model = Model.openai_compatible("cheap", base_url=writer.base_url, api_key=key)
    agent = Agent(named(mock, "large"), context_guard=SMALL, summary_model=model)
    assert (await agent.conversation(history=HISTORY).send("And?")).output == "Yes."
    assert asked == ["cheap"]


def test_what_cannot_compact_is_refused(mock_llm: Start) -> None:
    with pytest.raises(MisuseError, match="trim_context"):
        Agent("ollama:m", compaction={"ways": ["host"]})
    with pytest.raises(MisuseError, match="has no field `window`"):
        Agent("ollama:m", compaction={"window": 3})
    with pytest.raises(MisuseError, match="writes no summaries"):
        Agent("ollama:m", summary_model=Model.ag_ui("http://localhost/agent")).run_sync("Hello")
