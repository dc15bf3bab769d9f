"""A scripted model behind a real HTTP port."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import secrets
import select
import socket
import socketserver
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Any

from .._record import Json
from .. import tool_bugs
from ..model import Model
from . import script
from .script import SECRET_NUMBERS, Hop, Segment

Request = dict[str, Json]
"""A received request: ``method``, ``path``, ``headers``, ``body`` and ``delivery``, the state of its answer:
``sending``, ``complete``, ``cut`` or ``client_left``."""

VARIABLE = "STEPWELL_MOCK_LLM"
"""The variable that names the program ``mock-llm``."""


class MockLlm:
    """A scripted model that an app under test talks to: give the app ``base_url`` as its provider's address.

    The server speaks OpenAI's chat completions, and answers each request with the next hop of its script; without hops
    it plays the secret numbers. It needs only Python::

        with MockLlm(calls(("get_weather", {"city": "Bergen"})), text("It rains.")) as mock:
            agent = Agent(mock.model, tools=[get_weather])
            assert agent.run_sync("How is the weather?").text == "It rains."
            assert mock.failures() == []

    With ``repeat`` the script starts over with each message of the user, so that any number of conversations can play
    it. A request that the provider would refuse, such as one where a tool call is not answered, gets its error, and is
    among the ``failures``. An exception in a tool, other than ``ToolError``, is raised where the run is awaited: say
    ``Agent(…, on_tool_error="hide")`` for the model to be told, as it is in production.

    The address has a random word. A request without it gets a 404, takes no hop and is not kept: an app that still
    tries a server which is gone, and whose port this one got, disturbs no script.
    """

    def __init__(self, *hops: Hop, repeat: bool | None = None) -> None:
        chosen: Sequence[Hop] = hops or SECRET_NUMBERS
        script.check(chosen)
        self._server = _Server(chosen, not hops if repeat is None else repeat)
        # A short poll: closing waits for it.
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), name="stepwell-mock-llm", daemon=True
        )
        self._thread.start()
        self._bugs = _ToolBugs(self.base_url)

    @property
    def base_url(self) -> str:
        """The address to give the app, with ``/v1`` at its end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self._server.prefix}/v1"

    @property
    def model(self) -> Model:
        """The model to give an ``Agent``."""
        return Model.openai_compatible("mock", base_url=self.base_url)

    def requests(self) -> list[Request]:
        """The requests so far, in the order they came."""
        with self._server.changed:
            return copy.deepcopy(self._server.requests)

    def failures(self) -> list[str]:
        """The app's mistakes, a line each: a test ends well with ``assert mock.failures() == []``.

        They are requests that a provider would have refused, and exceptions other than ``ToolError`` of tools in this
        process.
        """
        with self._server.changed:
            return [*self._server.failures, *self._bugs.lines]

    def wait_until(self, holds: Callable[[list[Request]], bool], timeout: float = 60.0) -> None:
        """Waits until the requests fulfil a condition, such as that the app has closed a connection::

            mock.wait_until(lambda requests: requests[0]["delivery"] == "client_left")

        Raises ``TimeoutError`` after ``timeout`` seconds.
        """
        with self._server.changed:
            if not self._server.changed.wait_for(lambda: holds(self._server.requests), timeout):
                raise TimeoutError(f"the requests did not come to that in {timeout} s: {self._server.requests}")

    def close(self) -> None:
        """Stops the server. Answers under way are cut."""
        self._bugs.close()
        self._server.stop()
        self._thread.join()

    def __enter__(self) -> MockLlm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MockLlm(base_url={self.base_url!r})"


