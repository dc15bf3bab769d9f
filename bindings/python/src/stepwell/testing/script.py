"""A scripted model's answers, and their bytes: OpenAI's chat completions, streamed.

Source: the API reference, https://platform.openai.com/docs/api-reference/chat-streaming.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .._record import Json
from ..arguments import checks_arguments
from ..errors import MisuseError

Hop = Mapping[str, Json]
"""One answer of the model, as ``text``, ``calls`` and ``error`` make it, or by hand in the form of mock-llm's
scripts."""

_WORDS = re.compile(r"^\s+|\S{1,12}\s*")
_CREATED = 1_700_000_000
"""A fixed time, so that a script gives the same bytes on every run."""

_STEPS = frozenset({"text", "reasoning", "tool_call", "pause_ms", "error_event", "raw_frame"})
_BARE_STEPS = frozenset({"stall", "cut", "end_early"})
_FIELDS = frozenset({"steps", "error", "status", "headers", "usage", "stop_reason", "silent", "hang_up"})
_KINDS = ("steps", "error", "silent", "hang_up")


@checks_arguments
def text(*pieces: str, **fields: Json) -> dict[str, Json]:
    """A hop that says something. Each further field of a hop can be given by name, such as ``usage`` or ``stop_reason``."""
    return {"steps": [{"text": piece} for piece in pieces], **fields}


@checks_arguments
def calls(*asked: tuple[str, Json], say: str = "") -> dict[str, Json]:
    """A hop that asks for tools, each a name with its arguments, after the text ``say``, if there is one.

    Arguments that are text are sent unchanged, even if they are no JSON.
    """
    steps: list[Json] = [{"text": say}] if say else []
    for name, arguments in asked:
        key = "raw_arguments" if isinstance(arguments, str) else "arguments"
        steps.append({"tool_call": {"name": name, key: arguments}})
    return {"steps": steps}


@checks_arguments
def error(status: int, message: str, *, headers: Mapping[str, str] | None = None) -> dict[str, Json]:
    """A hop that is refused, in the provider's form."""
    return {"status": status, "error": message, "headers": dict(headers or {})}


SECRET_NUMBERS: Sequence[Hop] = (
    calls(
        ("get_secret_number", {"name": "alice"}),
        ("get_secret_number", {"name": "bob"}),
        say="Let me look those numbers up.",
    ),
    text("Alice's number is 42, Bob's is 7"),
)
"""A model that asks the tool ``get_secret_number`` for two people at once, then tells both numbers."""


@dataclass(frozen=True)
class Segment:
    """A part of an answer's body: bytes, or an event instead of them."""

    kind: Literal["bytes", "pause", "stall", "cut"]
    """The kind of segment."""
    data: bytes = b""
    """The bytes to send."""
    seconds: float = 0.0
    """The length of a pause."""


def check(hops: Sequence[Hop]) -> None:
    """Raises ``MisuseError`` for a hop that cannot be played, with the reason."""
    for number, hop in enumerate(hops):
        if problem := _problem(hop):
            raise MisuseError(f"hop {number}: {problem}", "make it by `text`, `calls` or `error`")


def _problem(hop: Hop) -> str | None:
    if not isinstance(hop, Mapping):
        return f"{hop!r} is no answer of a model"
    if unknown := set(hop) - _FIELDS:
        return (
            f"unknown fields {sorted(unknown)}; known are {sorted(_FIELDS)}. "
            "The program `mock-llm` can do more: name it in the variable STEPWELL_MOCK_LLM"
        )
    if len([kind for kind in _KINDS if hop.get(kind)]) > 1:
        return f"a hop has one of {', '.join(_KINDS)}"
    usage = hop.get("usage")
    if usage is not None and (not isinstance(usage, Mapping) or set(usage) != {"input", "output"}):
        return f"the usage {usage!r} is not that of a hop: give {{'input': …, 'output': …}}, in tokens"
    if "error" in hop and "status" not in hop:
        return "an error needs a `status`, such as 500"
    for step in hop.get("steps", ()):
        if isinstance(step, str) and step in _BARE_STEPS:
            continue
        if not isinstance(step, Mapping) or len(step) != 1 or not set(step) <= _STEPS:
            return f"{step!r} is no step; steps are {sorted(_STEPS | _BARE_STEPS)}"
        if (call := step.get("tool_call")) is not None and not (isinstance(call, Mapping) and "name" in call):
            return f"the tool call {call!r} has no name"
    return None


