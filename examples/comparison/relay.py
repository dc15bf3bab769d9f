"""An address where the mock model, which only streams, answers requests for a complete answer too."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def relay(to: str) -> Iterator[str]:
    """Yields the address; ``to`` is the mock model's."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            streams = body.get("stream", False)
            status, kind, answer = forwarded(to + self.path, {**body, "stream": True})
            if status == 200 and not streams:
                kind, answer = "application/json", json.dumps(complete(answer.decode())).encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def forwarded(url: str, body: dict[str, Any]) -> tuple[int, str, bytes]:
    """Returns the mock's answer: status, media type and body."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers["content-type"], answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["content-type"], error.read()


def complete(stream: str) -> dict[str, Any]:
    """Returns the chat completion that a stream adds up to."""
    frames = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: {")]
    chunks = [json.loads(frame) for frame in frames]
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: dict[int, dict[str, Any]] = {}
    reason = "stop"
    for choice in (choice for chunk in chunks for choice in chunk.get("choices", [])):
        reason = choice.get("finish_reason") or reason
        if part := choice["delta"].get("content"):
            message["content"] = (message["content"] or "") + part
        for delta in choice["delta"].get("tool_calls", []):
            call = calls.setdefault(delta["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
            call["id"] = delta.get("id") or call["id"]
            for name, part in delta["function"].items():
                call["function"][name] += part or ""
    if calls:
        message["tool_calls"] = list(calls.values())
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "mock", "choices": choices, "usage": usage}
