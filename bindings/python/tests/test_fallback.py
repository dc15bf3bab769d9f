"""Agents that ask another model when theirs has failed, and that choose the model of each hop."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from stepwell import Agent, Model, tool
from stepwell.callbacks import CredentialRequest, CredentialSource, HopContext
from stepwell.errors import AuthenticationError, MisuseError
from stepwell.testing import MockLlm, calls, error, text
from stepwell.updates import ModelChanged

ONCE = {"attempts": 1}


def named(mock: MockLlm, name: str) -> Model:
    return Model.openai_compatible(name, base_url=mock.base_url)


@tool
def secret() -> str:
    """The secret number."""
    return "42"


async def test_another_model_answers_and_is_asked_first_for_a_while() -> None:
    with MockLlm(error(503, "Out of order")) as first, MockLlm(text("I can."), text("Again.")) as second:
        agent = Agent(named(first, "first"), fallback=[named(second, "second")], retry=ONCE)
        turn = agent.stream("Hello")
        changes = [update async for update in turn if isinstance(update, ModelChanged)]
        assert (await turn.result()).output == "I can."
        [change] = changes
        assert (change.previous.model, change.model.model, change.after) == ("first", "second", "server_error")
        # Another agent of the process asks the second at once.
        other = Agent(named(first, "first"), fallback=[named(second, "second")], retry=ONCE)
        assert (await other.run("Hello")).output == "Again."
        assert len(first.requests()) == 1


async def test_only_the_failures_that_the_app_names_count() -> None:
    with MockLlm(error(401, "Incorrect API key provided"), repeat=True) as first, MockLlm(text("I can.")) as second:
        others = [named(second, "second")]
        with pytest.raises(AuthenticationError):
            await Agent(named(first, "first"), fallback=others, retry=ONCE).run("Hello")
        agent = Agent(named(first, "first"), fallback=others, fallback_after=["authentication"])
        assert (await agent.run("Hello")).output == "I can."


async def test_an_error_names_the_model_that_failed_last() -> None:
    with MockLlm(error(503, "Out of order")) as first, MockLlm(error(401, "Incorrect API key provided")) as second:
        other = Model.groq("second", base_url=second.base_url, api_key="wrong")
        with pytest.raises(AuthenticationError) as raised:
            await Agent(named(first, "first"), fallback=[other], retry=ONCE).run("Hello")
        failed = raised.value
        assert (failed.provider, failed.model, failed.status) == ("groq", "second", 401)
        again = pickle.loads(pickle.dumps(failed))
        assert (again.provider, again.model) == ("groq", "second")


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_app_chooses_the_model_of_each_hop(is_async: bool) -> None:
    asked: list[list[str]] = []

    def choose(hop: HopContext) -> str | int:
        asked.append(list(hop.tools))
        return "small" if hop.tools else 0

    async def choose_later(hop: HopContext) -> str | int:
        await asyncio.sleep(0)
        return choose(hop)

    with MockLlm(calls(("secret", {}))) as large, MockLlm(text("It is 42.")) as small:
        agent = Agent(
            named(large, "large"),
            fallback=[named(small, "small")],
            model_for=choose_later if is_async else choose,
            tools=[secret],
        )
        assert (await agent.run("Hello")).output == "It is 42."
    assert asked == [[], ["secret"]]


@pytest.mark.parametrize("chosen", ["none of them", 7, -1])
async def test_a_choice_that_is_none_leaves_the_model_as_it_is(chosen: str | int) -> None:
    with MockLlm(text("Here I am.")) as first, MockLlm() as second:
        agent = Agent(named(first, "first"), fallback=[named(second, "second")], model_for=lambda _: chosen)
        assert (await agent.run("Hello")).output == "Here I am."


async def test_each_model_has_a_key_of_its_own() -> None:
    asked: list[str] = []

    def key_of(name: str) -> CredentialSource:
        def give(request: CredentialRequest) -> str:
            asked.append(request.model.model)
            return f"key of {name}"

        return give

    with MockLlm(error(503, "Out of order")) as first, MockLlm(text("I can.")) as second:
        models = [
            Model.openai_compatible(name, base_url=mock.base_url, api_key=key_of(name))
            for name, mock in (("first", first), ("second", second))
        ]
        agent = Agent(models[0], fallback=models[1:], retry=ONCE)
        assert (await agent.run("Hello")).output == "I can."
        headers = {name.lower(): value for name, value in second.requests()[0]["headers"]}
        assert headers["authorization"] == "Bearer key of second"
    assert asked == ["first", "second"]


async def test_settings_have_the_names_of_each_model() -> None:
    with MockLlm(error(503, "Out of order")) as first, MockLlm(text("I can.")) as second:
        agent = Agent(named(first, "first"), fallback=[named(second, "second")], retry=ONCE, temperature=0.5, top_p=0.9)
        assert (await agent.run("Hello")).output == "I can."
        for mock in (first, second):
            body = mock.requests()[0]["body"]
            assert (body["temperature"], body["top_p"]) == (0.5, 0.9)


def test_an_agent_of_others_cannot_take_a_models_place() -> None:
    agent = Agent("ollama:m", fallback=[Model.ag_ui("http://localhost/agent")])
    with pytest.raises(MisuseError, match="AG-UI agent"):
        asyncio.run(agent.run("Hello"))
