"""Agents whose requests the app's own HTTP client sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from conftest import MockLlm, calls, text

from stepwell import Agent, ConnectionFailedError, Model, TextUpdate, tool
from stepwell.updates import Failed, Success

Start = Callable[..., MockLlm]


@tool
async def loop_of(name: str) -> str:
    """Says which loop it runs on."""
    return name


def agent_of(base_url: str, client: httpx.AsyncClient, key: str | None = None, **settings: Any) -> Agent[Any, Any]:
    return Agent(Model.openai_compatible("mock", base_url=base_url, api_key=key), client=client, **settings)


async def test_every_request_goes_through_the_apps_client(mock_llm: Start) -> None:
    mock = mock_llm(calls(("loop_of", {"name": "alice"})), text("Hello."))
    sent: list[httpx.Request] = []

    async def note(request: httpx.Request) -> None:
        sent.append(request)

    async with httpx.AsyncClient(event_hooks={"request": [note]}) as client:
        finished = await agent_of(mock.base_url, client, tools=[loop_of]).stream("Go")._finish()
    assert isinstance(finished.outcome, Success)
    assert finished.text == "Hello."
    assert [request.method for request in sent] == ["POST", "POST"]
    assert sent[0].extensions["timeout"] == {"connect": 30.0, "read": None, "write": None, "pool": None}


def test_it_serves_a_plain_script_too() -> None:
    body = b'data: {"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    headers = {"content-type": "text/event-stream"}
    answer = httpx.MockTransport(lambda request: httpx.Response(200, headers=headers, content=body))
    # No connection is opened, so none is left open where the loop has gone on.
    client = httpx.AsyncClient(transport=answer)
    assert agent_of("http://model.example/v1", client).run_sync("Go").text == "Hello."


async def test_what_fails_is_told() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("the proxy is asleep")

    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        agent = agent_of("http://model.example/v1", client)
        with pytest.raises(ConnectionError, match="ConnectError: the proxy is asleep") as failed:
            await agent.run("Go")
    assert isinstance(failed.value, ConnectionFailedError)


async def test_the_key_goes_to_no_other_host() -> None:
    asked: list[str] = []

    def move(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(307, headers={"location": "http://elsewhere.example/v1/chat/completions"})

    async with httpx.AsyncClient(transport=httpx.MockTransport(move), follow_redirects=True) as client:
        finished = await agent_of("http://model.example/v1", client, key="secret").stream("Go")._finish()
    assert isinstance(finished.outcome, Failed)
    assert set(asked) == {"model.example"}


class Endless(httpx.AsyncByteStream):
    """A body without an end, which says when it is given up."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b'data: {"choices":[{"delta":{"content":"on and "}}]}\n\n'
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        self.closed.set()


async def test_an_answer_that_nobody_waits_for_is_given_up() -> None:
    body = Endless()
    headers = {"content-type": "text/event-stream"}
    answer = httpx.MockTransport(lambda request: httpx.Response(200, headers=headers, stream=body))
    async with httpx.AsyncClient(transport=answer) as client:
        turn = agent_of("http://model.example/v1", client).stream("Go")
        async for event in turn:
            if isinstance(event, TextUpdate):
                turn.cancel()
                break
        await body.closed.wait()