def body(hop: Hop, *, position: int = 0, model: str = "mock", usage: bool = True) -> Iterator[Segment]:
    """Returns the streamed answer of a hop. ``position`` makes the ids of its calls: those of two answers must
    differ."""
    player = _Player(hop, position, model, usage)
    for step in hop.get("steps", ()):
        if step == "end_early":
            return
        if step in ("stall", "cut"):
            yield Segment(step)
            return
        if "pause_ms" in step:
            yield Segment("pause", seconds=step["pause_ms"] / 1000)
        elif "error_event" in step:
            yield player.failed(step["error_event"])
            return
        else:
            yield from (Segment("bytes", data) for data in player.says(step))
    yield from (Segment("bytes", data) for data in player.ends())


def refusal(status: int, message: str) -> bytes:
    """Returns an error body of the provider."""
    kind = "requests" if status == 429 else "server_error" if status >= 500 else "invalid_request_error"
    code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code}}).encode()


class _Player:
    def __init__(self, hop: Hop, position: int, model: str, usage: bool) -> None:
        self._hop = hop
        self._position = position
        self._model = model
        self._usage = usage
        self._calls = 0
        self._length = 0
        self._began = False

    def says(self, step: Mapping[str, Json]) -> Iterator[bytes]:
        ((kind, value),) = step.items()
        if kind == "raw_frame":
            yield _frame(value if isinstance(value, str) else _json(value))
        elif kind == "tool_call":
            yield from self._call(value)
        else:
            yield from self._begin("")
            field = "content" if kind == "text" else "reasoning_content"
            for piece in _pieces(value):
                self._length += len(piece)
                yield self._delta({field: piece})

    def _call(self, call: Mapping[str, Json]) -> Iterator[bytes]:
        yield from self._begin(None)
        index, self._calls = self._calls, self._calls + 1
        identity = call.get("id") or f"call_{self._position}_{index}"
        arguments = call["raw_arguments"] if "raw_arguments" in call else _json(call.get("arguments", {}))
        function = {"name": call["name"], "arguments": ""}
        yield self._delta({"tool_calls": [{"index": index, "id": identity, "type": "function", "function": function}]})
        for piece in _pieces(arguments):
            self._length += len(piece)
            yield self._delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def failed(self, said: Json) -> Segment:
        given = {"message": said} if isinstance(said, str) else dict(said)
        told = {"message": given.get("message"), "type": "server_error", "param": None, "code": given.get("code")}
        return Segment("bytes", _frame(_json({"error": told})))

    def ends(self) -> Iterator[bytes]:
        yield from self._begin("")
        yield self._delta({}, self._hop.get("stop_reason") or ("tool_calls" if self._calls else "stop"))
        if self._usage:
            said = self._hop.get("usage") or {"input": 0, "output": -(-self._length // 4)}
            tokens = {"prompt_tokens": said["input"], "completion_tokens": said["output"]}
            tokens["total_tokens"] = said["input"] + said["output"]
            details = {
                "prompt_tokens_details": {"cached_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0},
            }
            yield self._chunk([], tokens | details)
        yield _frame("[DONE]")

    def _begin(self, content: str | None) -> Iterator[bytes]:
        if not self._began:
            self._began = True
            yield self._delta({"role": "assistant", "content": content})

    def _delta(self, delta: Json, finish_reason: str | None = None) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": finish_reason}], None)

    def _chunk(self, choices: list[Json], usage: Json) -> bytes:
        chunk = {
            "id": f"chatcmpl-{self._position}",
            "object": "chat.completion.chunk",
            "created": _CREATED,
            "model": self._model,
            "choices": choices,
            "usage": usage,
        }
        return _frame(_json(chunk))


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _frame(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def _pieces(said: Any) -> list[str]:
    """Splits text into words or so, as a model sends it."""
    return _WORDS.findall(str(said))
