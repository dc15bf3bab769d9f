"""The examples, as a user would run them."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import ROOT, MockLlm, calls, text

from stepwell import Agent, SqliteStore, TextUpdate, ToolCallUpdate, tool
from stepwell.machine import RetryPolicy, RunConfig, RunMachine, TextMessageContent, Timeouts
from stepwell.updates import Cancelled, Event, Failed, Retrying, Success, ToolFailure, ToolFailureKind

Start = Callable[..., MockLlm]
EXAMPLES = ROOT / "examples" / "python"


def run(*arguments: str) -> str:
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("name", ["any_model.py", "approve.py", "ask.py", "budget.py", "diary.py", "hello.py", "scripted.py", "trip.py", "tokens.py", "guard.py", "ship.py", "traced.py"])
def test_first_programs_are_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < 30


def test_the_program_with_a_token_gets_another_one(mock_llm: Start) -> None:
    mock = mock_llm({"status": 401, "error": "Expired"}, text("Oslo."))
    assert run(str(EXAMPLES / "tokens.py"), mock.base_url) == "Oslo.\n"
    last = mock.requests()[-1]
    assert last["headers"]["authorization"] == "Bearer new"
    assert last["body"]["messages"][0]["content"] == "Answer in one word."


def test_the_program_with_a_guard_refuses_a_call_and_an_answer(mock_llm: Start) -> None:
    mock = mock_llm(calls(("get_secret_number", {"name": "bob"})), text("Alice's is 42."))
    assert run(str(EXAMPLES / "guard.py"), mock.base_url).startswith("the hook `Guard` refused")
    assert "Bob's is his own" in json.dumps(mock.requests()[1]["body"]["messages"])


CASES = json.loads((ROOT / "tests/first-contact.json").read_text(encoding="utf-8"))
"""What every language's first program is tried with."""

STALLS = {"steps": [{"text": "Well"}, "stall"]}


@pytest.fixture(params=CASES, ids=[case["case"] for case in CASES])
def contact(request: pytest.FixtureRequest, mock_llm: Start) -> tuple[dict[str, str], str]:
    """What goes wrong, and the address where it does."""
    if hops := request.param.get("hops"):
        return request.param, mock_llm(*hops).base_url
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        return request.param, f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"


