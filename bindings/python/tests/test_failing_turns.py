"""What a loop over a turn does when the turn fails."""

from __future__ import annotations

import asyncio
import json
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import MockLlm, text

import stepwell
from stepwell import (
    Agent,
    AuthenticationError,
    Conversation,
    MemoryStore,
    Model,
    StepwellError,
    TextUpdate,
    TurnCancelledError,
)
from stepwell.machine import RetryPolicy
from stepwell.testing import error
from stepwell.updates import Failed, Success

Start = Callable[..., MockLlm]


@dataclass
class Trip:
    city: str
    days: int


WRONG_KEY = error(401, "Incorrect API key provided")


def agent_of(mock: MockLlm) -> Conversation[Any, Any]:
    return Agent(Model.openai_compatible("m", base_url=mock.base_url, api_key="wrong")).conversation()


async def test_an_async_loop_raises_after_the_last_event(mock_llm: Start) -> None:
    turn = agent_of(mock_llm(WRONG_KEY)).stream("Hi")
    seen = []
    with pytest.raises(AuthenticationError):
        async for event in turn:
            seen.append(event)
    assert seen and isinstance(turn.outcome, Failed)
    # It raises once, and the result stays.
    assert [event async for event in turn] == []
    with pytest.raises(AuthenticationError):
        await turn.result()


def test_a_plain_loop_raises_after_the_last_event(mock_llm: Start) -> None:
    turn = agent_of(mock_llm(WRONG_KEY)).stream_sync("Hi")
    seen = []
    with pytest.raises(AuthenticationError):
        for event in turn:
            seen.append(event)
    assert seen and isinstance(turn.outcome, Failed)
    assert list(turn) == []


async def test_a_loop_can_opt_out(mock_llm: Start) -> None:
    turn = agent_of(mock_llm(WRONG_KEY)).stream("Hi")
    seen = [event async for event in turn.updates(raise_on_error=False)]
    assert seen and isinstance(turn.outcome, Failed)
    with pytest.raises(AuthenticationError):
        async for _ in agent_of(mock_llm(WRONG_KEY)).stream("Hi").updates():
            pass


def test_a_plain_loop_can_opt_out(mock_llm: Start) -> None:
    turn = agent_of(mock_llm(WRONG_KEY)).stream_sync("Hi")
    seen = list(turn.updates(raise_on_error=False))
    assert seen and isinstance(turn.outcome, Failed)
    with pytest.raises(AuthenticationError):
        list(agent_of(mock_llm(WRONG_KEY)).stream_sync("Hi").updates())


async def test_a_loop_over_a_whole_answer_raises_nothing(mock_llm: Start) -> None:
    turn = agent_of(mock_llm(text("Hello"))).stream("Hi")
    assert [event.delta async for event in turn if isinstance(event, TextUpdate)] == ["Hello"]
    assert turn.outcome == Success()


async def test_a_loop_over_a_cancelled_turn_raises(mock_llm: Start) -> None:
    turn = agent_of(mock_llm({"steps": [{"text": "I wait."}, "stall"]})).stream("Hi")
    with pytest.raises(TurnCancelledError):
        async for _ in turn:
            turn.cancel()


def test_the_example_of_the_package_fails_with_a_wrong_key(mock_llm: Start) -> None:
    """`help(stepwell)` as a program."""
    example = textwrap.dedent(str(stepwell.__doc__).split("::\n", 1)[1].split("\nWhat is not here")[0])
    model = f'Model.openai("gpt-5-mini", base_url={mock_llm(WRONG_KEY).base_url!r}, api_key="wrong")'
    program = example.replace('"openai:gpt-5-mini"', model).replace("import Agent", "import Agent, Model")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "AuthenticationError" in ran.stderr.splitlines()[-1]


async def test_two_wait_for_one_turn(mock_llm: Start) -> None:
    turn = agent_of(mock_llm(text("Hello"))).stream("Hi")
    first, second = await asyncio.gather(turn._finish(), turn._finish())
    assert first is second


async def test_what_failed_and_is_sent_again_stands_once(mock_llm: Start) -> None:
    mock = mock_llm(WRONG_KEY, WRONG_KEY, text("Hello"), text("Hello again"))
    agent = agent_of(mock)
    for _ in range(2):
        with pytest.raises(AuthenticationError):
            await agent.stream("Hi").result()
    assert (await agent.stream("Hi").result()).text == "Hello"

    def asked(request: int) -> list[object]:
        return [message["content"] for message in mock.requests()[request]["body"]["messages"]]

    assert [asked(1), asked(2)] == [["Hi"], ["Hi"]]
    assert [message["content"] for message in agent.messages.to_json()] == ["Hi", "Hello"]
    # What was answered may be said again.
    await agent.stream("Hi").result()
    assert asked(3) == ["Hi", "Hello", "Hi"]


async def test_what_failed_stays_where_something_else_is_said(mock_llm: Start) -> None:
    mock = mock_llm(WRONG_KEY, text("Hello"))
    agent = agent_of(mock)
    with pytest.raises(AuthenticationError):
        await agent.stream("Hi").result()
    await agent.stream("Anybody there?").result()
    assert [message["content"] for message in mock.requests()[1]["body"]["messages"]] == ["Hi", "Anybody there?"]


async def test_what_failed_and_is_sent_again_stands_once_in_a_store_too(mock_llm: Start) -> None:
    mock = mock_llm(WRONG_KEY, text("Hello"), text("Fine"))
    store = MemoryStore()

    def made() -> Conversation[None, str]:
        return Agent(mock.model, store=store).conversation("t")

    with pytest.raises(AuthenticationError):
        await made().stream("Hi").result()
    await made().stream("Hi").result()
    await made().stream("How are you?").result()
    said = [message["content"] for message in mock.requests()[2]["body"]["messages"]]
    assert said == ["Hi", "Hello", "How are you?"]


async def test_errors_and_outcomes_print_nothing_of_the_conversation(mock_llm: Start) -> None:
    """Neither by themselves nor in what shows the variables of a traceback."""
    secret = "my number is 12345678901"
    failing: list[tuple[Any, object]] = [
        (WRONG_KEY, None),
        (text(secret) | {"stop_reason": "length"}, None),
        (text(secret), int),
        (text(json.dumps({"city": secret, "days": secret})), Trip),
        ({"steps": [{"text": secret}, "cut"]}, None),
        ({"steps": [{"text": secret}, {"error_event": "overloaded"}]}, None),
    ]
    for hop, output in failing:
        agent = Agent(mock_llm(*[hop] * 4).model,
            retry=RetryPolicy(attempts=1),
        )
        with pytest.raises(StepwellError) as failed:
            await agent.stream(secret, output_type=output).result()
        error = failed.value
        assert error.result is not None
        for each in (error, error.result, error.result.messages, pickle.loads(pickle.dumps(error))):
            for shown in (str(each), repr(each)):
                assert "12345678901" not in shown, shown
                assert len(shown) < 500, shown
        assert error.message and error.advice
        assert "12345678901" in str(error.result.messages.to_json())
