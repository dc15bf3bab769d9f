"""What the app tells a turn that is under way, over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from conftest import MockLlm, calls, text
from machines import updates

from stepwell import (
    Agent,
    BusyError,
    Conversation,
    Deferred,
    MisuseError,
    Tool,
    ToolCallUpdate,
    ToolInvocation,
    ToolOutput,
    UserMessage,
    tool,
)
from stepwell.device import Device
from stepwell.updates import (
    Busy,
    Cancelled,
    Update,
    Failed,
    SteeringTaken,
    Success,
    ToolCallStatus,
    ToolFailure,
    ToolFailureKind,
)

Start = Callable[..., MockLlm]


def agent_of(mock: MockLlm, *tools: Tool[..., Any], **settings: Any) -> Conversation[Any, Any]:
    return Agent(mock.model, tools=tools, **settings).conversation()


@tool
async def wait(name: str) -> str:
    """Waits, unless it is for nobody."""
    if name != "nobody":
        await asyncio.Event().wait()
    return "nothing to wait for"


@tool
async def order(what: str) -> str:
    """Orders something that comes later."""
    raise Deferred


def executing(event: Update) -> bool:
    return isinstance(event, ToolCallUpdate) and event.status is ToolCallStatus.EXECUTING


async def test_one_call_is_cancelled_and_the_other_goes_on(mock_llm: Start) -> None:
    mock = mock_llm(calls(("wait", {"name": "alice"}), ("wait", {"name": "nobody"})), text("One came."))
    turn = agent_of(mock, wait).stream("Go")
    events: list[Update] = []
    async for event in turn:
        events.append(event)
        if executing(event) and isinstance(event, ToolCallUpdate) and event.call.index == 0:
            await turn.cancel_call(event.tool_call_id)
    results = {event.call.index: event.result for event in events if isinstance(event, ToolCallUpdate) and event.result}
    assert isinstance(results[0], ToolFailure)
    assert results[0].kind is ToolFailureKind.CANCELLED
    assert results[1] == ToolOutput("nothing to wait for")
    assert turn._outcome == Success()
    with pytest.raises(MisuseError, match="the turn is over") as caught:
        await turn.cancel_call("any")
    assert caught.value.advice


async def test_what_is_typed_is_answered_in_the_turn(mock_llm: Start) -> None:
    mock = mock_llm(calls(("wait", {"name": "alice"})), text("In short: no."))
    agent = agent_of(mock, wait)
    turn = agent.stream("Go")
    given: list[str] = []
    taken: list[str] = []
    async for event in turn:
        if executing(event) and isinstance(event, ToolCallUpdate):
            given.append(await turn.steer("In short, please"))
            given.append(await turn.steer(UserMessage("Really", id="m2")))
            with pytest.raises(MisuseError, match="no result of the call `nobody` is awaited"):
                await turn.resolve_call("nobody", "here")
            await turn.resolve_call(event.tool_call_id, {"found": 1})
        if isinstance(event, SteeringTaken):
            taken.append(event.message_id)
    assert taken == given
    assert [message["role"] for message in mock.requests()[1]["body"]["messages"]] == [
        "user",
        "assistant",
        "tool",
        "user",
        "user",
    ]
    assert [message.get("content") for message in agent.messages.to_json()][2:5] == ['{"found": 1}', "In short, please", "Really"]


async def test_a_deferred_call_rests_and_another_agent_goes_on(mock_llm: Start) -> None:
    mock = mock_llm(calls(("order", {"what": "tea"})), text("Enjoy!"))
    first = agent_of(mock, order)
    turn = first.stream("Tea, please")
    snapshot = await turn.rested()
    assert await turn.snapshot() == snapshot
    turn.cancel()
    assert (await turn._finish()).outcome == Cancelled()

    second = Agent(mock.model, tools=[order]).conversation(first.id)
    revived = second.agent.revive(snapshot)
    (waiting,) = [call for message in first.messages.to_json() for call in message.get("toolCalls", [])]
    await revived.resolve_call(waiting["id"], "the tea is here")
    events = [event async for event in revived]
    (update,) = [event for event in updates(events, waiting["id"]) if event.result]
    assert update.result == ToolOutput("the tea is here")
    assert revived.outcome == Success()
    assert (second.messages[-1].text, [message["role"] for message in second.messages.to_json()]) == (
        "Enjoy!",
        ["user", "assistant", "tool", "assistant"],
    )


async def test_a_deferred_call_may_fail(mock_llm: Start) -> None:
    mock = mock_llm(calls(("order", {"what": "tea"})), text("No tea today."))
    turn = agent_of(mock, order).stream("Tea, please")
    async for event in turn:
        if isinstance(event, ToolCallUpdate) and event.status is ToolCallStatus.DEFERRED:
            await turn.fail_call(event.tool_call_id, "sold out")
        if isinstance(event, ToolCallUpdate) and event.result:
            assert event.result == ToolFailure(ToolFailureKind.ERROR, "sold out")
    assert turn._outcome == Success()


async def test_the_approver_may_give_other_arguments(mock_llm: Start) -> None:
    ran: list[float] = []

    @tool(requires_approval=True)
    def pay(amount: float) -> str:
        ran.append(amount)
        return "paid"

    def ask(invocation: ToolInvocation) -> Mapping[str, Any]:
        return {"amount": 5} if invocation.arguments["amount"] == 100 else {"amount": "much"}

    mock = mock_llm(calls(("pay", {"amount": 100}), ("pay", {"amount": 1})), text("Done."))
    agent = agent_of(mock, pay, approver=ask)
    events = [event async for event in agent.stream("Pay")]
    assert ran == [5]
    (denied,) = [event.result for event in events if isinstance(event, ToolCallUpdate) and isinstance(event.result, ToolFailure)]
    assert denied.kind is ToolFailureKind.DENIED
    assert "edited the arguments" in denied.message


async def test_a_turn_may_end_in_the_background(mock_llm: Start) -> None:
    mock = mock_llm(calls(("wait", {"name": "alice"})))
    agent = Agent(mock.model, tools=[wait], device={"background": "cancel"})
    device = Device(agent)
    turn = agent.stream("Go")
    async for event in turn.updates(raise_on_error=False):
        if executing(event):
            device.network_lost()
            device.network_available()
            device.entered_background()
    device.entered_foreground()
    assert turn._outcome == Cancelled()


async def test_two_users_of_one_agent_are_not_mixed(mock_llm: Start) -> None:
    mock = mock_llm(calls(("wait", {"name": "alice"})), text("Sure."))
    agent = agent_of(mock, wait)
    first = agent.stream("I am Alice")
    async for event in first.updates(raise_on_error=False):
        if not executing(event):
            continue
        refused = await agent.stream("I am Bob")._finish()
        assert refused.outcome == Failed(Busy(), message="another turn of this conversation is under way", transient=False)
        assert (refused.text, refused.messages, refused.hops) == ("", [], 0)
        with pytest.raises(BusyError, match="when_busy"):
            await agent.send("I am Bob")
        # Each has a conversation of their own.
        bobs = await agent.agent.conversation("bob").send("I am Bob")
        assert bobs.text == "Sure."
        first.cancel()
    assert first._outcome == Cancelled()
    assert [message["content"] for message in agent.messages.to_json() if message["role"] == "user"] == ["I am Alice"]
    bodies = [request["body"] for request in mock.requests()]
    said = [[message["content"] for message in body["messages"] if message["role"] == "user"] for body in bodies]
    assert said == [["I am Alice"], ["I am Bob"]]


async def test_an_app_with_one_user_cancels_the_turn_under_way(mock_llm: Start) -> None:
    both_ways: list[tuple[dict[str, Any], dict[str, Any]]] = [({"when_busy": "cancel"}, {}), ({}, {"when_busy": "cancel"})]
    for agent_wide, options in both_ways:
        mock = mock_llm(calls(("wait", {"name": "alice"})), text("Sure."))
        agent = agent_of(mock, wait, **agent_wide)
        first = agent.stream("A hard question")
        async for event in first.updates(raise_on_error=False):
            if executing(event):
                assert (await agent.stream("Forget it", **options).result()).text == "Sure."
        assert first._outcome == Cancelled()
