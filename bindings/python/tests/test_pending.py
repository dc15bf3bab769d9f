"""What a turn waits for, as data: listed and answered by the turn, by its conversation, and by another process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import MockLlm, calls, postgres_url, text

from stepwell import (
    Agent,
    Conversation,
    MisuseError,
    Model,
    Pending,
    PostgresStore,
    SessionStore,
    SqliteStore,
    ToolContext,
    Turn,
    TurnCancelledError,
    tool,
)
from stepwell.callbacks import Decision, Question, ToolInvocation
from stepwell.errors import Deferred
from stepwell.updates import PendingKind, PendingUpdate, Success

Start = Callable[..., MockLlm]


@tool(requires_approval=True)
def delete(path: str) -> str:
    """Deletes a folder."""
    return f"deleted {path}"


@tool
async def paint(context: ToolContext[None]) -> str:
    """Paints the door."""
    return f"painted {await context.ask('Which colour?', str)}"


@tool
def order(what: str) -> str:
    """Orders something."""
    raise Deferred


TOOLS: list[Any] = [delete, paint, order]


def agent_of(mock: MockLlm, **options: Any) -> Agent[None, str]:
    return Agent(mock.model, tools=TOOLS, **options)


def told(mock: MockLlm, request: int = 1) -> list[str]:
    """What the model was told of its calls."""
    messages = mock.requests()[request]["body"]["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


async def waiting(turn: Turn[Any], count: int = 1) -> list[Pending]:
    """Reads the turn until so many things wait."""
    async for update in turn:
        if isinstance(update, PendingUpdate) and len(update.pending) == count:
            return update.pending
    raise AssertionError("nothing waits")


async def test_a_turn_lists_what_waits_and_takes_the_replies(mock_llm: Start) -> None:
    mock = mock_llm(calls(("delete", {"path": "/"}), ("delete", {"path": "/home"}), ("paint", {}), ("order", {"what": "tea"})), text("Done"))
    turn = agent_of(mock).stream("Go")
    pending = await waiting(turn, 4)
    assert await turn.pending() == pending
    first, second = (each for each in pending if each.kind == "approval")
    assert (first.tool, first.arguments, first.message) == ("delete", {"path": "/"}, None)
    assert first.schema is not None and first.schema["required"] == ["path"]
    await turn.approve(first.id, arguments={"path": "/tmp"})
    await turn.deny(second.id, "not your home")
    (question,) = (each for each in pending if each.kind is PendingKind.QUESTION)
    assert (question.tool, question.message) == ("paint", "Which colour?")
    assert question.deadline is None or question.deadline.tzinfo is not None
    await turn.answer(question.id, "red")
    (result,) = (each for each in pending if each.kind is PendingKind.RESULT)
    await turn.resolve_call(result.tool_call_id, {"cups": 2})
    assert (await turn.result()).text == "Done"
    shown = "\n".join(told(mock))
    for expected in ("deleted /tmp", "not your home", "painted red", '{"cups": 2}'):
        assert expected in shown


async def test_a_reply_that_does_not_fit_is_refused_and_changes_nothing(mock_llm: Start) -> None:
    mock = mock_llm(calls(("delete", {"path": "/"})), text("Done"))
    turn = agent_of(mock).stream("Go")
    (approval,) = await waiting(turn)
    with pytest.raises(MisuseError):
        await turn.approve(approval.id, arguments={"path": 7})
    with pytest.raises(MisuseError):
        await turn.answer(approval.id, "yes")
    with pytest.raises(MisuseError, match="pending"):
        await turn.approve("another")
    with pytest.raises(MisuseError, match="no JSON"):
        await turn.approve(approval.id, arguments={"path": object()})
    assert await turn.pending() == [approval]
    await turn.approve(approval.id)
    assert (await turn.result()).text == "Done"


async def test_a_run_that_nobody_can_answer_denies(mock_llm: Start) -> None:
    mock = mock_llm(calls(("delete", {"path": "/"}), ("paint", {})), text("Then not."))
    assert (await agent_of(mock).run("Go")).text == "Then not."
    denied, declined = told(mock)
    assert "did not allow the call" in denied
    assert "painted None" in declined


async def test_a_conversation_waits_and_takes_the_replies(mock_llm: Start) -> None:
    mock = mock_llm(calls(("delete", {"path": "/"})), text("Done"))
    agent = agent_of(mock)
    conversation = agent.conversation("c")
    assert await conversation.pending() == []
    sent = asyncio.create_task(conversation.send("Go"))
    while not (pending := await agent.conversation("c").pending()):
        await asyncio.sleep(0)
    await agent.conversation("c").approve(pending[0].id)
    assert (await sent).text == "Done"
    assert await conversation.pending() == []
    with pytest.raises(MisuseError, match="the turn is over"):
        await conversation.approve(pending[0].id)


def test_replies_without_an_event_loop(mock_llm: Start) -> None:
    mock = mock_llm(calls(("delete", {"path": "/"}), ("paint", {})), text("Done"))
    conversation = agent_of(mock).conversation()
    with conversation.stream_sync("Go") as turn:
        for update in turn:
            if isinstance(update, PendingUpdate) and len(update.pending) == 2:
                break
        for each in turn.pending():
            if each.kind == "approval":
                turn.deny(each.id, "no")
            else:
                conversation.answer_sync(each.id, "blue")
        assert conversation.pending_sync() == []
        assert turn.result().text == "Done"
    assert "painted blue" in told(mock)[1]


async def test_an_approver_is_withdrawn_by_another_reply(mock_llm: Start) -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def approver(call: ToolInvocation) -> Decision:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        return False

    mock = mock_llm(calls(("delete", {"path": "/"})), text("Done"))
    turn = agent_of(mock, approver=approver).stream("Go")
    await asked.wait()
    (approval,) = await turn.pending()
    await turn.approve(approval.id)
    await withdrawn.wait()
    assert (await turn.result()).text == "Done"
    assert "deleted /" in told(mock)[0]


async def test_an_approver_and_an_answerer_are_withdrawn_with_the_turn(mock_llm: Start) -> None:
    asked: list[str] = []
    withdrawn: list[str] = []

    async def waits(name: str) -> Any:
        asked.append(name)
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.append(name)

    async def approver(call: ToolInvocation) -> Decision:
        return bool(await waits("approver"))

    async def answerer(call: ToolInvocation, question: Question) -> Any:
        return await waits("answerer")

    mock = mock_llm(calls(("delete", {"path": "/"}), ("paint", {})))
    turn = agent_of(mock, approver=approver, answerer=answerer).stream("Go")
    while len(asked) < 2:
        await asyncio.sleep(0)
    turn.cancel()
    with pytest.raises(TurnCancelledError):
        await turn.result()
    assert sorted(withdrawn) == ["answerer", "approver"]


async def test_a_message_waits_for_the_turn_or_joins_it(mock_llm: Start) -> None:
    mock = mock_llm(calls(("delete", {"path": "/"})), text("Done"), text("Next"))
    conversation = agent_of(mock).conversation(when_busy="queue")
    first = conversation.stream("Go")
    (approval,) = await waiting(first)
    second = conversation.stream("And then?")
    await first.approve(approval.id)
    assert (await second.result()).text == "Next"
    assert (await first.result()).text == "Done"

    mock = mock_llm(calls(("delete", {"path": "/"})), text("Both done"), text("Next"))
    conversation = agent_of(mock).conversation()
    first = conversation.stream("Go")
    (approval,) = await waiting(first)
    joined = conversation.stream("And the rest", when_busy="steer")
    await first.approve(approval.id)
    answers = (await first.result()).text, (await joined.result()).text
    # The message joins the turn before its answer or after it; if it comes too late, it begins a turn of its own.
    assert answers in [("Both done", "Both done"), ("Next", "Next"), ("Both done", "Next")]


async def opened(where: str) -> SessionStore:
    """Opens the store that processes share: in a file, or in a schema of a PostgreSQL server."""
    if where.startswith("python_"):
        return await PostgresStore.open(postgres_url(), schema=where, max_connections=4)
    return await SqliteStore.open(where)


async def test_a_turn_that_continues_elsewhere_has_the_deps_of_its_conversation(mock_llm: Start, tmp_path: Path) -> None:
    @tool(requires_approval=True)
    def ship(context: ToolContext[str]) -> str:
        return f"from {context.deps}"

    mock = mock_llm(calls(("ship", {})), text("Done"), text("Next"), calls(("ship", {})), text("Done again"))
    file = tmp_path / "chats.db"

    async def conversation(deps: str) -> Conversation[str, str]:
        agent = Agent(mock.model, tools=[ship], deps_type=str, store=await SqliteStore.open(file))
        return agent.conversation("c", deps=deps)

    first = (await conversation("Bergen")).stream("Go")
    (approval,) = await waiting(first)
    await first.suspend()
    second = await conversation("Oslo")
    await second.approve(approval.id)
    assert (await second.send("And then?", when_busy="queue")).text == "Next"
    assert told(mock) == ["from Oslo"]
    # A turn's own value comes first.
    own = second.stream("Again", deps="Bodø")
    (approval,) = await waiting(own)
    await own.approve(approval.id)
    await own.result()
    assert told(mock, 4)[-1] == "from Bodø"


OWNER = textwrap.dedent(
    """
    import asyncio, sys
    sys.path.insert(0, sys.argv[3])
    from test_pending import TOOLS, opened
    from stepwell import Agent, Model
    from stepwell.updates import PendingUpdate

    async def main():
        store = await opened(sys.argv[2])
        agent = Agent(Model.openai_compatible("mock", base_url=sys.argv[1]), tools=TOOLS, store=store)
        turn = agent.conversation("c").stream("Go")
        async for update in turn:
            if isinstance(update, PendingUpdate) and update.pending:
                print("waits", flush=True)
        print((await turn.result()).text, flush=True)

    asyncio.run(main())
    """
)


@pytest.fixture(params=["sqlite", "postgres"])
async def owner(request: pytest.FixtureRequest, mock_llm: Start, tmp_path: Path) -> AsyncIterator[Callable[..., Any]]:
    """Starts another process that has a turn which waits, and returns it with a conversation of this process."""
    processes: list[subprocess.Popen[str]] = []
    where = str(tmp_path / "chats.db") if request.param == "sqlite" else f"python_{uuid.uuid4().hex}"
    if request.param == "postgres":
        postgres_url()

    async def start(*hops: Any) -> tuple[subprocess.Popen[str], Conversation[None, str], SessionStore, MockLlm]:
        mock = mock_llm(*hops)
        command = [sys.executable, "-c", OWNER, mock.base_url, where, str(Path(__file__).parent)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "waits\n"
        store = await opened(where)
        agent = Agent(Model.openai_compatible("mock", base_url=mock.base_url), tools=TOOLS, store=store)
        return process, agent.conversation("c"), store, mock

    yield start
    for process in processes:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def rest_of(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate()
    return said.splitlines()[-1]


async def test_another_process_approves(owner: Callable[..., Any]) -> None:
    process, conversation, store, mock = await owner(calls(("delete", {"path": "/"})), text("Done"))
    (approval,) = await conversation.pending()
    assert await store.pending("c") == [approval]
    assert (approval.kind, approval.tool, approval.arguments) == (PendingKind.APPROVAL, "delete", {"path": "/"})
    await conversation.approve(approval.id, arguments={"path": "/tmp"})
    assert await asyncio.to_thread(rest_of, process) == "Done"
    assert "deleted /tmp" in told(mock)[0]
    assert await store.pending("c") == []
    with pytest.raises(MisuseError):
        await conversation.approve(approval.id)


async def test_another_process_denies_answers_and_resolves(owner: Callable[..., Any]) -> None:
    hop = calls(("delete", {"path": "/"}), ("paint", {}), ("order", {"what": "tea"}))
    process, conversation, _, mock = await owner(hop, text("Done"))
    while len(pending := await conversation.pending()) < 3:
        await asyncio.sleep(0)
    for each in pending:
        if each.kind is PendingKind.APPROVAL:
            await conversation.deny(each.id, "not the root")
        elif each.kind is PendingKind.QUESTION:
            await conversation.answer(each.id, "green")
        else:
            await conversation.resolve_call(each.tool_call_id, "two cups")
    assert await asyncio.to_thread(rest_of, process) == "Done"
    shown = "\n".join(told(mock))
    assert "not the root" in shown and "painted green" in shown and "two cups" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
async def test_a_reply_continues_the_turn_of_a_process_that_was_killed(owner: Callable[..., Any]) -> None:
    process, conversation, store, mock = await owner(calls(("delete", {"path": "/"})), text("Done"), text("Next"))
    process.kill()
    process.wait()
    (approval,) = await store.pending("c")
    await conversation.approve(approval.id)
    assert (await conversation.send("And then?", when_busy="queue")).text == "Next"
    assert told(mock) == ["deleted /"]
    turns = await store.turns("c")
    assert [turn.outcome for turn in turns] == [Success(), Success()]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_program_without_a_loop_continues_the_turn(owner: Callable[..., Any]) -> None:
    async def killed() -> Any:
        process, conversation, store, mock = await owner(calls(("order", {"what": "tea"})), text("Enjoy"))
        process.kill()
        process.wait()
        return conversation, mock

    conversation, mock = asyncio.run(killed())
    (result,) = conversation.pending_sync()
    conversation.resolve_call_sync(result.tool_call_id, "here it is")
    mock.wait_until(lambda requests: len(requests) == 2)
    assert told(mock) == ["here it is"]
