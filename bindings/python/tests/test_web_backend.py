"""The chat backend of the examples: its routes, and two workers that are killed in the middle of a turn."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import ROOT, MockLlm, calls, text
from fastapi.testclient import TestClient

Start = Callable[..., MockLlm]

EXAMPLES = ROOT / "examples" / "python"
ADA = {"authorization": "Bearer token-of-ada"}
BOB = {"authorization": "Bearer token-of-bob"}


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The module, with its conversations in a new file."""
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.setenv("CHATS", str(tmp_path / "chats.db"))
    monkeypatch.syspath_prepend(EXAMPLES)
    import web_backend

    return web_backend


def said(stream: str) -> str:
    """Joins the pieces of the answer: how many there are is up to the network."""
    return "".join(json.loads(piece) for piece in re.findall('^data: (".*")$', stream, re.MULTILINE))


def test_a_user_sees_their_own_orders_and_chats(mock_llm: Start, monkeypatch: pytest.MonkeyPatch, backend: Any) -> None:
    mock = mock_llm(calls(("list_orders", {})), text("A kettle."), text("Hello, Bob."))
    monkeypatch.setattr(backend, "agent", backend.agent.with_model(mock.model))
    with TestClient(backend.app) as client:
        answer = client.post("/chats/first", json={"text": "What have I ordered?"}, headers=ADA)
        assert said(answer.text) == "A kettle."
        client.post("/chats/first", json={"text": "Hello"}, headers=BOB)
        assert client.get("/chats", headers=BOB).json() == ["Hello"]
    requests = [request["body"]["messages"] for request in mock.requests()]
    assert requests[1][-1]["content"] == '["a kettle"]'
    assert [message["role"] for message in requests[2]] == ["system", "user"]
    assert mock.failures() == []


def test_who_has_no_token_sees_nothing(backend: Any) -> None:
    with TestClient(backend.app) as client:
        assert client.get("/chats", headers={"authorization": "Bearer token-of-eve"}).status_code == 401
        assert "<title>Chat</title>" in client.get("/").text


def test_a_failure_of_the_model_is_the_end_of_the_stream(
    mock_llm: Start, monkeypatch: pytest.MonkeyPatch, backend: Any
) -> None:
    mock = mock_llm({"status": 401, "error": "Incorrect API key provided"})
    monkeypatch.setattr(backend, "agent", backend.agent.with_model(mock.model))
    with TestClient(backend.app) as client:
        lines = client.post("/chats/first", json={"text": "Hello"}, headers=ADA).text.splitlines()
    assert lines[0] == "event: problem" and lines[-3] == "event: end"


@contextmanager
def two_workers(mock: MockLlm, chats: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Starts the app with two workers, and kills whatever of it runs at the end."""
    given = {"MODEL": "openai-compatible:any", "MODEL_URL": mock.base_url, "CHATS": str(chats)}
    command = [sys.executable, "-m", "uvicorn", "web_backend:app", "--workers", "2", "--port", "0"]
    with subprocess.Popen(
        command,
        cwd=EXAMPLES,
        env={**os.environ, **given},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as server:
        try:
            assert server.stderr
            log = ""
            while log.count("startup complete") < 2:
                line = server.stderr.readline()
                assert line, log
                log += line
            address = re.search(r"http://[\d.:]+", log)
            assert address
            yield server, address[0]
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGKILL)


def until(holds: Callable[[], bool]) -> None:
    """Waits for what other processes do."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_two_users_get_their_answers_after_both_workers_were_killed(mock_llm: Start, tmp_path: Path) -> None:
    stalls = {"steps": [{"text": "Well"}, "stall"]}
    mock = mock_llm(stalls, stalls, text("Hello"), text("Hello"))
    chats = tmp_path / "chats.db"
    with two_workers(mock, chats) as (server, url), httpx.Client(base_url=url, timeout=30) as client:
        with (
            client.stream("POST", "/chats/first", json={"text": "I am Ada."}, headers=ADA) as ada,
            client.stream("POST", "/chats/first", json={"text": "I am Bob."}, headers=BOB) as bob,
        ):
            # A stream whose iterator is dropped is closed, and its turn with it.
            lines = [answer.iter_lines() for answer in (ada, bob)]
            assert [next(each)[:7] for each in lines] == ['data: "'] * 2
            again = client.post("/chats/first", json={"text": "And?"}, headers=ADA)
            assert (again.status_code, again.json()) == (409, {"detail": "an answer is under way"})
            os.killpg(server.pid, signal.SIGKILL)
    with two_workers(mock, chats) as (_, url), httpx.Client(base_url=url, timeout=30) as client:

        def last(user: dict[str, str]) -> str:
            content: str = client.get("/chats/first", headers=user).json()[-1]["content"]
            return content

        until(lambda: last(ADA) == last(BOB) == "Hello")
    asked = [request["body"]["messages"][-1]["content"] for request in mock.requests()]
    assert sorted(asked) == ["I am Ada.", "I am Ada.", "I am Bob.", "I am Bob."]
    assert mock.failures() == []
