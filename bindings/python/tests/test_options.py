"""Turns that are otherwise than their agent, and keys and instructions that the app's code gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import Agent, AuthenticationError, Conversation, Limits, MisuseError, Model, ToolFailedError, tool
from stepwell.callbacks import Authorization, CredentialRequest, InstructionsRequest
from stepwell.machine import GenerationSettings, RunConfig
from stepwell.sampling import with_sampling

Start = Callable[..., MockLlm]

EXPIRED: dict[str, Any] = {"status": 401, "error": "Expired"}


def agent_of(mock: MockLlm, **settings: Any) -> Conversation[Any, Any]:
    return Agent(mock.model, **settings).conversation()


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
    turn = agent.stream(
        "Hello",
        instructions="Be brief.",
        settings=GenerationSettings(temperature=0.0),
        limits=Limits(max_tool_rounds=1),
        tool_names=["rest"],
        tools=[own],
        user="user-7",
        headers={"x-trace": "abc"},
    )
    assert (await turn._finish()).text == "Yes."
    assert (await agent.stream("And?")._finish()).text == "Again."
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
    with pytest.raises(TypeError, match="no option `instruction`; give `instructions`"):
        agent.stream("Hello", **wrong)
    wrong = {"instructions": 5}
    with pytest.raises(MisuseError, match="`instructions` of `Conversation.stream` is of the type int"):
        agent.stream("Hello", **wrong)
    with pytest.raises(MisuseError, match="wrok"):
        agent.stream("Hello", tool_names=["wrok"])


def test_the_ways_without_a_loop_take_options_too(mock_llm: Start) -> None:
    mock = mock_llm(text("Yes."), text("Yes."))
    agent = agent_of(mock)
    assert agent.send_sync("Hello", instructions="Be brief.").text == "Yes."
    assert agent.stream_sync("Hello", user="user-7")._finish().text == "Yes."
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
    model = Model.openai_compatible("mock", base_url=mock.base_url, api_key=later if is_async else plain)
    agent = Agent(model).conversation("garden")
    assert (await agent.stream("Hello")._finish()).text == "Yes."
    sent = [(request["headers"]["authorization"], request["headers"].get("x-team")) for request in mock.requests()]
    assert sent == [("Bearer old", None), ("Bearer new", "blue")]
    assert [(request.thread_id, request.rejected) for request in asked] == [("garden", False), ("garden", True)]


async def test_without_a_key_the_turn_fails_with_the_apps_words(mock_llm: Start) -> None:
    async def nobody(request: CredentialRequest) -> str:
        raise PermissionError("nobody has signed in")

    mock = mock_llm(text("never"))
    with pytest.raises(AuthenticationError, match="nobody has signed in"):
        await Agent(Model.openai_compatible("mock", base_url=mock.base_url, api_key=nobody)).run("Hello")
    assert mock.requests() == []


def test_the_key_is_by_default_that_of_the_environment(monkeypatch: pytest.MonkeyPatch, mock_llm: Start) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    mock = mock_llm(text("Yes."), text("Yes."))
    assert Model("openai:gpt-4o-mini").key_and_source() == ("sk-environment", None)
    assert Model.openai("gpt-4o-mini", api_key="sk-own").key_and_source() == ("sk-own", None)
    # Another server does not get it by itself.
    assert Model.openai("gpt-4o-mini", base_url=mock.base_url).key_and_source() == (None, None)
    Agent(Model.openai("gpt-4o-mini", base_url=mock.base_url, api_key="sk-own")).run_sync("Hello")
    assert mock.requests()[0]["headers"]["authorization"] == "Bearer sk-own"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(MisuseError, match="needs an API key"):
        Agent("openai:gpt-4o-mini").run_sync("Hello")


def test_a_model_does_not_print_its_key() -> None:
    model = Model.openai("gpt-4o-mini", api_key="sk-secret", headers={"x-team": "sk-team"})
    assert "sk-" not in repr(model) + str(model)
    assert str(model) == "openai:gpt-4o-mini"


def test_every_provider_has_a_constructor() -> None:
    names = {provider.name for provider in Model.providers()}
    made = {
        getattr(Model, name.replace("-", "_"))("m", **({} if name == "ag-ui" else {"base_url": "http://localhost"})).provider
        for name in names
    }
    assert made == names


def test_settings_are_plain_keywords_by_the_names_of_the_field(mock_llm: Start) -> None:
    mock = mock_llm(text("Yes."), text("Yes."), text("Yes."))
    agent = Agent(mock.model, temperature=0.5, top_p=0.9, seed=7, max_tokens=100, limits={"max_tool_rounds": 3})
    agent.run_sync("Hello")
    agent.run_sync("Hello", temperature=0.0, stop="END", extra={"top_k": 3})
    agent.run_sync("Hello", settings={"seed": 8, "stop": ["a", "b"]}, top_p=0.1)
    bodies = [request["body"] for request in mock.requests()]
    names = ("temperature", "top_p", "seed", "stop", "max_completion_tokens", "max_tokens", "top_k")
    sent = [{name: body[name] for name in names if name in body} for body in bodies]
    limit = {name: 100 for name in ("max_completion_tokens", "max_tokens") if name in bodies[0]}
    assert len(limit) == 1
    assert sent == [
        {"temperature": 0.5, "top_p": 0.9, "seed": 7, **limit},
        {"temperature": 0.0, "top_p": 0.9, "seed": 7, "stop": ["END"], "top_k": 3, **limit},
        {"temperature": 0.5, "top_p": 0.1, "seed": 8, "stop": ["a", "b"], **limit},
    ]


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (Model.anthropic("m"), {"top_p": 0.5, "stop_sequences": ["x"]}),
        (Model.gemini("m"), {"generationConfig": {"topP": 0.5, "stopSequences": ["x"]}}),
        (Model.cohere("m"), {"p": 0.5, "stop_sequences": ["x"]}),
        (Model.ollama("m"), {"options": {"top_p": 0.5, "stop": ["x"]}}),
        (Model.ollama("m", api="chat"), {"top_p": 0.5, "stop": ["x"]}),
    ],
)
def test_sampling_has_each_providers_names(model: Model, fields: dict[str, Any]) -> None:
    assert with_sampling({"top_p": 0.5, "stop": "x"}, model) == fields


def test_a_setting_that_an_api_lacks_is_named() -> None:
    with pytest.raises(MisuseError, match="the API of anthropic:m has no `seed`"):
        with_sampling({"seed": 7}, Model.anthropic("m"))
    with pytest.raises(MisuseError, match="`limits` of `Agent` has no field `max_round`"):
        Agent("openai:m", limits={"max_round": 1})


def test_what_the_app_gives_is_not_printed() -> None:
    authorization = Authorization("sk-key", {"x-team": "sk-team"})
    assert "sk-" not in repr(authorization)


async def test_instructions_are_made_for_each_turn(mock_llm: Start) -> None:
    async def made(turn: InstructionsRequest) -> str:
        return f"{len(turn.messages)} in {turn.thread.thread}."

    mock = mock_llm(text("Yes."), text("No."), text("Well."))
    agent = Agent(mock.model, instructions=made).conversation("garden")
    await agent.stream("Hello")._finish()
    await agent.stream("And?")._finish()
    await agent.stream("Well?", instructions="Be brief.")._finish()
    said = [request["body"]["messages"][0]["content"] for request in mock.requests()]
    assert said == ["0 in garden.", "2 in garden.", "Be brief."]


def test_instructions_that_cannot_be_made_fail_the_turn(mock_llm: Start) -> None:
    def broken(turn: InstructionsRequest) -> str:
        raise LookupError("no profile")

    mock = mock_llm(text("never"))
    with pytest.raises(ToolFailedError, match="no profile"):
        Agent(mock.model, instructions=broken).run_sync("Hello")
    assert mock.requests() == []


def test_a_machine_takes_options_and_credentials() -> None:
    from stepwell.machine import Authorize, OpenStream, RunMachine

    config = RunConfig(provider="openai", model="gpt-4o-mini", credentials="host")
    machine = RunMachine(config)
    (asked,) = machine.start("Hello", instructions="Be brief.").effects
    assert isinstance(asked, Authorize) and not asked.rejected
    (opened,) = machine.authorized(asked.id, "of-now", headers={"x-team": "blue"}).effects
    assert isinstance(opened, OpenStream)
    headers = dict(opened.request.headers)
    assert (headers["authorization"], headers["x-team"]) == ("Bearer of-now", "blue")
    assert b"Be brief." in opened.request.body
