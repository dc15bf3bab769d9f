"""An agent behind a web server: for AG-UI clients, and for chats of the AI SDK.

    app = AgUiApp(agent)        # uvicorn app:app

The app answers ``POST /agent`` as an AG-UI agent, and ``POST /api/chat`` and ``GET /api/chat/{id}/stream`` as the AI
SDK's ``DefaultChatTransport`` expects; ``POST /agent/stop`` and ``POST /api/chat/{id}/stop`` stop a run. A client that
has lost its connection posts its run again, with ``Last-Event-ID`` if it has a part of the run. The app is plain ASGI:
a server runs it directly, and a framework mounts it (``app.mount("/ai", AgUiApp(agent))``). For a handler of your own,
``to_ag_ui`` makes a run from a turn.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._record import Json
from .agent import Agent
from .errors import MisuseError, told
from .turn import Turn

__all__ = ["AgUiApp", "to_ag_ui"]

# What of each body is taken whatever others hold, in bytes, and what all hold beyond that.
_FREE_BODY = 64 << 10
_MAX_BODIES = 256 << 20

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class AgUiApp:
    """Serves an agent to AG-UI clients and to chats of the AI SDK, as an ASGI app.

    A run has the agent's model, tools and settings; the client's conversation, tools, context and state. The client
    asks the user about tools that need an approval, and about the questions of a running tool: the tool waits for the
    run that brings the answer. A run does not use the agent's store. The agent's tools run on the server's event loop,
    with the value of ``deps_of``, which is called with the request's ASGI scope, as their ``deps``.

    Clients of one room share its threads: any client that knows a thread's id can answer its questions. Authenticate
    clients first, in a middleware; an app with users gives each its own room by ``room_of``, which is called with the
    request's ASGI scope and returns the room, such as the user's id. ``agent_of`` returns the agent to run in the same way.

    The system prompt is the agent's alone: ``system`` and ``developer`` messages of a client are dropped, with a warning in
    the log, and its context and state reach the model as the user's words. ``trust_clients=True`` takes them as instructions:
    for clients that are back ends of your own, never for browsers.

    Times are in seconds: of a run, without the time that it waits for its user; of a question; of a run without a
    client, so that its client may resume it; and of runs under way when the server stops.
    """

    def __init__(
        self,
        agent: Agent[Any, Any] | None = None,
        *,
        agent_of: Callable[[MutableMapping[str, Any]], Agent[Any, Any]] | None = None,
        deps_of: Callable[[MutableMapping[str, Any]], object] | None = None,
        room_of: Callable[[MutableMapping[str, Any]], str] | None = None,
        max_body: int = 16 << 20,
        max_runs: int = 256,
        run_timeout: float = 600,
        interrupt_timeout: float = 3600,
        resume_timeout: float = 30,
        stop_timeout: float = 10,
        trust_clients: bool = False,
    ) -> None:
        if (agent is None) == (agent_of is None):
            raise MisuseError("`AgUiApp` has no agent, or two", "give it an `agent`, or an `agent_of`")
        self._agent = agent
        self._agent_for = agent_of
        self._deps_for = deps_of
        self._room_for = room_of
        self._max_body = max_body
        self._stop_timeout = stop_timeout
        # The bytes of all bodies being read, without the first part of each.
        self._held = 0
        self._server = _ffi.AgUiServer(
            _ffi.RunLimits(
                runs=max_runs,
                run_time=run_timeout,
                interrupt_time=interrupt_timeout,
                resume_time=resume_timeout,
            ),
            trust_clients,
        )

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self._server.stop(self._stop_timeout)
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        # A framework that mounts the app leaves the path complete, and says how much of it is the mount's.
        path = scope["path"]
        root = scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :]
        reply = await self._reply(scope, path, receive, send)
        if reply is None:
            return
        gone = asyncio.ensure_future(_gone(receive, reply))
        try:
            answered = [(header.name.encode(), header.value.encode()) for header in reply.headers()]
            await send({"type": "http.response.start", "status": reply.status(), "headers": answered})
            while (piece := await reply.next()) is not None:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            reply.close()

    async def _reply(
        self, scope: MutableMapping[str, Any], path: str, receive: Receive, send: Send
    ) -> _ffi.ServedReply | None:
        """Reads the body and begins a run; returns nothing if the client has gone, or was refused."""
        body = bytearray()
        held = 0
        try:
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > self._max_body:
                    await _refuse(send, path, 413, "body_too_large", f"the body is longer than {self._max_body} bytes")
                    return None
                grown = max(0, len(body) - _FREE_BODY) - held
                if self._held + grown > _MAX_BODIES:
                    busy = "the server is reading as many long requests as it has room for: try again in a while"
                    await _refuse(send, path, 503, "too_many_bodies", busy)
                    return None
                held += grown
                self._held += grown
            headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
            request = _ffi.ServedRequest(
                method=scope["method"],
                path=path,
                content_type=headers.get(b"content-type"),
                query=scope.get("query_string", b"").decode("latin-1"),
                accept=headers.get(b"accept"),
                last_event_id=headers.get(b"last-event-id"),
                body=bytes(body),
            )
            agent = self._agent if self._agent_for is None else self._agent_for(scope)
            assert agent is not None
            engine = agent._engine
            deps = None if self._deps_for is None else self._deps_for(scope)
            here, _ = engine.begin(engine.definition.typed, deps=deps)
            room = "" if self._room_for is None else self._room_for(scope)
            return await self._server.answer(here, request, room=room)
        finally:
            self._held -= held


async def _gone(receive: Receive, reply: _ffi.ServedReply) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    reply.close()


async def _refuse(send: Send, path: str, status: int, code: str, message: str) -> None:
    # The AI SDK shows the body of such an answer to the user as it is.
    is_chat = path.startswith("/api/chat")
    body = message if is_chat else json.dumps({"error": {"code": code, "message": message}})
    kind = b"text/plain; charset=utf-8" if is_chat else b"application/json"
    headers = [(b"content-type", kind), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})


def to_ag_ui(turn: Turn[Any]) -> AsyncIterator[dict[str, Json]]:
    """Returns the turn as one complete AG-UI run, from ``RUN_STARTED`` to ``RUN_FINISHED`` or ``RUN_ERROR``: each event
    as AG-UI's JSON.

    For a handler of your own::

        conversation = agent.conversation(ThreadKey(conversation_id, room=user_id))
        async for event in to_ag_ui(conversation.stream(text)):
            yield f"data: {json.dumps(event)}\\n\\n"

    The agent is shared, and each user and each conversation has a ``conversation``, as here. The second of two turns at
    once fails with ``BusyError``. The conversation continues from the agent's ``store``; without one it lives as long as
    the app holds it.

    The run takes the turn's updates and its result. A turn that was cancelled ends with ``RUN_ERROR`` and the code
    ``abort``. Calls that tools defer are the client's to answer: the run ends with them pending, and so does the turn.
    Leaving the loop stops the turn.
    """
    return _run_of(turn)


async def _run_of(turn: Turn[Any]) -> AsyncIterator[dict[str, Json]]:
    events = await told(turn._there().to_ag_ui())
    try:
        while (event := await events.next()) is not None:
            yield event
    finally:
        turn.cancel()
        await turn._wind_up()