class MockLlmProgram:
    """The same with the program ``mock-llm``, which speaks every provider's format and can play more failures.

    It comes with Stepwell's sources: ``cargo build -p stepwell-mock-llm``.
    """

    def __init__(self, *hops: Hop, program: str | Path | None = None, **settings: Json) -> None:
        found = program or os.environ.get(VARIABLE)
        if not found:
            raise FileNotFoundError(f"name the program mock-llm as `program`, or in the variable {VARIABLE}")
        arguments = [str(found)] + (["-"] if hops else [])
        self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin and self._process.stdout
        if hops:
            self._process.stdin.write(json.dumps({"hops": list(hops), **settings}))
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self.close()
            raise RuntimeError("mock-llm did not start; what it says against the script stands on its standard error")
        addresses: dict[str, Any] = json.loads(line)
        self._root: str = addresses["root"]
        self.base_url: str = addresses["base_url"]
        """The address to give an app that speaks OpenAI's chat completions."""
        self.urls: dict[str, str] = addresses["urls"]
        """The address for each of the formats."""
        self._bugs = _ToolBugs(self.base_url, *self.urls.values())

    @property
    def model(self) -> Model:
        """The model to give an ``Agent``, at the address that speaks OpenAI's chat completions."""
        return Model.openai_compatible("mock", base_url=self.base_url)

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(self._root + path) as response:
            return json.load(response)

    def requests(self) -> list[Request]:
        """The requests so far, in the order they came."""
        found: list[Request] = self._get("/__requests")
        return found

    def failures(self) -> list[str]:
        """The app's mistakes, a line each; see ``MockLlm.failures``."""
        found: list[str] = self._get("/__failures")
        return [*found, *self._bugs.lines]

    def wait_until(self, holds: Callable[[list[Request]], bool], timeout: float = 60.0) -> None:
        """Waits until the requests fulfil a condition; raises ``TimeoutError`` after ``timeout`` seconds."""
        end = time.monotonic() + timeout
        while not holds(self.requests()):
            if time.monotonic() > end:
                raise TimeoutError(f"the requests did not come to that in {timeout} s: {self.requests()}")
            time.sleep(0.01)

    def close(self) -> None:
        """Stops the program."""
        if hasattr(self, "_bugs"):
            self._bugs.close()
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=10)

    def __enter__(self) -> MockLlmProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _ToolBugs:
    """The exceptions of tools of agents at these addresses."""

    def __init__(self, *base_urls: str) -> None:
        self.lines: list[str] = []
        self._base_urls = base_urls
        tool_bugs.watchers.append(self._saw)
        tool_bugs.mocks.extend(base_urls)

    def _saw(self, base_url: str | None, tool: str, error: BaseException) -> None:
        if base_url in self._base_urls:
            self.lines.append(f"the tool `{tool}` raised {tool_bugs.shown(error)}")

    def close(self) -> None:
        if self._saw in tool_bugs.watchers:
            tool_bugs.watchers.remove(self._saw)
            for each in self._base_urls:
                tool_bugs.mocks.remove(each)


class _Server(socketserver.TCPServer):
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, hops: Sequence[Hop], repeat: bool) -> None:
        self.hops = hops
        self.repeat = repeat
        self.prefix = f"/mock-{secrets.token_hex(8)}"
        self.requests: list[Request] = []
        self.failures: list[str] = []
        self.changed = threading.Condition()
        self._waker, self.stopping = socket.socketpair()
        self._next = 0
        self._open: dict[threading.Thread, socket.socket] = {}
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(target=self._converse, args=(request, client_address), daemon=True)
        with self.changed:
            self._open[thread] = request
        thread.start()

    def _converse(self, request: socket.socket, client_address: Any) -> None:
        try:
            # A client that leaves is no error here.
            with contextlib.suppress(OSError):
                self.finish_request(request, client_address)
        finally:
            with self.changed:
                del self._open[threading.current_thread()]
                self.shutdown_request(request)

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self._waker.close()
        with self.changed:
            left = dict(self._open)
            for connection in left.values():
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in left:
            thread.join()
        self.stopping.close()

    def take(self, request: Request) -> tuple[int, Hop | None, str]:
        """Keeps a request and chooses its hop: returns its position, or none and the reason."""
        with self.changed:
            self.requests.append(request)
            number, wrong = 0, _refused(request)
            if not wrong and self.repeat:
                number = _answers_since_user(request["body"]["messages"])
            elif not wrong:
                number, self._next = self._next, self._next + 1
            if not wrong and number >= len(self.hops):
                wrong = f"the script is used up: it has {len(self.hops)} hops, and this request is for hop {number}, from 0"
            if wrong:
                request["delivery"] = "complete"
                self.failures.append(f"{request['method']} {request['path']}: {wrong}")
            self.changed.notify_all()
            # In a script that starts over, the calls' ids must differ from those of the answers before.
            position = _answers(request["body"]["messages"]) if self.repeat and not wrong else number
            return position, None if wrong else self.hops[number], wrong

    def settle(self, request: Request, delivery: str) -> None:
        with self.changed:
            request["delivery"] = delivery
            self.changed.notify_all()


