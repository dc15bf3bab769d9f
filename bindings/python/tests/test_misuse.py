"""Wrong arguments: an error of Stepwell's that names the one."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from conftest import MockLlm, calls, text
from machines import at

from stepwell import (
    Agent,
    AgUiOptions,
    AuthenticationError,
    ConfigurationError,
    Deferred,
    GenerationSettings,
    InvalidArgumentError,
    JsonSchema,
    Limits,
    MemoryStore,
    MisuseError,
    RetryPolicy,
    RunConfig,
    RunMachine,
    RunRegistry,
    SqliteStore,
    StepwellError,
    Timeouts,
    show,
    tool,
)
from stepwell.testing import MockLlm as ScriptedLlm

SECRET = "sk-secret"


def agent(**settings: Any) -> Agent:
    return Agent(**{"provider": "openai-compatible", "model": "m", "base_url": "http://localhost", **settings})


def take(value: int) -> int:
    return value


def one_by_one(value: int) -> Iterator[int]:
    yield value


async def one_by_one_async(value: int) -> AsyncIterator[int]:
    yield value


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
    (lambda: agent(provider=None), "`provider` of `Agent` is of the type NoneType; give str"),
    (lambda: agent(key=5), "`key` of `Agent` is of the type int; give str or None"),
    (lambda: agent(headers={"authorization": SECRET.encode()}), "`headers` of `Agent` is of the type dict"),
    (lambda: agent(retry=3), "`retry` of `Agent` is of the type int; give RetryPolicy or None"),
    (lambda: agent(tools=3), "`tools` of `Agent` is of the type int"),
    (lambda: agent(tools=["look"]), "element 0 of `tools` of `Agent` is of the type str"),
    (lambda: agent(approver=True), "`approver` of `Agent` is of the type bool; give a function or None"),
    (lambda: agent(history=[{"id": object()}]), "`history` of `Agent` is of the type JSON that cannot be written"),
    (lambda: agent(tools=[take, "x"]), "element 1 of `tools` of `Agent` is of the type str; give Tool or a function"),
    (lambda: agent(history=[{"a": object()}]), "element 0 of `history` of `Agent` is of the type JSON that cannot be"),
    (lambda: agent(history="Hi"), "`history` of `Agent` is of the type str; give a list of a JSON object"),
    (lambda: agent(store="chats.db"), "`store` of `Agent` is of the type str; give SessionStore or Store or None"),
    (lambda: agent(shared_state=object()), "`shared_state` of `Agent` is no JSON"),
    (lambda: tool(timeout="5 s")(take), "`timeout` of `Tool` is of the type str; give float or None"),  # type: ignore[call-overload]
    (lambda: tool(timeout=float("nan"))(take), "`timeout` of `Tool` is nan"),
    (lambda: tool(timeout=-1.0)(take), "`timeout` of `Tool` is -1.0"),
    (lambda: tool(name=3)(take), "`name` of `Tool` is of the type int"),  # type: ignore[call-overload]
    (lambda: tool(requires_approval="yes")(take), "`requires_approval` of `Tool` is of the type str"),  # type: ignore[call-overload]
    (lambda: tool(parameters="{}")(take), "`parameters` of `Tool` is of the type str; give a JSON object"),  # type: ignore[call-overload]
    (lambda: tool(parameters={"a": object()})(take), "`parameters` of `Tool` is of the type JSON that cannot be"),
    (lambda: tool(one_by_one), "cannot be a tool: it yields its results one by one"),
    (lambda: tool(one_by_one_async), "cannot be a tool: it yields its results one by one"),
    (lambda: show("Hi"), "`turn` of `show` is of the type str; give what `send` or `send_sync` gave"),  # type: ignore[call-overload]
    (lambda: asyncio.run(SqliteStore.open(3)), "`path` of `SqliteStore.open` is of the type int"),  # type: ignore[arg-type]
    (lambda: ScriptedLlm("Hi"), "hop 0: 'Hi' is no answer of a model"),  # type: ignore[arg-type]
    (lambda: text(3), "`pieces` of `text` is of the type int"),  # type: ignore[arg-type]
    (lambda: calls("look"), "`asked` of `calls` is of the type str; give a tuple of str, any"),  # type: ignore[arg-type]
    (lambda: agent().send_sync(3), "`text` of `Agent.send` is of the type int; give a text"),  # type: ignore[arg-type]
    (lambda: agent().thread(3), "`thread` of `Agent.thread` is of the type int; give ThreadKey or str"),  # type: ignore[arg-type]
    (lambda: machine(thread_id=3), "`thread_id` of `RunMachine` is of the type int"),
    (lambda: machine().start(3), "`text` of `RunMachine.start` is of the type int"),  # type: ignore[arg-type]
    (lambda: machine().start("Hi", now="now"), "`now` of `RunMachine.start` is of the type str"),  # type: ignore[arg-type]
    (lambda: machine().start("Hi", now=at(-1)), "an argument of `RunMachine.start` does not fit"),
    (lambda: machine().start("Hi", now=datetime(2026, 5, 17)), "a time without a time zone"),
    (lambda: machine().receive("e", "text"), "`data` of `RunMachine.receive` is of the type str; give bytes"),  # type: ignore[arg-type]
    (lambda: machine().tool_failed("e", "m", kind="error"), "`kind` of `RunMachine.tool_failed` is of the type str"),  # type: ignore[arg-type]
    (lambda: RunRegistry().check("handle"), "`handle` of `RunRegistry.check` is of the type str; give RunHandle"),  # type: ignore[arg-type]
    (lambda: asyncio.run(MemoryStore().thread(3)), "`thread` of `SessionStore.thread` is of the type int"),  # type: ignore[arg-type]
    (lambda: agent(settings=GenerationSettings(max_output_tokens=1 << 70)), "does not fit"),
]


@pytest.mark.parametrize(("call", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_wrong_argument_is_named(call: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        call()
    assert isinstance(refused.value, StepwellError)
    assert said in str(refused.value)
    assert SECRET not in str(refused.value)


async def test_so_is_one_of_a_turn(mock_llm: Callable[..., MockLlm]) -> None:
    mock = mock_llm(text("Hello"))
    turn = Agent(provider="openai-compatible", model="m", base_url=mock.base_url).send("Hi")
    with pytest.raises(InvalidArgumentError, match="`kind` of `Turn.fail_call` is of the type str"):
        await turn.fail_call("c", "m", kind="error")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="`message` of `Turn.steer` has no `id`"):
        await turn.steer(message={"role": "user", "content": "Hi"})
    await turn


async def test_a_result_without_a_form_is_one_too(mock_llm: Callable[..., MockLlm]) -> None:
    @tool
    def later() -> str:
        raise Deferred

    mock = mock_llm(calls(("later", {})), text("Hello"))
    turn = Agent(provider="openai-compatible", model="m", base_url=mock.base_url, tools=[later]).send("Hi")
    await turn.rested()
    with pytest.raises(InvalidArgumentError, match="`result` of `Turn.finish_call`: a lock has no form in JSON"):
        await turn.finish_call("call_0_0", threading.Lock())
    await turn.finish_call("call_0_0", "well")
    await turn


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"key": "sk-secret\n"}, "the key for openai-compatible holds a line break"),
        ({"headers": {"x-team": "a\nb"}}, "the header `x-team` cannot be sent"),
        ({"headers": {"x team": "a"}}, "the header `x team` cannot be sent"),
    ],
)
def test_what_cannot_be_sent_is_refused_at_once(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        agent(**given)
    assert SECRET not in str(refused.value)


async def test_what_belongs_to_a_process_is_not_copied(mock_llm: Callable[..., MockLlm]) -> None:
    mock = mock_llm(text("Hello"), text("Hello"), repeat=True)
    here = Agent(provider="openai-compatible", model="m", base_url=mock.base_url)
    turn = here.send("Hi")
    for thing in (here, turn, MemoryStore(), machine(), here.registry):
        for copied in (copy.deepcopy, pickle.dumps):
            with pytest.raises(MisuseError, match="belongs to this process"):
                copied(thing)
    assert (await turn).text == (await copy.copy(here).send("Hi")).text == "Hello"


def test_errors_reach_another_process(mock_llm: Callable[..., MockLlm]) -> None:
    mock = mock_llm({"status": 401, "error": "Incorrect API key provided"}, repeat=True)
    raised: list[StepwellError] = []
    for call in (lambda: agent(provider="nobody"), lambda: agent(base_url=mock.base_url).run_sync("Hi")):
        with pytest.raises(StepwellError) as caught:
            call()
        raised.append(caught.value)
    for error in raised:
        there = pickle.loads(pickle.dumps(error))
        assert (type(there), str(there), there.advice) == (type(error), str(error), error.advice)
    wrong = pickle.loads(pickle.dumps(raised[1]))
    assert isinstance(wrong, AuthenticationError)
    assert (wrong.retryable, wrong.finished, wrong.outcome) == (False, raised[1].finished, raised[1].outcome)  # type: ignore[attr-defined]


def test_what_python_says_of_names_is_left_to_python() -> None:
    with pytest.raises(TypeError, match="max_rounds"):
        Limits(max_rounds=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: agent(modle="m"), "`Agent` has no argument `modle`; give `model`, if that is meant"),
        (lambda: agent(temprature=1), "give `settings=GenerationSettings(temperature=…)`, if that is meant"),
        (lambda: agent(api_key="k"), "give one of `provider`, `model`, `api`, `base_url`, `key`"),
        (lambda: agent().thread("t", room="r"), "`Agent.thread` has no argument `room`; give `thread=ThreadKey(room=…)`"),  # type: ignore[call-arg]
        (lambda: agent().cancel(now=True), "`Agent.cancel` has no argument `now`; leave it out"),  # type: ignore[call-arg]
    ],
)
def test_but_for_what_was_meant(call: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        call()


def test_arguments_by_position_are_told_how_to_be_given() -> None:
    made: Any = Agent
    with pytest.raises(TypeError, match=r"`Agent` takes its arguments by name: write `Agent\(provider=…\)`"):
        made("openai")
