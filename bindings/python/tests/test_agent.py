"""The API with the network inside."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import (
    Agent,
    AuthenticationError,
    ConnectionFailedError,
    ContentFilterError,
    Conversation,
    LimitReachedError,
    Limits,
    MisuseError,
    Model,
    StepwellError,
    TextUpdate,
    ToolCallUpdate,
    ToolError,
    ToolOutput,
    tool,
)
from stepwell.errors import KINDS, OutputInvalidError, ServerError
from stepwell.machine import AgUiOptions, ContextEntry, GenerationSettings, Retry, RetryPolicy
from stepwell.updates import (
    ApiErrorKind,
    ApiFailure,
    Cancelled,
    ErrorKind,
    Failed,
    Retrying,
    Started,
    Success,
    ToolCallStatus,
    ToolFailure,
    ToolFailureKind,
)

Start = Callable[..., MockLlm]

NUMBERS = {"alice": 42, "bob": 7}


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return NUMBERS[name]


def agent_of(mock: MockLlm, *tools: Callable[..., object]) -> Conversation[Any, Any]:
    return Agent(mock.model, tools=tools).conversation()


async def settled(agent: Agent[Any, Any] | Conversation[Any, Any], message: str = "Go") -> list[ToolCallUpdate]:
    """The ends that the tool calls of a turn came to."""
    return [
        event
        async for event in agent.stream(message)
        if isinstance(event, ToolCallUpdate) and event.result is not None
    ]


async def test_secret_numbers(mock_llm: Start) -> None:
    mock = mock_llm()
    agent = agent_of(mock, get_secret_number)
    turn = agent.stream("What are Alice's and Bob's secret numbers?")
    events = [event async for event in turn]

    assert isinstance(events[0], Started)
    assert turn.outcome == Success()
    assert "".join(event.delta for event in events if isinstance(event, TextUpdate)).endswith(
        "Alice's number is 42, Bob's is 7"
    )
    results = {event.call.index: event.result for event in events if isinstance(event, ToolCallUpdate)}
    assert results == {0: ToolOutput("42"), 1: ToolOutput("7")}
    assert agent.messages[-1].text == "Alice's number is 42, Bob's is 7"
    assert [message["role"] for message in agent.messages.to_json()] == ["user", "assistant", "tool", "tool", "assistant"]
    assert mock.failures() == []


async def test_a_turn_has_a_result(mock_llm: Start) -> None:
    agent = agent_of(mock_llm(text("Hello") | {"usage": {"input": 12, "output": 3}}))
    result = await agent.send("Hi")
    assert (result.stop_reason, result.output, result.text, result.full_text, result.hops) == ("complete", "Hello", "Hello", "Hello", 1)
    assert (result.usage.input_tokens, result.usage.output_tokens, result.cost) == (12, 3, None)
    assert result.messages == agent.messages
    assert result.problem is None


async def test_tools_run_side_by_side(mock_llm: Start) -> None:
    arrived = asyncio.Event()
    waiting = 0

    @tool
    async def meet(name: str) -> str:
        nonlocal waiting
        waiting += 1
        if waiting == 2:
            arrived.set()
        await arrived.wait()
        return name

    agent = agent_of(mock_llm(calls(("meet", {"name": "a"}), ("meet", {"name": "b"})), text("Done")), meet)
    assert (await agent.stream("Go")._finish()).outcome == Success()


async def test_the_model_is_told_that_a_tool_raised_and_not_what(mock_llm: Start) -> None:
    @tool
    def breaks() -> str:
        raise ValueError("no such file")

    @tool
    async def refuses() -> str:
        raise ToolError("not on Sundays")

    mock = mock_llm(calls(("breaks", {}), ("refuses", {})), text("I see"))
    ends = {update.name: update.result for update in await settled(Agent(mock.model, tools=[breaks, refuses], on_tool_error="hide"))}
    hidden = "`breaks` failed because of a mistake in its code"
    assert ends["breaks"] == ToolFailure(ToolFailureKind.PANICKED, hidden)
    assert ends["refuses"] == ToolFailure(ToolFailureKind.ERROR, "not on Sundays")
    shown = [message["content"] for message in mock.requests()[1]["body"]["messages"] if message["role"] == "tool"]
    assert shown == [f'{{"error":"{hidden}"}}', '{"error":"not on Sundays"}']
    assert mock.failures() == ["the tool `breaks` raised ValueError: no such file"]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (("get_number", {"name": "alice"}), "there is no tool named `get_number`"),
        (("get_secret_number", "{name: alice}"), "are not valid JSON"),
        (("get_secret_number", {"nam": "alice"}), "do not fit its schema"),
        (("get_secret_number", ""), "do not fit its schema"),
    ],
)
async def test_a_call_that_makes_no_sense_is_answered_and_not_run(
    mock_llm: Start, asked: tuple[str, object], why: str
) -> None:
    mock = mock_llm(calls(asked), text("Sorry"))
    agent = agent_of(mock, get_secret_number)
    (end,) = await settled(agent)
    assert isinstance(end.result, ToolFailure)
    assert end.result.kind is ToolFailureKind.REJECTED
    assert why in end.result.message
    assert agent.messages[-1].text == "Sorry"
    assert mock.failures() == []


async def test_cancelling_the_turn_stops_a_slow_tool(mock_llm: Start) -> None:
    running, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    agent = agent_of(mock_llm(calls(("slow", {}))), slow)
    turn = agent.stream("Go")
    async for event in turn.updates(raise_on_error=False):
        if isinstance(event, ToolCallUpdate) and event.status is ToolCallStatus.EXECUTING:
            await running.wait()
            turn.cancel()
    assert turn._outcome == Cancelled()
    await stopped.wait()


async def test_cancelling_the_task_cancels_the_turn(mock_llm: Start) -> None:
    agent = agent_of(mock_llm({"steps": [{"text": "Well"}, "stall"]}, text("Again")))
    began = asyncio.Event()

    async def watch() -> None:
        async for event in agent.stream("Go"):
            if isinstance(event, TextUpdate):
                began.set()

    task = asyncio.create_task(watch())
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # What was said stands, and the agent takes the next message.
    assert (await agent.stream("Go on")._finish()).outcome == Success()
    assert [message["role"] for message in agent.messages.to_json()] == ["user", "assistant", "user", "assistant"]


async def test_leaving_the_loop_cancels_the_turn(mock_llm: Start) -> None:
    running, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    agent = agent_of(mock_llm(calls(("slow", {}))), slow)
    async for event in agent.stream("Go"):
        if isinstance(event, ToolCallUpdate) and event.status is ToolCallStatus.EXECUTING:
            await running.wait()
            break
    gc.collect()
    await stopped.wait()


async def test_async_with_cancels_at_its_end(mock_llm: Start) -> None:
    agent = agent_of(mock_llm({"steps": [{"text": "Well"}, "stall"]}))
    async with agent.stream("Go") as turn:
        async for event in turn:
            if isinstance(event, TextUpdate):
                break
    assert (await turn._finish()).outcome == Cancelled()


async def test_a_new_message_replaces_the_turn_where_the_app_says_so(mock_llm: Start) -> None:
    agent = agent_of(mock_llm({"steps": [{"text": "Well"}, "stall"]}, text("Hello")))
    first = agent.stream("Go")
    async for event in first:
        if isinstance(event, TextUpdate):
            break
    second = await agent.stream("Never mind", when_busy="cancel").result()
    assert second.stop_reason == "complete"
    async for _ in first.updates(raise_on_error=False):
        pass
    assert first.outcome == Cancelled()


async def test_a_wrong_key(mock_llm: Start) -> None:
    refused = {"status": 401, "error": "Incorrect API key provided"}
    mock = mock_llm(refused, refused)
    agent = Agent(Model.openai("mock", base_url=mock.base_url, api_key="wrong"))
    with pytest.raises(AuthenticationError, match="Incorrect API key provided") as caught:
        await agent.stream("Hi").result()
    error = caught.value
    assert (error.retryable, error.provider, error.status) == (False, "openai", 401)
    assert error.result is not None and error.result.stop_reason == "failed"
    outcome = (await agent.stream("Hi")._finish()).outcome
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.failure, ApiFailure)
    assert (outcome.failure.kind, outcome.failure.status) == (ApiErrorKind.AUTHENTICATION, 401)
    assert "Incorrect API key provided" in outcome.message
    assert not outcome.transient
    request, _ = mock.requests()
    assert "Bearer wrong" in str(request["headers"])


async def test_a_server_error_is_tried_again(mock_llm: Start) -> None:
    mock = mock_llm({"status": 503, "error": "Overloaded"}, text("Hello"))
    agent = Agent(
        mock.model,
        retry=RetryPolicy(first_delay=0.0, jitter=0.0),
    )
    assert (await agent.stream("Hi")._finish()).outcome == Success()
    assert len(mock.requests()) == 2


@pytest.mark.parametrize(
    "retry",
    [
        RetryPolicy(first_delay=0.0, by_kind=[Retry(kind="server_error", attempts=2), Retry(kind="output_invalid", attempts=1)]),
        {
            "first_delay": 0.0,
            "by_kind": [{"kind": "server_error", "attempts": 2}, {"kind": "output_invalid", "attempts": 1}],
        },
    ],
)
async def test_each_kind_of_failure_has_attempts_of_its_own(mock_llm: Start, retry: Any) -> None:
    mock = mock_llm({"status": 500, "error": "No"}, {"status": 500, "error": "No"}, text("Hello"), {"steps": []}, text("Hello"))
    agent = Agent(mock.model, retry=retry)
    turn = agent.stream("Hi")
    tries = [update.kind async for update in _until_it_fails(turn) if isinstance(update, Retrying)]
    assert tries == [ErrorKind.SERVER_ERROR]
    assert len(mock.requests()) == 2
    assert (await agent.run("Hi")).text == "Hello"
    with pytest.raises(OutputInvalidError):
        await agent.run("Hi")
    assert len(mock.requests()) == 4


async def _until_it_fails(turn: Any) -> Any:
    with pytest.raises(ServerError):
        async for update in turn:
            yield update


def test_a_row_of_the_retries_names_its_wrong_field() -> None:
    with pytest.raises(MisuseError, match="`by_kind` of `retry` of `Agent` has no field `tries`"):
        Agent("openai:m", retry={"by_kind": [{"kind": "rate_limit", "tries": 2}]})


async def test_an_ag_ui_agent_is_told_what_the_app_knows(mock_llm: Start) -> None:
    change = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/pages", "value": 2}]}
    stray = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "nobody", "delta": "lost"}
    mock = mock_llm({"steps": [{"raw_frame": change}, {"raw_frame": stray}, {"text": "Hello"}]}, text("Again"))
    definition = Agent(
        Model.ag_ui(mock.urls["ag-ui"]),
        settings=GenerationSettings(context=[ContextEntry(description="The page", value="Orders")]),
        ag_ui=AgUiOptions(is_before_1_0=True, verification="lenient"),
    )
    agent = definition.conversation(shared_state={"colour": "blue"})
    assert agent.shared_state == {"colour": "blue"}
    assert (await agent.stream("Hi")._finish()).outcome == Success()
    assert (agent.messages[-1].text, agent.shared_state) == ("Hello", {"colour": "blue", "pages": 2})
    assert (await agent.stream("Hi")._finish()).outcome == Success()
    first, second = (request["body"] for request in mock.requests())
    assert first["context"] == [{"description": "The page", "value": "Orders"}]
    assert "protocolVersion" not in first
    assert (first["state"], second["state"]) == ({"colour": "blue"}, {"colour": "blue", "pages": 2})


async def test_a_cut_stream_is_no_success(mock_llm: Start) -> None:
    agent = agent_of(mock_llm({"steps": [{"text": "Half a"}, "end_early"]}))
    with pytest.raises(ConnectionFailedError) as caught:
        await agent.stream("Hi").result()
    assert caught.value.retryable
    assert caught.value.result is not None and caught.value.result.stop_reason == "truncated"
    assert caught.value.result.text == "Half a"


@pytest.mark.parametrize(
    ("reason", "kind", "error"),
    [
        ("length", "length", LimitReachedError),
        ("content_filter", "content_filter", ContentFilterError),
    ],
)
async def test_an_answer_that_is_not_whole(
    mock_llm: Start, reason: str, kind: str, error: type[StepwellError]
) -> None:
    cut = {"choices": [{"delta": {"content": "Half"}, "finish_reason": reason}]}
    agent = agent_of(mock_llm({"steps": [{"raw_frame": json.dumps(cut)}, "end_early"]}))
    with pytest.raises(error) as caught:
        await agent.stream("Hi").result()
    result = caught.value.result
    assert result is not None
    assert (result.text, result.stop_reason, result.output) == ("Half", kind, None)


def test_every_problem_has_its_exception() -> None:
    kinds = {kind.value for kind in ErrorKind}
    assert kinds == set(KINDS)
    assert set(KINDS.values()) == set(StepwellError.__subclasses__())


async def test_the_limit_of_tool_rounds(mock_llm: Start) -> None:
    mock = mock_llm(calls(("get_secret_number", {"name": "alice"})), calls(("get_secret_number", {"name": "bob"})))
    agent = Agent(
        mock.model,
        tools=[get_secret_number],
        limits=Limits(max_tool_rounds=1),
    )
    with pytest.raises(LimitReachedError) as caught:
        await agent.stream("Go").result()
    assert caught.value.result is not None and caught.value.result.stop_reason == "limit_reached"
    assert caught.value.message == "the turn is at its limit of tool rounds, 1"


@pytest.mark.parametrize("answer", [True, False, "not today"])
async def test_the_user_is_asked(mock_llm: Start, answer: bool | str) -> None:
    ran: list[str] = []

    @tool(requires_approval=True)
    def pay(amount: float) -> str:
        ran.append(f"{amount}")
        return "paid"

    async def ask(invocation: object) -> bool | str:
        assert getattr(invocation, "arguments") == {"amount": 5}
        return answer

    agent = Agent(mock_llm(calls(("pay", {"amount": 5})), text("Done")).model,
        tools=[pay],
        approver=ask,
    )
    (end,) = await settled(agent)
    if answer is True:
        assert (end.status, ran) == (ToolCallStatus.COMPLETED, ["5.0"])
    else:
        assert (end.status, ran) == (ToolCallStatus.DENIED, [])
        assert isinstance(end.result, ToolFailure)
        assert ("not today" in end.result.message) == (answer == "not today")


async def test_nobody_to_ask_is_an_answer_too(mock_llm: Start) -> None:
    @tool(requires_approval=True)
    def pay(amount: float) -> str:
        return "paid"

    mock = mock_llm(calls(("pay", {"amount": 1}), ("pay", {"amount": 2})), text("Then not."))
    buyer = Agent(mock.model, tools=[pay])
    result = await buyer.run("Go")
    told = [str(message["content"]) for message in result.messages.to_json() if message["role"] == "tool"]
    assert len(told) == 2 and all("did not allow the call" in content for content in told)

    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    interrupts = [{"id": "where", "reason": "input_required"}]
    asks = {**started, "type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": interrupts}}
    mock = mock_llm({"bare": True, "steps": [{"raw_frame": started}, {"raw_frame": asks}]}, text("Then not."))
    finished = await Agent(Model.ag_ui(mock.urls["ag-ui"])).run("Book it")
    assert finished.text == "Then not."
    (answer,) = mock.requests()[1]["body"]["resume"]
    assert (answer["interruptId"], answer["status"]) == ("where", "cancelled")


async def test_history_goes_on(mock_llm: Start) -> None:
    mock = mock_llm(text("One"), text("Two"))
    first = agent_of(mock)
    await first.stream("Hi").result()
    second = Agent(mock.model, instructions="Be brief.").conversation(first.id, history=first.messages)
    await second.stream("And now?").result()
    roles = [message["role"] for message in mock.requests()[1]["body"]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert first.id == second.id


def test_loops_come_and_go(mock_llm: Start) -> None:
    agent = agent_of(mock_llm(), get_secret_number)
    for _ in range(3):

        async def turn() -> None:
            assert (await agent.stream("Go")._finish()).outcome == Success()

        asyncio.run(turn())


@pytest.mark.parametrize(
    ("model", "reason", "advice"),
    [
        (Model("opnai:m"), "there is no provider `opnai`", "openai-compatible"),
        (Model.openai("m"), "needs an API key", "give the model a key"),
        (Model("openai-compatible:m"), "no address of its own", "set `base_url`"),
        (Model("openai-compatible:", base_url="http://localhost"), "name a model", "set `model`"),
    ],
)
def test_a_model_that_cannot_work_is_named(
    monkeypatch: pytest.MonkeyPatch, model: Model, reason: str, advice: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MisuseError) as caught:
        Agent(model).run_sync("Hi")
    assert reason in caught.value.message
    assert advice in caught.value.advice


def test_two_tools_of_one_name() -> None:
    with pytest.raises(MisuseError, match="there is a tool named `get_secret_number` already"):
        Agent("openai:m", tools=[get_secret_number, get_secret_number])


def test_events_print_briefly() -> None:
    assert repr(TextUpdate("m1", "Hi")) == "TextUpdate(message_id='m1', delta='Hi')"