def ran_with(settings: str, *command: str) -> subprocess.CompletedProcess[str]:
    """A program, whose agent has other settings: nobody waits here."""
    program = f"""
import functools, runpy, sys, stepwell
from stepwell.machine import RetryPolicy, Timeouts
def agent(model, *, model_at=None, Agent=stepwell.Agent, **options):
    return Agent(stepwell.Model.openai("m", base_url=model_at, api_key="wrong") if model_at else model, **options)
stepwell.Agent = functools.partial(agent, {settings})
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
    whole = [sys.executable, "-c", program, *command]
    return subprocess.run(whole, capture_output=True, text=True, check=False)


def hello(base_url: str, settings: str) -> subprocess.CompletedProcess[str]:
    return ran_with(settings, str(EXAMPLES / "hello.py"), base_url)


def test_hello_says_what_goes_wrong(contact: tuple[dict[str, str], str]) -> None:
    case, base_url = contact
    ran = hello(base_url, "retry=RetryPolicy(first_delay=0.0)")
    if answer := case.get("answers"):
        assert (ran.returncode, ran.stdout) == (0, f"{answer}\n")
    else:
        last = ran.stderr.splitlines()[-1]
        assert ran.returncode == 1 and last.startswith("stepwell.errors.") and case["says"] in last


def test_the_first_program_of_the_packages_page_says_that_the_key_is_wrong(mock_llm: Start, tmp_path: Path) -> None:
    text = (ROOT / "bindings/python/README.md").read_text(encoding="utf-8")
    program = tmp_path / "first.py"
    program.write_text(text.partition("```python\n")[2].partition("```")[0], encoding="utf-8")
    mock = mock_llm({"status": 401, "error": "Incorrect API key provided"})
    ran = ran_with(f"model_at={mock.base_url!r}", str(program))
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("stepwell.errors.AuthenticationError: ")


def test_hello_says_that_the_model_is_silent(mock_llm: Start) -> None:
    ran = hello(mock_llm(STALLS).base_url, "timeouts=Timeouts(silence=0.01), retry=RetryPolicy(attempts=1)")
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("stepwell.errors.TimedOutError: ") and "silent" in last


@pytest.mark.skipif(sys.platform == "win32", reason="no process is sent Ctrl-C alone there")
def test_hello_shows_what_is_said_at_once_and_is_stopped_by_ctrl_c(mock_llm: Start) -> None:
    mock = mock_llm(STALLS)
    command = [sys.executable, str(EXAMPLES / "hello.py"), mock.base_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.read(4) == b"Well"
        program.send_signal(signal.SIGINT)
        assert program.wait() != 0
    mock.wait_until(lambda requests: requests[0]["delivery"] == "client_left")


@pytest.mark.parametrize("name", ["scripted.py", "own_client.py"])
def test_programs_say_that_the_key_is_wrong(mock_llm: Start, name: str) -> None:
    mock = mock_llm({"status": 401, "error": "Incorrect API key provided"})
    program = [sys.executable, str(EXAMPLES / name), mock.base_url]
    ran = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    last = ran.stderr.splitlines()[-1]
    assert last.startswith("the provider" if name == "own_client.py" else "stepwell.errors.AuthenticationError: ")
    assert "Incorrect API key provided" in last and last.endswith("; give another key")


@pytest.mark.parametrize("name", ["ask.py", "hello.py"])
def test_hello(mock_llm: Start, name: str) -> None:
    assert run(str(EXAMPLES / name), mock_llm().base_url).endswith("Alice's number is 42, Bob's is 7\n")


def test_a_typed_answer(mock_llm: Start) -> None:
    mock = mock_llm(text('{"city":"Bergen","days":0}'), text('{"city":"Bergen","days":3}'))
    assert run(str(EXAMPLES / "trip.py"), mock.base_url) == "3 days in Bergen\n"


def test_a_picture_is_looked_at(mock_llm: Start, tmp_path: Path) -> None:
    mock = mock_llm(text("A shark."))
    picture = tmp_path / "shark.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    assert run(str(EXAMPLES / "look.py"), str(picture), mock.base_url) == "A shark.\n"
    question, shown = mock.requests()[0]["body"]["messages"][-1]["content"]
    assert question == {"type": "text", "text": "What is this?"}
    assert shown["image_url"]["url"].startswith("data:image/png;base64,")


def test_ship_asks(mock_llm: Start) -> None:
    server = mock_llm(calls(("ship", {"parcel": "a book"})), text("It is on its way."))
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / "ship.py"), server.base_url],
        input="today\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.endswith("It is on its way.\n")
    assert "a book leaves Bergen today" in json.dumps(server.requests()[1]["body"])


@pytest.mark.parametrize(("said", "told"), [("yes", "paid 5 euros"), ("later", "the user said no")])
def test_approve_asks(mock_llm: Start, said: str, told: str) -> None:
    server = mock_llm(calls(("pay", {"euros": 5})), text("As you like."))
    command = [sys.executable, str(EXAMPLES / "approve.py"), server.base_url]
    ran = subprocess.run(command, input=f"{said}\n", capture_output=True, text=True, check=True)
    assert ran.stdout == "Pay 5 euros? As you like.\n"
    assert told in json.dumps(server.requests()[1]["body"])
    assert server.failures() == []


def test_any_model_takes_the_name_of_a_model(mock_llm: Start) -> None:
    mock = mock_llm(text("In Norway."))
    assert run(str(EXAMPLES / "any_model.py"), "anthropic:claude-sonnet-4-5", mock.urls["anthropic"]) == "In Norway.\n"
    assert mock.requests()[0]["body"]["model"] == "claude-sonnet-4-5"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_the_diary_continues_after_its_process_was_killed(mock_llm: Start, tmp_path: Path) -> None:
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]}, text("Nothing."), text("A question."))
    arguments = [str(EXAMPLES / "diary.py"), str(tmp_path / "diary.db"), mock.base_url]
    with subprocess.Popen([sys.executable, *arguments]) as first:
        mock.wait_until(lambda requests: len(requests) == 1)
        os.kill(first.pid, signal.SIGKILL)
    assert run(*arguments) == "Nothing.\nA question.\n"
    assert len(mock.requests()[2]["body"]["messages"]) == 3
    assert mock.failures() == []


def test_budget(mock_llm: Start) -> None:
    hops = [calls(("get_secret_number", {"name": "alice"})), text("42.")]
    hops = [hop | {"usage": {"input": 100, "output": 10}} for hop in hops]
    assert run(str(EXAMPLES / "budget.py"), mock_llm(*hops).base_url) == "42. It cost $0.0000420.\n"


def test_traced(mock_llm: Start) -> None:
    said = run(str(EXAMPLES / "traced.py"), mock_llm().base_url)
    # Two threads print: what one says may stand within a line of the other's.
    counted = {name: said.count(name) for name in ("chat gpt-4o-mini", "execute_tool get_secret_number", "invoke_agent")}
    assert list(counted.values()) == [2, 2, 1], said


def test_scripted_needs_nothing() -> None:
    said = run(str(EXAMPLES / "scripted.py"))
    assert "[get_secret_number: 42]" in said
    assert said.endswith("Alice's number is 42, Bob's is 7\n")


def test_own_client(mock_llm: Start) -> None:
    said = run(str(EXAMPLES / "own_client.py"), mock_llm().base_url)
    assert said.endswith("Alice's number is 42, Bob's is 7\n")


@pytest.fixture(scope="module")
def own_client() -> Any:
    spec = importlib.util.spec_from_file_location("own_client", EXAMPLES / "own_client.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def setup(
    base_url: str, *tools: Any, attempts: int = 4, silence: float | None = None, provider: str = "openai-compatible"
) -> tuple[RunMachine, list[Any]]:
    config = RunConfig(
        provider=provider,
        model="m",
        base_url=base_url,
        tools=tools,
        retry=RetryPolicy(attempts=attempts, first_delay=0.0),
        timeouts=Timeouts(silence=silence),
    )
    return RunMachine(config), list(tools)


async def test_own_client_says_what_goes_wrong(own_client: Any, contact: tuple[dict[str, str], str]) -> None:
    case, base_url = contact
    machine, _ = setup(base_url)
    async with httpx.AsyncClient(timeout=None) as client:
        outcome = await own_client.Host(machine, client, [], lambda event: None).run("Go")
    if answer := case.get("answers"):
        assert (outcome, machine.text) == (Success(), answer)
    else:
        assert isinstance(outcome, Failed) and case["says"] in outcome.message


async def test_own_client_gives_up_a_model_that_is_silent(own_client: Any, mock_llm: Start) -> None:
    machine, _ = setup(mock_llm(STALLS).base_url, attempts=1, silence=0.01)
    async with httpx.AsyncClient(timeout=None) as client:
        outcome = await own_client.Host(machine, client, [], lambda event: None).run("Go")
    assert isinstance(outcome, Failed) and "silent" in outcome.message


async def test_own_client_cannot_ask_and_says_so(own_client: Any, mock_llm: Start) -> None:
    @tool(requires_approval=True)
    def pay(amount: int) -> str:
        """Pays."""
        return "paid"

    mock = mock_llm(calls(("pay", {"amount": 1}), ("pay", {"amount": 2})), text("Then not."))
    machine, tools = setup(mock.base_url, pay)
    events: list[Event] = []
    async with httpx.AsyncClient(timeout=None) as client:
        assert await own_client.Host(machine, client, tools, events.append).run("Pay") == Success()
    results = [event.result for event in events if isinstance(event, ToolCallUpdate) and event.result]
    assert [isinstance(each, ToolFailure) and each.kind for each in results] == [ToolFailureKind.DENIED] * 2

    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    interrupts = [{"id": "where", "reason": "input_required"}]
    asks = {**started, "type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": interrupts}}
    mock = mock_llm({"bare": True, "steps": [{"raw_frame": started}, {"raw_frame": asks}]}, text("Then not."))
    machine, _ = setup(mock.urls["ag-ui"], provider="ag-ui")
    async with httpx.AsyncClient(timeout=None) as client:
        assert await own_client.Host(machine, client, [], lambda event: None).run("Go") == Success()
    (answer,) = mock.requests()[1]["body"]["resume"]
    assert (answer["interruptId"], answer["status"]) == ("where", "cancelled")


async def test_own_client_runs_tools_side_by_side_and_survives_one_that_raises(own_client: Any, mock_llm: Start) -> None:
    both = asyncio.Event()

    @tool
    async def meet(name: str) -> str:
        if name == "b":
            both.set()
        await both.wait()
        return name

    @tool
    def breaks() -> str:
        raise ValueError("no such file")

    mock = mock_llm(calls(("meet", {"name": "a"}), ("breaks", {}), ("meet", {"name": "b"})), text("Done"))
    machine, tools = setup(mock.base_url, meet, breaks)
    events: list[Event] = []
    async with httpx.AsyncClient(timeout=None) as client:
        assert await own_client.Host(machine, client, tools, events.append).run("Go") == Success()
    results = {event.call.index: event.result for event in events if isinstance(event, ToolCallUpdate)}
    assert isinstance(results[1], ToolFailure) and "no such file" in results[1].message
    assert [message["content"] for message in machine.messages if message["role"] == "tool"][::2] == ["a", "b"]
    assert mock.failures() == []


async def test_own_client_tries_again(own_client: Any, mock_llm: Start) -> None:
    mock = mock_llm({"hang_up": True}, {"status": 503, "error": "Overloaded"}, text("Hello"))
    machine, _ = setup(mock.base_url)
    events: list[Event] = []
    async with httpx.AsyncClient(timeout=None) as client:
        assert await own_client.Host(machine, client, [], events.append).run("Go") == Success()
    assert len([event for event in events if isinstance(event, Retrying)]) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_own_client_goes_on_with_a_run_whose_process_was_killed_in_mid_answer(mock_llm: Start, tmp_path: Path) -> None:
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]}, text("Hello"))
    arguments = [str(EXAMPLES / "own_client.py"), mock.base_url, str(tmp_path / "run.json")]
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout and first.stdout.read(4) == "Well"
        os.kill(first.pid, signal.SIGKILL)
    assert run(*arguments) == "Well\nHello\n"
    assert list(tmp_path.iterdir()) == []
    assert mock.failures() == []


async def test_an_agent_goes_on_with_a_turn_of_a_file_whose_process_died_in_mid_answer(
    mock_llm: Start, tmp_path: Path
) -> None:
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]}, text("Hello"))
    program = """
