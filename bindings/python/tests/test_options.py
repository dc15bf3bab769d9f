"""Turns that are otherwise than their agent, and keys and instructions that the app's code gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import (
    Agent,
    AppFailedError,
    AuthenticationError,
    Authorization,
    ConfigurationError,
    CredentialRequest,
    GenerationSettings,
    InstructionsRequest,
    InvalidArgumentError,
    Limits,
    RunConfig,
    tool,
)

Start = Callable[..., MockLlm]

EXPIRED: dict[str, Any] = {"status": 401, "error": "Expired"}


def agent_of(mock: MockLlm, **settings: Any) -> Agent:
    return Agent(provider="openai-compatible", model="mock", base_url=mock.base_url, **settings)


@tool
async def work() -> str:
    """Works."""
    return "of the agent"


@tool
def rest() -> str:
    """Rests."""
    return "of the agent"


async def test_a_turn_is_otherwise_than_its_agent_and_the_next_one_is_not(mock_llm: Start) -> None:
    def own() -> str:
        """Of this turn."""
        return "of the turn"

    mock = mock_llm(calls(("own", {})), text("Yes."), text("Again."))
    settings = GenerationSettings(temperature=0.5, reasoning="low")
    agent = agent_of(mock, instructions="Be kind.", settings=settings, tools=[work, rest])
    turn = agent.send(
        "Hello",
        instructions="Be brief.",
        settings=GenerationSettings(temperature=0.0),
        limits=Limits(max_tool_rounds=1),
        tool_names=["rest"],
        tools=[own],
        user="user-7",
        headers={"x-trace": "abc"},
    )
    assert (await turn.finish()).text == "Yes."
    assert (await agent.send("And?").finish()).text == "Again."
    first, second, next_turn = mock.requests()
    for request in (first, second):
        assert request["body"]["messages"][0]["content"] == "Be brief."
        assert [tool["function"]["name"] for tool in request["body"]["tools"]] == ["rest", "own"]
        assert (request["body"]["temperature"], request["body"]["user"]) == (0.0, "user-7")
        assert request["body"]["reasoning_effort"] == "low", "what is not given is the agent's"
        assert request["headers"]["x-trace"] == "abc"
    assert second["body"]["messages"][-1]["content"] == "of the turn"
    assert next_turn["body"]["messages"][0]["content"] == "Be kind."
    assert "x-trace" not in next_turn["headers"]


async def test_options_that_cannot_be_are_named(mock_llm: Start) -> None:
    agent = agent_of(mock_llm(text("never")), tools=[work])
    wrong: Any = {"instruction": "Be brief."}
    with pytest.raises(InvalidArgumentError, match="no option `instruction`"):
        agent.send("Hello", **wrong)
    wrong = {"instructions": 5}
    with pytest.raises(InvalidArgumentError, match="`instructions` of a turn is of the type int"):
        agent.send("Hello", **wrong)
    with pytest.raises(ConfigurationError, match="wrok"):
        agent.send("Hello", tool_names=["wrok"])


def test_the_ways_without_a_loop_take_options_too(mock_llm: Start) -> None:
    mock = mock_llm(text("Yes."), text("Yes."))
    agent = agent_of(mock)
    assert agent.run_sync("Hello", instructions="Be brief.").text == "Yes."
    assert agent.send_sync("Hello", user="user-7").finish().text == "Yes."
    first, second = mock.requests()
    assert (first["body"]["messages"][0]["content"], second["body"]["user"]) == ("Be brief.", "user-7")


@pytest.mark.parametrize("is_async", [True, False])
async def test_the_app_gives_the_key_of_each_request(mock_llm: Start, is_async: bool) -> None:
    asked: list[CredentialRequest] = []

    def plain(request: CredentialRequest) -> str | Authorization:
        asked.append(request)
        return Authorization("new", {"x-team": "blue"}) if request.rejected else "old"

    async def later(request: CredentialRequest) -> str | Authorization:
        return plain(request)

    mock = mock_llm(EXPIRED, text("Yes."))
    agent = agent_of(mock, credentials=later if is_async else plain, thread_id="garden")
    assert (await agent.send("Hello").finish()).text == "Yes."
    sent = [(request["headers"]["authorization"], request["headers"].get("x-team")) for request in mock.requests()]
    assert sent == [("Bearer old", None), ("Bearer new", "blue")]
    assert [(request.thread_id, request.rejected) for request in asked] == [("garden", False), ("garden", True)]


async def test_without_a_key_the_turn_fails_with_the_apps_words(mock_llm: Start) -> None:
    async def nobody(request: CredentialRequest) -> str:
        raise PermissionError("nobody has signed in")

    mock = mock_llm(text("never"))
    finished = await agent_of(mock, credentials=nobody).send("Hello").finish()
    with pytest.raises(AuthenticationError, match="nobody has signed in"):
        finished.raise_for_failure()
    assert mock.requests() == []


def test_a_provider_that_needs_a_key_needs_none_where_the_app_gives_it() -> None:
    with pytest.raises(ConfigurationError):
        Agent(provider="openai", model="gpt-4o-mini")
    Agent(provider="openai", model="gpt-4o-mini", credentials=lambda _: "a key")


def test_what_the_app_gives_is_not_printed() -> None:
    authorization = Authorization("sk-key", {"x-team": "sk-team"})
    assert "sk-" not in repr(authorization)


async def test_instructions_are_made_for_each_turn(mock_llm: Start) -> None:
    async def made(turn: InstructionsRequest) -> str:
        return f"{len(turn.messages)} in {turn.thread.thread}."

    mock = mock_llm(text("Yes."), text("No."), text("Well."))
    agent = agent_of(mock, instructions_from=made, thread_id="garden")
    await agent.send("Hello").finish()
    await agent.send("And?").finish()
    await agent.send("Well?", instructions="Be brief.").finish()
    said = [request["body"]["messages"][0]["content"] for request in mock.requests()]
    assert said == ["0 in garden.", "2 in garden.", "Be brief."]


def test_instructions_that_cannot_be_made_fail_the_turn(mock_llm: Start) -> None:
    def broken(turn: InstructionsRequest) -> str:
        raise LookupError("no profile")

    mock = mock_llm(text("never"))
    with pytest.raises(AppFailedError, match="no profile"):
        agent_of(mock, instructions_from=broken).run_sync("Hello")
    assert mock.requests() == []


def test_a_machine_takes_options_and_credentials() -> None:
    from stepwell import Authorize, OpenStream, RunMachine

    config = RunConfig(provider="openai", model="gpt-4o-mini", credentials="host")
    machine = RunMachine(config)
    (asked,) = machine.start("Hello", instructions="Be brief.").effects
    assert isinstance(asked, Authorize) and not asked.rejected
    (opened,) = machine.authorized(asked.id, "of-now", headers={"x-team": "blue"}).effects
    assert isinstance(opened, OpenStream)
    headers = dict(opened.request.headers)
    assert (headers["authorization"], headers["x-team"]) == ("Bearer of-now", "blue")
    assert b"Be brief." in opened.request.body
