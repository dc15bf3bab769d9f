"""Hooks: the app's code looks at requests, answers and tools, changes them, or refuses them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import Agent, Conversation, Hook, MisuseError, RefusedError, tool
from stepwell.hooks import Refused
from stepwell.machine import HookedAnswer, HookedCall, HookedRequest, HookedResult, RunConfig, RunMachine
from stepwell.updates import HookRefused

Start = Callable[..., MockLlm]


@tool
def work(to: str) -> str:
    """Works."""
    return f"for {to}"


def agent_of(mock: MockLlm, *hooks: Hook) -> Conversation[Any, Any]:
    return Agent(mock.model, tools=[work], hooks=hooks).conversation()


class Redact(Hook):
    def __init__(self) -> None:
        self.said: list[str] = []

    async def before_request(self, request: HookedRequest) -> HookedRequest:
        shown = [{**message, "content": "***"} if message["role"] == "user" else message for message in request.messages]
        return dataclasses.replace(request, messages=shown, instructions="Be brief.")

    def before_tool(self, call: HookedCall) -> dict[str, Any]:
        return {"to": call.invocation.arguments["to"].replace("Eve", "Ada")}

    def after_tool(self, result: HookedResult) -> str:
        return str(result.content).replace("Ada", "Bob")

    def after_answer(self, answer: HookedAnswer) -> None:
        self.said.append(answer.text)


def test_each_moment_may_be_looked_at_and_changed(mock_llm: Start) -> None:
    mock = mock_llm(calls(("work", {"to": "Eve"})), text("Yes."))
    redact = Redact()
    finished = agent_of(mock, redact).stream_sync("A secret")._finish()
    assert finished.text == "Yes." and redact.said == ["Yes."]
    first, second = (request["body"]["messages"] for request in mock.requests())
    assert [message["content"] for message in first] == ["Be brief.", "***"]
    assert second[-1]["content"] == "for Bob"
    assert finished.messages[0]["content"] == "A secret"


class Guard(Hook):
    name = "guard"

    def before_tool(self, call: HookedCall) -> None:
        raise Refused("not from here")

    async def after_answer(self, answer: HookedAnswer) -> None:
        raise Refused("it tells the secret")


async def test_refusals_are_events_and_outcomes(mock_llm: Start) -> None:
    mock = mock_llm(calls(("work", {"to": "Eve"})), text("The secret."))
    turn = agent_of(mock, Guard()).stream("Hello")
    refused = [event async for event in turn.updates(raise_on_error=False) if isinstance(event, HookRefused)]
    assert [(event.hook, event.reason) for event in refused] == [("guard", "not from here"), ("guard", "it tells the secret")]
    with pytest.raises(RefusedError, match="guard.*it tells the secret"):
        await turn.result()
    assert "the call was not run: not from here" in mock.requests()[1]["body"]["messages"][-1]["content"]


def test_a_hook_that_raises_fails_the_turn_with_its_name(mock_llm: Start) -> None:
    class Broken(Hook):
        def before_request(self, request: HookedRequest) -> None:
            raise LookupError("no such table")

    class Late(Hook):
        def after_answer(self, answer: HookedAnswer) -> Any:
            return "another answer"

    mock = mock_llm(text("Yes."))
    with pytest.raises(RefusedError, match="Broken.*no such table"):
        agent_of(mock, Broken()).send_sync("Hello")
    assert mock.requests() == []
    with pytest.raises(RefusedError, match="Late.*cannot be changed"):
        agent_of(mock, Late()).send_sync("Hello")


def test_two_hooks_of_one_name_are_an_error(mock_llm: Start) -> None:
    with pytest.raises(MisuseError, match="one name"):
        agent_of(mock_llm(), Guard(), Guard())


def test_a_machine_asks_its_hooks() -> None:
    from stepwell.machine import HookSpec, OpenStream, RunHook

    hooks = [HookSpec(name="guard", moments=["before_request"])]
    machine = RunMachine(RunConfig(provider="openai", model="gpt-4o-mini", key="key", hooks=hooks))
    (asked,) = machine.start("Hello").effects
    assert isinstance(asked, RunHook) and isinstance(asked.subject, HookedRequest)
    (sent,) = machine.hook_answered(asked.id, instructions="Be brief.").effects
    assert isinstance(sent, OpenStream) and b"Be brief." in sent.request.body