import asyncio, os, sys
from stepwell import Agent, Model, SqliteStore, TextUpdate

async def main():
    store = await SqliteStore.open(sys.argv[2])
    agent = Agent(Model.openai_compatible("m", base_url=sys.argv[1]), store=store)
    async for event in agent.conversation().stream("Go"):
        if isinstance(event, TextUpdate):
            os._exit(9)

asyncio.run(main())
"""
    file = tmp_path / "chats.db"
    died = subprocess.run([sys.executable, "-c", program, mock.base_url, str(file)], check=False)
    assert died.returncode == 9
    store = await SqliteStore.open(file)
    agent = Agent(mock.model, store=store)
    (recovered,) = await agent.recover()
    assert recovered.turn is not None
    assert (await recovered.turn.result()).stop_reason == "complete"


@pytest.mark.parametrize("during", ["stream", "tool"])
async def test_cancelling_the_task_of_the_own_client_stops_everything(
    own_client: Any, mock_llm: Start, during: str
) -> None:
    running, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    hop = calls(("slow", {})) if during == "tool" else {"steps": [{"text": "Well"}, "stall"]}
    mock = mock_llm(hop)
    machine, tools = setup(mock.base_url, slow)

    def listen(event: Event) -> None:
        if isinstance(event, TextMessageContent):
            running.set()

    async with httpx.AsyncClient(timeout=None) as client:
        task = asyncio.create_task(own_client.Host(machine, client, tools, listen).run("Go"))
        await running.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert machine.outcome == Cancelled()
    if during == "tool":
        assert stopped.is_set()
    else:
        await asyncio.to_thread(mock.wait_until, lambda requests: requests[0]["delivery"] == "client_left")


def test_stored(mock_llm: Start, tmp_path: Path) -> None:
    mock = mock_llm(text("Nothing yet"), text("A question"))
    for said in ("Nothing yet\nWhat have I said so far? 1\n", "A question\nWhat have I said so far? 2\n"):
        assert run(str(EXAMPLES / "stored.py"), str(tmp_path / "diary.db"), mock.base_url) == said
    assert len(mock.requests()[1]["body"]["messages"]) == 3
    assert mock.failures() == []