class _Cut(Exception):
    """The script closes the connection."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *arguments: object) -> None:
        """Logs nothing: the requests are in ``requests``."""

    def do_GET(self) -> None:
        self._whole(404, script.refusal(404, f"nothing is at {self.path}"))

    def do_POST(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.removeprefix(self.server.prefix)
        if path == self.path:
            wrong = f"{path} is no address of this mock provider: give the app its `base_url`"
            self._whole(404, script.refusal(404, wrong))
            return
        try:
            body = json.loads(sent)
        except ValueError:
            body = None
        request: Request = {
            "method": "POST",
            "path": path,
            "headers": [[name.lower(), value] for name, value in self.headers.items()],
            "body": body,
            "delivery": "sending",
        }
        position, hop, wrong = self.server.take(request)
        if hop is None:
            # Not 500: the agent would retry, and blame the provider.
            self._whole(400, script.refusal(400, wrong))
            return
        try:
            self._answer(hop, position, body)
            self.server.settle(request, "complete")
        except _Cut:
            self.close_connection = True
            self.server.settle(request, "cut")
        except OSError:
            self.close_connection = True
            self.server.settle(request, "client_left")

    def _answer(self, hop: Hop, position: int, body: Mapping[str, Json]) -> None:
        status, headers = hop.get("status", 200), hop.get("headers", {})
        if hop.get("hang_up"):
            raise _Cut
        if hop.get("silent"):
            self._wait(None)
        if "error" in hop:
            self._whole(status, script.refusal(status, hop["error"]), headers)
            return
        self._head(status, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **headers})
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        for segment in script.body(hop, position=position, model=body["model"], usage=usage):
            self._play(segment)
        self.wfile.write(b"0\r\n\r\n")

    def _play(self, segment: Segment) -> None:
        if segment.kind == "cut":
            raise _Cut
        if segment.kind == "bytes":
            self.wfile.write(b"%x\r\n%s\r\n" % (len(segment.data), segment.data))
        else:
            self._wait(segment.seconds if segment.kind == "pause" else None)

    def _wait(self, seconds: float | None) -> None:
        """Waits for the given time, or without end: until the client leaves, or the server stops."""
        ready, _, _ = select.select([self.connection, self.server.stopping], [], [], seconds)
        if self.server.stopping in ready:
            raise _Cut
        # The client sends nothing more on a connection whose answer is awaited, so this is its end.
        if ready:
            raise ConnectionError("the client has left")

    def _whole(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self._head(status, {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})})
        self.wfile.write(body)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


def _refused(request: Request) -> str:
    """Returns the provider's reason to refuse a request; most often it is the rule of tool calls."""
    body = request["body"]
    if request["path"] != "/v1/chat/completions":
        return "unknown path; this model speaks OpenAI's chat completions alone"
    if not isinstance(body, dict):
        return "the body is no JSON object"
    if not body.get("model"):
        return "you must provide a model parameter"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(each, dict) for each in messages):
        return "`messages` is no list of messages"
    if not body.get("stream"):
        return "this model only streams: send `\"stream\": true`"
    return _unanswered(messages)


def _unanswered(messages: Iterable[Mapping[str, Json]]) -> str:
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        if message.get("role") == "tool":
            identity = message.get("tool_call_id")
            if identity not in open_calls:
                return f"messages[{number}]: no tool call `{identity}` waits for an answer"
            open_calls.remove(str(identity))
            continue
        if open_calls:
            return f"messages[{number}]: the tool calls {open_calls} were not answered"
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    return f"the tool calls {open_calls} were not answered" if open_calls else ""


def _answers(messages: Iterable[Mapping[str, Json]]) -> int:
    """Counts the answers of the model; adjacent assistant messages are one."""
    roles = [message.get("role") for message in messages]
    return sum(1 for before, role in zip([None, *roles], roles) if role == "assistant" != before)


def _answers_since_user(messages: Sequence[Mapping[str, Json]]) -> int:
    users = [number for number, message in enumerate(messages) if message.get("role") == "user"]
    return _answers(messages[users[-1] :]) if users else _answers(messages)
