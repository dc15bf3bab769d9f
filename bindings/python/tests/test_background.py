"""Models whose answers the provider makes in the background."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import MockLlm, text
from stepwell import Agent, Model
from stepwell.errors import MisuseError

Start = Callable[..., MockLlm]


def in_background(mock: MockLlm) -> Model:
    return Model.openai("gpt-5", api_key="a key", base_url=mock.base_url, background=True)


async def test_the_answer_is_asked_for_in_the_background(mock_llm: Start) -> None:
    mock = mock_llm(text("Here I am."))
    result = await Agent(in_background(mock)).run("Hello")
    assert result.output == "Here I am."
    [request] = mock.requests()
    assert request["path"] == "/v1/responses"
    assert (request["body"]["background"], request["body"]["store"]) == (True, True)


async def test_a_model_of_the_fallback_may_be_in_the_background_too(mock_llm: Start) -> None:
    first, second = mock_llm({"status": 503, "error": "Out of order"}), mock_llm(text("I can."))
    model = Model.openai("gpt-5", api_key="a key", base_url=first.base_url)
    agent = Agent(model, fallback=[in_background(second)], retry={"attempts": 1})
    assert (await agent.run("Hello")).output == "I can."
    assert "background" not in first.requests()[0]["body"]
    assert second.requests()[0]["body"]["background"] is True


@pytest.mark.parametrize(
    "model",
    [Model("anthropic:claude", api_key="k", background=True), Model.openai("m", api_key="k", api="chat", background=True)],
)
async def test_a_model_without_a_background_is_refused(model: Model) -> None:
    with pytest.raises(MisuseError, match="in the background"):
        await Agent(model).run("Hello")
