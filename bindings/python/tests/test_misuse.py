"""Wrong arguments: an error of Stepwell's that names the one."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import MockLlm, calls, text
from machines import at

from stepwell import (
    Agent,
    AuthenticationError,
    Deferred,
    Limits,
    MemoryStore,
    MisuseError,
    Model,
    SqliteStore,
    StepwellError,
    ToolContext,
    Transcript,
    show,
    tool,
)
from stepwell.device import Device
from stepwell.machine import (
    AgUiOptions,
    GenerationSettings,
    JsonSchema,
    RetryPolicy,
    RunConfig,
    RunMachine,
    RunRegistry,
    Timeouts,
)
from stepwell.testing import MockLlm as ScriptedLlm

SECRET = "sk-secret"


def agent(**settings: Any) -> Agent[Any, Any]:
    return Agent(Model.openai_compatible("m", base_url="http://localhost"), **settings)


def take(value: int) -> int:
    return value


def one_by_one(value: int) -> Iterator[int]:
    yield value


async def one_by_one_async(value: int) -> AsyncIterator[int]:
    yield value


@tool
def wants_path(context: ToolContext[Path], name: str) -> str:
    return str(context.deps / name)


def test_a_tool_may_want_a_base_of_the_deps() -> None:
    class Folder(type(Path())):  # type: ignore[misc]
        """A path of a special kind."""

    assert agent(tools=[wants_path], deps_type=Folder).tools == (wants_path,)
    # Without a type, nothing is known of the deps.
    assert agent(tools=[wants_path]).tools == (wants_path,)


def machine(**settings: Any) -> RunMachine:
    return RunMachine(RunConfig(provider="openai-compatible", model="m", base_url="http://localhost"), **settings)


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: Limits(at_limit="explode"), "`Limits.at_limit` is 'explode'; give one of 'fail', 'complete', 'sum_up'"),  # type: ignore[arg-type]
    (lambda: Limits(max_tool_rounds="ten"), "`Limits.max_tool_rounds` is of the type str; give int"),  # type: ignore[arg-type]
    (lambda: Limits(max_tool_rounds=-1), "`Limits.max_tool_rounds` is -1; give a number from 0 on"),
    (lambda: Limits(repeats=3), "`Limits.repeats` is of the type int; give RepeatLimit"),  # type: ignore[arg-type]
    (lambda: Timeouts(silence=float("nan")), "`Timeouts.silence` is nan"),
    (lambda: Timeouts(tool="5 s"), "`Timeouts.tool` is of the type str; give float or None"),  # type: ignore[arg-type]
    (lambda: RetryPolicy(attempts=None), "`RetryPolicy.attempts` is of the type NoneType"),  # type: ignore[arg-type]
    (lambda: GenerationSettings(reasoning="huge"), "`GenerationSettings.reasoning` is 'huge'"),  # type: ignore[arg-type]
    (lambda: GenerationSettings(tool_choice="look"), "`GenerationSettings.tool_choice` is 'look'"),  # type: ignore[arg-type]
    (lambda: GenerationSettings(extra={"a": object()}), "`GenerationSettings.extra` is of the type JSON that cannot be"),
    (lambda: JsonSchema(name="x", schema="{}"), "`JsonSchema.schema` is of the type str; give a JSON object"),  # type: ignore[arg-type]
    (lambda: AgUiOptions(encoding="xml"), "`AgUiOptions.encoding` is 'xml'"),  # type: ignore[arg-type]
    (lambda: Agent(3), "the model is of the type int; give a `Model`, or a string like"),  # type: ignore[call-overload]
    (lambda: agent(tools=[wants_path], deps_type=int), "the tool `wants_path` wants `deps` of the type Path, and those of the agent are of the type int"),
    (lambda: agent(wait_for_store=True), "`wait_for_store` of `Agent` has no store to wait for; give the agent its `store`"),
    (lambda: Agent("gpt-5-mini"), "'gpt-5-mini' names no provider; write \"provider:model\""),
    (lambda: Model.openai("m", api_key=5), "`api_key` of `Model` is of the type int; give a string or a function"),  # type: ignore[arg-type]
    (lambda: agent().run_sync("Hi", headers={"authorization": SECRET.encode()}), "`headers` of `Agent.run` is of the type dict"),  # type: ignore[dict-item]
    (lambda: agent(retry=3), "`retry` of `Agent` is of the type int; give RetryPolicy or a JSON object"),
    (lambda: agent(temperature="hot"), "`temperature` of `Agent` is of the type str; give float"),
    (lambda: agent(tools=3), "`tools` of `Agent` is of the type int"),
    (lambda: agent(tools=["look"]), "element 0 of `tools` of `Agent` is of the type str"),
    (lambda: agent(approver=True), "`approver` of `Agent` is of the type bool; give a function or None"),
    (lambda: agent(tools=[take, "x"]), "element 1 of `tools` of `Agent` is of the type str; give Tool or a function"),
    (lambda: agent().conversation(history=[{"role": "user"}]), "a message of a `Transcript` is of the type dict"),  # type: ignore[list-item]
    (lambda: Transcript.from_json([{"content": "Hi"}]), "a message has no `role`"),
    (lambda: agent(store="chats.db"), "`store` of `Agent` is of the type str; give SessionStore or Store or None"),
    (lambda: agent().conversation(shared_state=object()), "`shared_state` of `Agent.conversation` is no JSON"),
    (lambda: tool(timeout="5 s")(take), "`timeout` of `Tool` is of the type str; give float or None"),  # type: ignore[call-overload]
    (lambda: tool(timeout=float("nan"))(take), "`timeout` of `Tool` is nan"),
    (lambda: tool(timeout=-1.0)(take), "`timeout` of `Tool` is -1.0"),
    (lambda: tool(name=3)(take), "`name` of `Tool` is of the type int"),  # type: ignore[call-overload]
    (lambda: tool(requires_approval="yes")(take), "`requires_approval` of `Tool` is of the type str"),  # type: ignore[call-overload]
    (lambda: tool(parameters="{}")(take), "`parameters` of `Tool` is of the type str; give a JSON object"),  # type: ignore[call-overload]
    (lambda: tool(parameters={"a": object()})(take), "`parameters` of `Tool` is of the type JSON that cannot be"),
    (lambda: tool(one_by_one), "cannot be a tool: it yields its results one by one"),
    (lambda: tool(one_by_one_async), "cannot be a tool: it yields its results one by one"),
    (lambda: show("Hi"), "`turn` of `show` is of the type str; give what `stream` or `stream_sync` gave"),  # type: ignore[call-overload]
    (lambda: asyncio.run(SqliteStore.open(3)), "`path` of `SqliteStore.open` is of the type int"),  # type: ignore[arg-type]
    (lambda: ScriptedLlm("Hi"), "hop 0: 'Hi' is no answer of a model"),  # type: ignore[arg-type]
    (lambda: text(3), "`pieces` of `text` is of the type int"),  # type: ignore[arg-type]
    (lambda: calls("look"), "`asked` of `calls` is of the type str; give a tuple of str, any"),  # type: ignore[arg-type]
    (lambda: agent().stream_sync(3), "`prompt` of `Agent.stream` is of the type int; give a text"),  # type: ignore[call-overload]
    (lambda: agent().conversation(3), "`id` of `Agent.conversation` is of the type int; give ThreadKey or str"),  # type: ignore[arg-type]
    (lambda: machine(thread_id=3), "`thread_id` of `RunMachine` is of the type int"),
    (lambda: machine().start(3), "`text` of `RunMachine.start` is of the type int"),  # type: ignore[arg-type]
    (lambda: machine().start("Hi", now="now"), "`now` of `RunMachine.start` is of the type str"),  # type: ignore[arg-type]
    (lambda: machine().start("Hi", now=at(-1)), "an argument of `RunMachine.start` does not fit"),
    (lambda: machine().start("Hi", now=datetime(2026, 5, 17)), "a time without a time zone"),
    (lambda: machine().receive("e", "text"), "`data` of `RunMachine.receive` is of the type str; give bytes"),  # type: ignore[arg-type]
    (lambda: machine().tool_failed("e", "m", kind="error"), "`kind` of `RunMachine.tool_failed` is of the type str"),  # type: ignore[arg-type]
    (lambda: RunRegistry().check("handle"), "`handle` of `RunRegistry.check` is of the type str; give RunHandle"),  # type: ignore[arg-type]
    (lambda: asyncio.run(MemoryStore().thread(3)), "`thread` of `SessionStore.thread` is of the type int"),  # type: ignore[arg-type]
    (lambda: agent(settings=GenerationSettings(max_output_tokens=1 << 70)).run_sync("Hi"), "does not fit"),
]


@pytest.mark.parametrize(("call", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_wrong_argument_is_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(MisuseError) as refused:
        call()
    assert isinstance(refused.value, StepwellError)
    assert said in str(refused.value)
    assert SECRET not in str(refused.value)


async def test_so_is_one_of_a_turn(mock_llm: Callable[..., MockLlm]) -> None:
    mock = mock_llm(text("Hello"))
    turn = Agent(mock.model).stream("Hi")
    with pytest.raises(MisuseError, match="`kind` of `Turn.fail_call` is of the type str"):
        await turn.fail_call("c", "m", kind="error")  # type: ignore[arg-type]
    with pytest.raises(MisuseError, match="`message` of `Turn.steer` is of the type dict"):
        await turn.steer({"role": "user", "content": "Hi"})
    await turn.result()


async def test_a_result_without_a_form_is_one_too(mock_llm: Callable[..., MockLlm]) -> None:
    @tool
    def later() -> str:
        raise Deferred

    mock = mock_llm(calls(("later", {})), text("Hello"))
    turn = Agent(mock.model, tools=[later]).stream("Hi")
    await turn.rested()
    with pytest.raises(MisuseError, match="`result` of `Turn.resolve_call`: a lock has no form in JSON"):
        await turn.resolve_call("call_0_0", threading.Lock())
    await turn.resolve_call("call_0_0", "well")
    await turn.result()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"api_key": "sk-secret\n"}, "the key for openai-compatible holds a line break"),
        ({"headers": {"x-team": "a\nb"}}, "the header `x-team` cannot be sent"),
        ({"headers": {"x team": "a"}}, "the header `x team` cannot be sent"),
    ],
)
def test_what_cannot_be_sent_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(MisuseError, match=said) as refused:
        Agent(Model.openai_compatible("m", base_url="http://localhost", **given)).run_sync("Hi")
    assert SECRET not in str(refused.value)


async def test_what_belongs_to_a_process_is_not_copied(mock_llm: Callable[..., MockLlm]) -> None:
    mock = mock_llm(text("Hello"), text("Hello"), repeat=True)
    here = Agent(mock.model)
    turn = here.stream("Hi")
    for thing in (here.conversation(), turn, MemoryStore(), machine(), Device(here).registry):
        for copied in (copy.deepcopy, pickle.dumps):
            with pytest.raises(MisuseError, match="belongs to this process"):
                copied(thing)
    with pytest.raises(MisuseError, match="belongs to this process"):
        pickle.dumps(here)
    # An agent does not change, so a copy is the same one.
    assert copy.copy(here) is here and copy.deepcopy(here) is here
    assert (await turn.result()).text == "Hello"


def test_errors_reach_another_process(mock_llm: Callable[..., MockLlm]) -> None:
    mock = mock_llm({"status": 401, "error": "Incorrect API key provided"}, repeat=True)
    raised: list[StepwellError] = []
    failing = [Agent("nobody:m"), Agent(mock.model)]
    for each in failing:
        with pytest.raises(StepwellError) as caught:
            each.run_sync("Hi")
        raised.append(caught.value)
    for error in raised:
        there = pickle.loads(pickle.dumps(error))
        assert (type(there), str(there), there.advice) == (type(error), str(error), error.advice)
    wrong = pickle.loads(pickle.dumps(raised[1]))
    assert isinstance(wrong, AuthenticationError)
    assert (wrong.retryable, wrong.status, wrong.provider) == (False, 401, "openai-compatible")
    assert wrong.result == raised[1].result is not None


def test_what_python_says_of_names_is_left_to_python() -> None:
    with pytest.raises(TypeError, match="max_rounds"):
        Limits(max_rounds=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: agent(tool=[]), "`Agent` has no option `tool`; give `tools`, if that is meant"),
        (lambda: agent(temprature=1), "give `temperature`, if that is meant"),
        (lambda: agent(max_cost=1), 'give `limits={"max_cost": …}`, if that is meant'),
        (lambda: agent(key="k"), "give `api_key` of `Model`"),
        (lambda: agent().conversation("t", room="r"), "`Agent.conversation` has no argument `room`; give `id=ThreadKey(room=…)`"),  # type: ignore[call-arg]
        (lambda: agent().conversation().cancel(now=True), "`Conversation.cancel` has no argument `now`; leave it out"),  # type: ignore[call-arg]
    ],
)
def test_but_for_what_was_meant(call: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        call()
