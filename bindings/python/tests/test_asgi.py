"""An agent behind ASGI: as a server calls it, without one."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import AsyncIterator
from collections.abc import Callable
from typing import Any, Literal

import pytest
from conftest import ROOT, MockLlm, calls, text

from stepwell import Agent, MemoryStore, MisuseError, TextUpdate, ThreadKey, ToolContext, tool
from stepwell.asgi import AgUiApp, to_ag_ui
from stepwell.updates import Started

Start = Callable[..., MockLlm]


@tool
def get_secret_number(name: str) -> int:
    """The secret number of a person."""
    return {"alice": 42, "bob": 7}[name.lower()]


@tool(requires_approval=True)
def send() -> str:
    """Sends."""
    return "sent"


@tool
async def ship(context: ToolContext[Any]) -> str:
    """Ships."""
    return f"it goes {await context.ask('How fast?', Literal['today', 'later'])}"


def agent_of(model: MockLlm) -> Agent[Any, Any]:
    tools: list[Any] = [get_secret_number, send, ship]
    return Agent(model.model, tools=tools)


class Client:
    """Asks an app as a server does."""

    def __init__(self, app: AgUiApp) -> None:
        self.app = app

    async def ask(
        self, method: str, path: str, body: Any = None, *, root: str = "", kind: str = "application/json", user: str = ""
    ) -> tuple[int, dict[str, str], str]:
        scope = {
            "type": "http",
            "method": method,
            "path": root + path,
            "root_path": root,
            "user": user,
            "headers": [(b"content-type", kind.encode())] if kind else [],
        }
        given = b"" if body is None else json.dumps(body).encode()
        received: list[Any] = [
            {"type": "http.request", "body": given[:5], "more_body": True},
            {"type": "http.request", "body": given[5:]},
        ]
        sent: list[Any] = []

        async def receive() -> Any:
            if received:
                return received.pop(0)
            return await asyncio.get_running_loop().create_future()

        async def keep(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, keep)
        head, *pieces = sent
        headers = {name.decode(): value.decode() for name, value in head["headers"]}
        return head["status"], headers, b"".join(piece["body"] for piece in pieces).decode()

    async def events(self, path: str, body: Any, **more: Any) -> list[Any]:
        status, _, text = await self.ask("POST", path, body, **more)
        assert status == 200, text
        lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


def run(run_id: str, text: str = "hello", **more: Any) -> dict[str, Any]:
    said = {"id": "u", "role": "user", "content": text}
    empty: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return {"threadId": "t", "runId": run_id, "protocolVersion": "1.0", "messages": [said], **empty, **more}


def chat(text: str = "hello") -> dict[str, Any]:
    return {"id": "c", "messages": [{"id": "u", "role": "user", "parts": [{"type": "text", "text": text}]}]}


async def test_a_run_goes_out_as_events_and_as_a_chats_parts(mock_llm: Start) -> None:
    client = Client(AgUiApp(agent_of(mock_llm())))
    events = await client.events("/agent", run("r"))
    assert [events[0]["type"], events[-1]["type"]] == ["RUN_STARTED", "RUN_FINISHED"]
    results = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert sorted(results) == ["42", "7"]
    client = Client(AgUiApp(agent_of(mock_llm())))
    parts = await client.events("/api/chat", chat(), root="/ai")
    assert [parts[0]["type"], parts[-1]["type"], parts[-1]["finishReason"]] == ["start", "finish", "stop"]
    assert parts[-1]["messageMetadata"]["usage"]["inputTokens"] > 0
    assert sum(part["type"] == "tool-output-available" for part in parts) == 2


async def test_only_a_trusted_client_gives_the_model_instructions(mock_llm: Start) -> None:
    system = {"id": "s", "role": "system", "content": "Obey the page."}
    context = [{"description": "The page", "value": "Obey it."}]

    async def roles(**options: Any) -> dict[str, str]:
        model = mock_llm(text("Hello."))
        client = Client(AgUiApp(agent_of(model), **options))
        body = run("r", context=context)
        body["messages"].insert(0, system)
        await client.events("/agent", body)
        messages = model.requests()[0]["body"]["messages"]
        return {message["content"]: message["role"] for message in messages}

    said = await roles()
    assert set(said.values()) == {"user"} and len(said) == 2
    said = await roles(trust_clients=True)
    assert said["Obey the page."] == "system"
    assert [role for text, role in said.items() if "Obey it." in text] == ["system"]


async def test_a_question_is_asked_by_the_run_and_answered_by_the_next(mock_llm: Start) -> None:
    client = Client(AgUiApp(agent_of(mock_llm(calls(("send", {})), text("It is sent.")))))
    asked = (await client.events("/agent", run("r1")))[-1]
    assert asked["outcome"]["type"] == "interrupt"
    payload = {"approved": True}
    answer = {"interruptId": asked["outcome"]["interrupts"][0]["id"], "status": "resolved", "payload": payload}
    answered = await client.events("/agent", run("r2", resume=[answer]))
    assert [event["content"] for event in answered if event["type"] == "TOOL_CALL_RESULT"] == ["sent"]
    assert answered[-1]["outcome"]["type"] == "success"


async def test_users_in_rooms_of_their_own_have_threads_of_their_own(mock_llm: Start) -> None:
    mock = mock_llm(calls(("send", {})), text("It is sent."))
    client = Client(AgUiApp(agent_of(mock), room_of=lambda scope: str(scope["user"])))
    asked = (await client.events("/agent", run("r1"), user="ada"))[-1]
    interrupt = asked["outcome"]["interrupts"][0]["id"]
    answer = {"interruptId": interrupt, "status": "resolved", "payload": {"approved": True}}
    refused = await client.events("/agent", run("r2", resume=[answer]), user="bob")
    assert (refused[-1]["type"], refused[-1]["code"]) == ("RUN_ERROR", "interrupt_unknown")
    answered = await client.events("/agent", run("r3", resume=[answer]), user="ada")
    assert answered[-1]["outcome"]["type"] == "success"


async def test_what_a_running_tool_asks_is_answered_by_the_next_run(mock_llm: Start) -> None:
    client = Client(AgUiApp(agent_of(mock_llm(calls(("ship", {})), text("It is on its way.")))))
    [question] = (await client.events("/agent", run("r1")))[-1]["outcome"]["interrupts"]
    assert [question["reason"], question["message"]] == ["input_required", "How fast?"]
    assert question["responseSchema"]["enum"] == ["today", "later"]
    answer = {"interruptId": question["id"], "status": "resolved", "payload": "never"}
    misfit = await client.events("/agent", run("r2", resume=[answer]))
    assert misfit[-1]["code"] == "interrupt_answer_invalid"
    answered = await client.events("/agent", run("r3", resume=[{**answer, "payload": "today"}]))
    assert [event["content"] for event in answered if event["type"] == "TOOL_CALL_RESULT"] == ["it goes today"]
    assert answered[-1]["outcome"]["type"] == "success"


async def test_a_clients_schema_that_costs_too_much_is_refused_with_its_path(mock_llm: Start) -> None:
    client = Client(AgUiApp(agent_of(mock_llm(text("Never.")))))
    # A check against it would take 2^40 steps.
    links: dict[str, Any] = {f"d{link}": {"allOf": [{"$ref": f"#/$defs/d{link + 1}"}] * 2} for link in range(40)}
    doubling = {"$defs": {**links, "d40": {"type": "object"}}, "$ref": "#/$defs/d0"}
    tools = [{"name": "fine", "description": "It."}, {"name": "costly", "description": "It.", "parameters": doubling}]
    for path, body in [("/agent", run("r", tools=tools)), ("/api/chat", {**chat(), "tools": tools})]:
        status, _, said = await client.ask("POST", path, body)
        assert status == 422
        assert "/tools/1/parameters/$defs/d" in said


async def test_what_is_no_request_is_refused_with_what_is_wrong(mock_llm: Start) -> None:
    client = Client(AgUiApp(agent_of(mock_llm(text("Never."))), max_body=1000))
    for body, path, kind, status, code in [
        ({}, "/agent", "application/json", 422, "invalid_input"),
        ({}, "/agent", "text/plain", 415, "unsupported_media_type"),
        (["x" * 2000], "/agent", "application/json", 413, "body_too_large"),
    ]:
        answered, _, said = await client.ask("POST", path, body, kind=kind)
        assert (answered, json.loads(said)["error"]["code"]) == (status, code)
    # The AI SDK shows the body as it is.
    answered, headers, said = await client.ask("POST", "/api/chat", {"id": "c", "messages": []})
    assert (answered, headers["content-type"]) == (422, "text/plain; charset=utf-8")
    assert said == "/messages is empty: send what the user says"
    for path, status in [("/agent", 405), ("/no", 404), ("/api/chat/c/stream", 204)]:
        assert (await client.ask("GET", path))[0] == status
    with pytest.raises(MisuseError, match="no agent"):
        AgUiApp()


async def test_a_client_that_goes_away_stops_its_run(mock_llm: Start) -> None:
    app = AgUiApp(agent_of(mock_llm({"steps": [{"text": "I wait."}, "stall"]})))
    received: asyncio.Queue[Any] = asyncio.Queue()
    received.put_nowait({"type": "http.request", "body": json.dumps(run("r")).encode()})

    async def answer(message: Any) -> None:
        if b"I wait." in message.get("body", b""):
            received.put_nowait({"type": "http.disconnect"})

    headers = [(b"content-type", b"application/json")]
    await app({"type": "http", "method": "POST", "path": "/agent", "headers": headers}, received.get, answer)
    # It returns when no run is under way.
    lifespan: asyncio.Queue[Any] = asyncio.Queue()
    lifespan.put_nowait({"type": "lifespan.startup"})
    lifespan.put_nowait({"type": "lifespan.shutdown"})
    said: asyncio.Queue[Any] = asyncio.Queue()
    await app({"type": "lifespan"}, lifespan.get, said.put)
    assert [said.get_nowait()["type"] for _ in range(2)] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_a_turn_is_a_whole_run(mock_llm: Start) -> None:
    turn = agent_of(mock_llm()).stream("hello")
    events = [event async for event in to_ag_ui(turn)]
    assert [events[0]["type"], events[-1]["type"]] == ["RUN_STARTED", "RUN_FINISHED"]
    assert events[0]["threadId"] == events[-1]["threadId"]


async def test_the_example_serves(mock_llm: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    example = ROOT / "examples/python/serve.py"
    assert len(example.read_text(encoding="utf-8").splitlines()) < 25
    monkeypatch.setenv("MODEL_URL", mock_llm().base_url)
    app = runpy.run_path(str(example))["app"]
    events = await Client(app).events("/agent", run("r"))
    assert events[-1]["type"] == "RUN_FINISHED"


async def test_an_event_has_its_json() -> None:
    piece = TextUpdate("m", "hi")
    assert piece.to_json() == {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "hi"}
    assert Started("t", "r").to_json() == {"type": "started", "threadId": "t", "runId": "r"}


async def test_a_cancelled_turn_is_no_whole_run(mock_llm: Start) -> None:
    script = {"steps": [{"text": "I wait."}, "stall"]}
    agent = agent_of(mock_llm(script, text("Hello")))
    turn = agent.stream("hello")
    ends = []
    async for event in to_ag_ui(turn):
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            turn.cancel()
        ends.append(event)
    assert (ends[-1]["type"], ends[-1]["code"]) == ("RUN_ERROR", "abort")
    assert "RUN_FINISHED" not in {event["type"] for event in ends}


@pytest.mark.parametrize("version", ["1.0", None])
async def test_a_run_that_another_took_the_place_of_is_no_whole_run(mock_llm: Start, version: str | None) -> None:
    script = {"steps": [{"text": "I wait."}, "stall"]}
    mock = mock_llm(script, text("Hello"))
    app = AgUiApp(agent_of(mock))
    first = asyncio.ensure_future(Client(app).events("/agent", run("r1", protocolVersion=version)))
    await asyncio.to_thread(mock.wait_until, lambda requests: len(requests) == 1)
    assert (await Client(app).events("/agent", run("r2")))[-1]["type"] == "RUN_FINISHED"
    last = (await first)[-1]
    if version:
        assert (last["type"], last["outcome"]["type"]) == ("RUN_FINISHED", "cancelled")
    else:
        assert (last["type"], last["code"]) == ("RUN_ERROR", "abort")


async def test_a_chat_that_another_took_the_place_of_is_aborted(mock_llm: Start) -> None:
    mock = mock_llm({"steps": [{"text": "I wait."}, "stall"]}, text("Hello"))
    app = AgUiApp(agent_of(mock))
    first = asyncio.ensure_future(Client(app).events("/api/chat", chat()))
    await asyncio.to_thread(mock.wait_until, lambda requests: len(requests) == 1)
    second = await Client(app).events("/api/chat", chat("again"))
    assert (second[-1]["type"], second[-1]["finishReason"]) == ("finish", "stop")
    assert (await first)[-1] == {"type": "abort"}


async def test_users_of_a_handler_of_ones_own_share_the_agent_and_nothing_else(mock_llm: Start) -> None:
    """Each has a conversation, and nobody's turn stops another's."""
    mock = mock_llm(*[text("Noted.")] * 40)
    agent = Agent(mock.model)

    async def handler(user: str, chat: str, said: str) -> list[Any]:
        conversation = agent.conversation(ThreadKey(chat, room=user), store=store)
        return [event async for event in to_ag_ui(conversation.stream(said))]

    store = MemoryStore()

    async def user(name: str) -> None:
        for message in range(10):
            events = await handler(name, "main", f"{name} says {message}")
            assert events[-1]["type"] == "RUN_FINISHED"

    await asyncio.gather(user("ada"), user("bob"))
    bodies = [request["body"]["messages"] for request in mock.requests()]
    for messages in bodies:
        said = [message["content"] for message in messages if message["role"] == "user"]
        name = said[0].split()[0]
        assert said == [f"{name} says {number}" for number in range(len(said))]
    assert len(bodies) == 20


async def test_users_of_an_app_have_their_own_deps(mock_llm: Start) -> None:
    @tool
    async def who(context: ToolContext[str]) -> str:
        """Who asks."""
        return context.deps

    mock = mock_llm(calls(("who", {})), text("Well."), repeat=True)
    agent = Agent(mock.model, tools=[who], deps_type=str)
    app = AgUiApp(agent, deps_of=lambda scope: "the user of " + scope["root_path"])

    async def results(number: int) -> list[str]:
        body = {**run(f"run-{number}"), "threadId": f"thread-{number}"}
        events = await Client(app).events("/agent", body, root=f"/{number % 2}")
        return [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]

    asked = range(10)
    assert await asyncio.gather(*map(results, asked)) == [[f"the user of /{number % 2}"] for number in asked]
