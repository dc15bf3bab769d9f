"""What an app's own tests are given: the scripted model without the Rust program, turns without a network, strategies."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, THOROUGH, mock_llm_program
from hypothesis import Phase, find, given, settings

from stepwell import (
    Agent,
    InvalidRequestError,
    MisuseError,
    Model,
    TextUpdate,
    ToolCallUpdate,
    ToolError,
    ToolOutput,
    tool,
)
from stepwell.machine import Completed, RetryPolicy, TextMessageContent
from stepwell.testing import Hop, MockLlm, MockLlmProgram, PlayedTurn, SECRET_NUMBERS, calls, error, play, text
from stepwell.testing.strategies import update_sequences, turns
from stepwell.updates import (
    Cancelled,
    Failed,
    Outcome,
    Retrying,
    Started,
    Success,
    TextMessageEnd,
    TextMessageStart,
    Truncated,
    Update,
)


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name]


def agent_of(base_url: str, *tools: Callable[..., object]) -> Agent[Any, Any]:
    retry = RetryPolicy(first_delay=0.0, jitter=0.0)
    return Agent(Model.openai_compatible("mock", base_url=base_url), tools=tools, retry=retry)


def shape(events: list[Update]) -> list[str]:
    """What happened: neighbouring pieces are one, and ids that a run draws are left out."""
    lines: list[str] = []
    for event in events:
        match event:
            case TextUpdate(delta=delta) if lines and lines[-1].startswith("says "):
                lines[-1] += delta
            case TextUpdate(delta=delta):
                lines.append(f"says {delta}")
            case ToolCallUpdate():
                lines.append(f"{event.call} {event.name} {event.tool_call_id} {event.status} {event.result}")
            case Retrying():
                lines.append("retries")
    return lines


SCRIPTS: dict[str, list[Hop]] = {
    "numbers": list(SECRET_NUMBERS),
    "text": [text("Grüße, ", "世界 🎉\n", "and  more ") | {"usage": {"input": 12, "output": 3}}],
    "empty": [{"steps": []}, {"steps": []}, {"steps": []}],
    "length": [text("Well", stop_reason="length")],
    "no JSON": [calls(("get_secret_number", "{name: alice}")), text("Sorry")],
    "no arguments": [calls(("get_secret_number", "")), text("Sorry")],
    "no tool": [calls(("nobody", {})), text("Sorry")],
    "reasoning": [{"steps": [{"reasoning": "Hm, hm."}, {"text": "Yes."}]}],
    "cut": [{"steps": [{"text": "Half a"}, "cut"]}],
    "early": [{"steps": [{"text": "Half a"}, "end_early"]}],
    "error in the stream": [{"steps": [{"text": "Half a"}, {"error_event": {"message": "Overheated", "code": "hot"}}]}],
    "refused": [error(401, "Incorrect API key provided")],
    "again": [error(503, "Overloaded"), {"hang_up": True}, text("Hello")],
    "frame": [{"steps": [{"raw_frame": {"choices": [{"index": 0, "delta": {"content": "raw"}}]}}]}],
}


def settled(server: MockLlm | MockLlmProgram) -> list[Any]:
    """The requests, once it is known how far each answer got: the client may be done before the server knows."""
    while True:
        requests = server.requests()
        if all(request["delivery"] != "sending" for request in requests):
            return requests


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_model_in_python_is_as_the_program(name: str) -> None:
    told: list[Any] = []
    for server in (MockLlm(*SCRIPTS[name]), MockLlmProgram(*SCRIPTS[name], program=mock_llm_program())):
        with server:
            agent = agent_of(server.base_url, get_secret_number)
            turn = agent.stream_sync("Go")
            lines = shape(list(turn.updates(raise_on_error=False)))
            finished = turn._finish()
            usage = finished.usage if name == "text" else None
            requests = settled(server)
            asked = [request["body"] for request in requests]
            deliveries = [request["delivery"] for request in requests]
            # Of tools side by side either may be done first.
            told.append([sorted(lines), finished.text, usage, asked, deliveries, server.failures()])
    assert json.dumps(told[0], default=str) == json.dumps(told[1], default=str)


def post(url: str, body: object) -> tuple[int, str]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


ASKED = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {}}]}


@pytest.mark.parametrize(
    ("path", "body", "wrong"),
    [
        ("/v1/responses", {}, "unknown path"),
        ("/v1/chat/completions", [], "no JSON object"),
        ("/v1/chat/completions", {"messages": []}, "model parameter"),
        ("/v1/chat/completions", {"model": "m", "messages": []}, "no list of messages"),
        ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user"}]}, "only streams"),
        ("/v1/chat/completions", {"model": "m", "stream": True, "messages": [ASKED]}, "were not answered"),
        (
            "/v1/chat/completions",
            {"model": "m", "stream": True, "messages": [{"role": "tool", "tool_call_id": "b"}]},
            "no tool call `b` waits",
        ),
    ],
)
def test_what_a_provider_would_refuse_is_a_failure(path: str, body: object, wrong: str) -> None:
    with MockLlm(text("Hello")) as mock:
        status, said = post(mock.base_url.removesuffix("/v1") + path, body)
        assert status == 400 and wrong in said
        (failure,) = mock.failures()
        assert wrong in failure


def test_a_request_for_another_server_takes_no_hop() -> None:
    with MockLlm(text("Hello")) as mock:
        address = mock.base_url.split("/mock-")[0]
        for other in (address, f"{address}/mock-0"):
            status, said = post(f"{other}/v1/chat/completions", {"model": "m", "messages": [ASKED], "stream": True})
            assert status == 404 and "no address of this mock provider" in said
        assert mock.requests() == [] and mock.failures() == []
        assert agent_of(mock.base_url).run_sync("Hi").text == "Hello"


def test_a_script_has_an_end() -> None:
    with MockLlm(text("Hello")) as mock:
        agent = agent_of(mock.base_url)
        agent.run_sync("Hi")
        assert isinstance(agent.stream_sync("Hi")._finish().outcome, Failed)
        assert "the script is used up" in mock.failures()[0]


def test_many_conversations_play_one_script() -> None:
    with MockLlm() as mock:
        for _ in range(2):
            agent = agent_of(mock.base_url, get_secret_number)
            for _ in range(2):
                assert "42" in agent.run_sync("Go").text
        assert mock.failures() == []


async def test_a_client_that_leaves_is_seen() -> None:
    with MockLlm({"steps": [{"text": "Well"}, "stall"]}) as mock:
        async with agent_of(mock.base_url).stream("Go") as turn:
            async for event in turn:
                if isinstance(event, TextUpdate):
                    break
        await asyncio.to_thread(mock.wait_until, lambda requests: requests[0]["delivery"] == "client_left")


def test_closing_cuts_what_is_under_way() -> None:
    mock = MockLlm({"steps": [{"text": "Well"}, "stall"]})
    turn = agent_of(mock.base_url).stream_sync("Go")
    for event in turn.updates(raise_on_error=False):
        if isinstance(event, TextUpdate):
            mock.close()
    assert isinstance(turn._outcome, Failed)
    with pytest.raises(TimeoutError, match="did not come to that"):
        mock.wait_until(lambda requests: False, timeout=0.0)


@pytest.mark.parametrize(
    ("hop", "wrong"),
    [
        ({"step": []}, "unknown fields ['step']"),
        ({"steps": ["stop"]}, "'stop' is no step"),
        ({"steps": [{"text": "a", "reasoning": "b"}]}, "is no step"),
        ({"steps": [{"tool_call": {}}]}, "has no name"),
        ({"error": "no"}, "needs a `status`"),
        ({"steps": [{"text": "a"}], "silent": True}, "has one of"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_at_once(hop: Hop, wrong: str) -> None:
    for start in (MockLlm, play):
        with pytest.raises(MisuseError) as caught:
            start(text("Hello"), hop)
        assert str(caught.value).startswith("hop 1: ") and wrong in str(caught.value)


def test_without_the_program_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEPWELL_MOCK_LLM", raising=False)
    with pytest.raises(FileNotFoundError, match="STEPWELL_MOCK_LLM"):
        MockLlmProgram()


def test_playing_gives_what_an_agent_gives() -> None:
    played = play(*SECRET_NUMBERS, tools=[get_secret_number], answer=lambda call: NUMBERS[call.arguments["name"]])
    with MockLlm() as mock:
        turn = agent_of(mock.base_url, get_secret_number).stream_sync("Go on")
        real = list(turn)

    # Ids count the answers from 1 here and from 0 there, and of tools side by side either may be done first.
    assert sorted(line.replace("call_1_", "call_0_") for line in shape(played.updates)) == sorted(shape(real))
    assert turn.outcome == played.outcome
    assert isinstance(played.events[0], Started) and played.outcome == Success()
    assert played.text.endswith("Alice's number is 42, Bob's is 7")
    assert [message["role"] for message in played.messages] == ["user", "assistant", "tool", "tool", "assistant"]


NUMBERS = {"alice": 42, "bob": 7}


def test_what_a_played_tool_answers() -> None:
    def answer(call: Any) -> Any:
        if call.call.index == 0:
            raise ToolError("out of order")
        return {"n": call.call.index}

    asked = calls(*[("get_secret_number", {"name": "x"}) for _ in range(3)])
    played = play(asked, tools=[get_secret_number], answer=answer, last_first=True)
    ends = [event for event in played.events if isinstance(event, ToolCallUpdate) and event.result]
    assert [event.call.index for event in ends] == [2, 1, 0]
    assert ends[0].result == ToolOutput('{"n": 2}') and "out of order" in str(ends[2].result)


@pytest.mark.parametrize(
    ("hop", "outcome"),
    [
        ({"steps": [{"text": "a"}, "end_early"]}, Truncated),
        ({"steps": [{"text": "a"}, "cut"]}, Failed),
        ({"steps": [{"text": "a"}, "stall"]}, Failed),
        ({"silent": True}, Success),
        ({"hang_up": True}, Success),
        (error(429, "Slow down", headers={"retry-after": "7"}), Success),
        (error(400, "No"), Failed),
    ],
)
def test_trouble_is_played_in_no_time(hop: Hop, outcome: type) -> None:
    played = play(hop)
    assert isinstance(played.outcome, outcome)
    if "error" in hop and outcome is Success:
        assert [event.delay for event in played.events if isinstance(event, Retrying)] == [7.0]


def test_the_user_may_stop_it_anywhere() -> None:
    whole = play(*SECRET_NUMBERS, tools=[get_secret_number], chunk=50)
    outcomes: list[Outcome] = [Cancelled()]
    while outcomes[-1] != Success():
        after = len(outcomes) - 1
        outcomes.append(play(*SECRET_NUMBERS, tools=[get_secret_number], chunk=50, cancel_after=after).outcome)
        assert outcomes[-1] in (Cancelled(), Success())
    assert len(outcomes) > len(whole.batches)


@given(turns())
def test_every_sequence_keeps_the_rules(turn: PlayedTurn) -> None:
    events = turn.events
    assert isinstance(events[0], Started)
    assert [event for event in events if isinstance(event, Completed)] == [Completed(turn.outcome)]
    opened: set[str] = set()
    for event in events:
        if isinstance(event, TextMessageStart):
            opened.add(event.message_id)
        if isinstance(event, TextMessageContent):
            assert event.message_id in opened
        if isinstance(event, TextMessageEnd):
            opened.discard(event.message_id)
    said = "".join(event.delta for event in events if isinstance(event, TextMessageContent))
    assert said == turn.shown_text


@given(turns(trouble=False))
def test_without_trouble_all_is_well(turn: PlayedTurn) -> None:
    assert turn.outcome == Success()


@given(update_sequences())
def test_an_invariant_that_holds(events: list[Update]) -> None:
    assert isinstance(events[0], Started)


@pytest.mark.parametrize(
    "holds",
    [
        lambda turn: turn.outcome == Cancelled(),
        lambda turn: isinstance(turn.outcome, Truncated),
        lambda turn: any(isinstance(event, Retrying) for event in turn.events),
        lambda turn: any("nobody" in str(getattr(event, "name", "")) for event in turn.events),
    ],
)
def test_the_strategies_find_every_kind_of_turn(holds: Callable[[PlayedTurn], bool]) -> None:
    find(turns(), holds, settings=settings(max_examples=2000, phases=[Phase.generate]))


@pytest.mark.skipif(not THOROUGH, reason="it takes as long as a tenth of the others: `cargo xtask prove languages`")
def test_what_is_found_is_shrunk() -> None:
    def orders(turn: PlayedTurn) -> bool:
        return any(isinstance(event, ToolCallUpdate) and event.name == "order" for event in turn.events)

    (hop,) = find(turns(trouble=False, max_hops=1), orders, settings=settings(max_examples=2000)).hops
    assert hop == {"steps": [{"tool_call": {"name": "order", "arguments": {"what": ""}}}]}


TEST_OF_AN_APP = '''
from stepwell import Agent
from stepwell.testing import text


def test_it_greets(mock_llm):
    mock = mock_llm(text("Hello"))
    agent = Agent(mock.model)
    assert agent.run_sync("Hi").text == "Hello"
    assert len(mock.requests()) == 1 and mock.failures() == []


async def test_it_looks_up_numbers(mock_llm):
    agent = Agent(mock_llm().model)
    assert "42" in (await agent.stream("Go").result()).text


def test_it_is_closed_after_the_test(mock_llm, request):
    request.addfinalizer(lambda: None)
    global left
    left = mock_llm(text("Hello"))


def test_what_was_left_is_closed():
    import urllib.error, urllib.request, pytest
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(left.base_url)
'''


def test_the_plug_in_works_in_a_clean_project(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST_OF_AN_APP)
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error")
    # As installed, the entry point loads it; beside the sources it is named.
    named = [] if _is_installed() else ["-p", "pytest_stepwell"]
    result = pytester.runpytest_subprocess("-v", *named)
    result.assert_outcomes(passed=4)


def test_the_plug_in_loads_nothing_that_is_not_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("import sys\ndef test_it():\n    assert 'pytest_stepwell' in sys.modules and 'stepwell' not in sys.modules")
    named = [] if _is_installed() else ["-p", "pytest_stepwell"]
    pytester.runpytest_subprocess(*named).assert_outcomes(passed=1)


def _is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(found.name == "stepwell" for found in entry_points(group="pytest11"))


def test_the_plug_in_comes_with_the_wheel() -> None:
    if "STEPWELL_WHEEL" in os.environ:
        assert _is_installed()


def test_hypothesis_is_not_needed_for_the_rest() -> None:
    program = """
import sys
sys.modules["hypothesis"] = None
import stepwell.testing
try:
    import stepwell.testing.strategies
except ImportError as error:
    assert "pip install hypothesis" in str(error), error
else:
    raise SystemExit("it was imported")
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_scripts_are_those_of_the_program() -> None:
    readme = (ROOT / "tests" / "mock-llm" / "README.md").read_text(encoding="utf-8")
    script = json.loads(readme.split("### A script in JSON\n\n```json\n")[1].split("```")[0])
    with MockLlm(*script["hops"]) as mock:
        assert mock.base_url.endswith("/v1")
    assert Path(mock_llm_program()).exists()


def test_another_form_of_usage_is_refused_at_once() -> None:
    with pytest.raises(MisuseError, match="usage.*input.*output"):
        MockLlm(text("Hi", usage={"input_tokens": 3}))


def test_a_script_that_is_too_short_fails_at_once() -> None:
    with MockLlm(text("Hi")) as mock:
        agent = agent_of(mock.base_url)
        agent.run_sync("One")
        with pytest.raises(InvalidRequestError, match="used up"):
            agent.run_sync("Two")
        # It is not tried again.
        assert len(mock.requests()) == 2
