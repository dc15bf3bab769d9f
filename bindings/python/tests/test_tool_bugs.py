"""What becomes of an exception in a tool that is no ``ToolError``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import Agent, MisuseError, ToolError, tool
from stepwell.testing import MockLlm as PlainMockLlm
from stepwell.updates import Cancelled

Start = Callable[..., MockLlm]

SECRET = "cannot reach postgres://app:S3CRET@db"


class Broken(Exception):
    pass


@tool
def look() -> str:
    """Looks."""
    raise Broken(SECRET)


@tool
def refuse() -> str:
    """Refuses."""
    raise ToolError("not on Sundays")


SCRIPT = calls(("look", {})), text("I see")


def agent_of(mock: Any, *tools: Any, **options: Any) -> Agent[Any, Any]:
    return Agent(mock.model, tools=tools or (look,), **options)


def test_an_exceptions_text_goes_nowhere_by_itself(mock_llm: Start) -> None:
    mock = mock_llm(*SCRIPT)
    turn = agent_of(mock, on_tool_error="hide").stream_sync("Go")
    events = list(turn)
    assert "S3CRET" not in f"{events} {turn._finish()} {mock.requests()}"
    assert "`look` failed because of a mistake in its code" in str(mock.requests()[1]["body"])


def test_it_is_shown_where_the_app_asks_for_it(mock_llm: Start) -> None:
    mock = mock_llm(*SCRIPT)
    assert agent_of(mock, on_tool_error="show").run_sync("Go").text == "I see"
    assert f"Broken: {SECRET}" in str(mock.requests()[1]["body"])


async def test_it_is_raised_where_the_app_asks_for_it(mock_llm: Start) -> None:
    mock = mock_llm(*SCRIPT, repeat=True)
    agent = agent_of(mock, on_tool_error="raise")
    with pytest.raises(Broken, match="S3CRET"):
        await agent.stream("Go").result()
    with pytest.raises(Broken):
        async for _ in agent.stream("Go"):
            pass
    turn = agent.stream("Go")
    async for _ in turn.updates(raise_on_error=False):
        pass
    assert turn._outcome == Cancelled()
    with pytest.raises(Broken):
        await asyncio.to_thread(agent.run_sync, "Go")
    # The model is asked nothing more once the tool has failed.
    assert len(mock.requests()) == 4


async def test_a_tools_own_error_is_for_the_model(mock_llm: Start) -> None:
    mock = mock_llm(calls(("refuse", {})), text("I see"))
    assert (await agent_of(mock, refuse, on_tool_error="raise").stream("Go").result()).text == "I see"
    assert mock.failures() == []


def test_another_word_is_refused(mock_llm: Start) -> None:
    with pytest.raises(MisuseError, match="hide"):
        agent_of(mock_llm(), on_tool_error="log")


@pytest.mark.parametrize("start", [MockLlm, PlainMockLlm])
def test_a_test_does_not_miss_it(mock_llm: Start, start: type) -> None:
    mock = mock_llm(*SCRIPT) if start is MockLlm else PlainMockLlm(*SCRIPT)
    with PlainMockLlm(*SCRIPT) as other:
        with pytest.raises(Broken):
            agent_of(mock).run_sync("Go")
        assert mock.failures() == [f"the tool `look` raised Broken: {SECRET}"]
        assert other.failures() == []
    mock.close()
    agent_of(mock, retry=None)


def test_a_closed_model_hears_of_nothing_more() -> None:
    from stepwell import tool_bugs

    before = list(tool_bugs.watchers)
    with PlainMockLlm(*SCRIPT):
        assert len(tool_bugs.watchers) == len(before) + 1
    assert tool_bugs.watchers == before


def test_only_a_scripted_model_raises_by_default() -> None:
    from stepwell import tool_bugs

    with PlainMockLlm(*SCRIPT) as mock:
        assert tool_bugs.default_for(mock.base_url) == "raise"
    assert tool_bugs.default_for(mock.base_url) == tool_bugs.default_for(None) == "hide"
