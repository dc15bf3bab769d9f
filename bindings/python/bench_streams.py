"""Whole streams of 20,000 deltas, beside the SDKs of OpenAI and Anthropic: `python bench_streams.py [ROUNDS]`.

All read the same bytes from the same server on loopback, a process of its own, and add up the text. Takes the library
that the package has, so make it a release build; `pip install -r requirements-bench.txt` brings the others.
"""

from __future__ import annotations

import asyncio
import json
import socketserver
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx
import openai

from stepwell import Agent, Model
from stepwell.machine import OpenStream, RunConfig, RunMachine, TextMessageContent

DELTAS = 20_000
PIECES = ["the ", "qui", "ck b", "rown", " fox", "s, a", "nd\n", "über", " naï", "ve “", "漢字 ", "かな", "🙂👍", ' "q"', "1234"]
TEXT = "".join(PIECES[number % len(PIECES)] for number in range(DELTAS))


def event(data: object, name: str = "") -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def openai_stream() -> Iterator[bytes]:
    def chunk(choices: list[Any], usage: Any = None) -> bytes:
        return event(
            {
                "id": "chatcmpl-bench0000000000000000000000",
                "object": "chat.completion.chunk",
                "created": 1700000000,
                "model": "gpt-4o-mini-2024-07-18",
                "service_tier": "default",
                "system_fingerprint": "fp_0123456789",
                "choices": choices,
                "usage": usage,
            }
        )

    def delta(fields: dict[str, Any], finish: str | None = None) -> bytes:
        return chunk([{"index": 0, "delta": fields, "logprobs": None, "finish_reason": finish}])

    yield delta({"role": "assistant", "content": "", "refusal": None})
    for number in range(DELTAS):
        yield delta({"content": PIECES[number % len(PIECES)]})
    yield delta({}, "stop")
    yield chunk([], {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30})
    yield event("[DONE]")


def anthropic_stream() -> Iterator[bytes]:
    def named(kind: str, **fields: Any) -> bytes:
        return event({"type": kind, **fields}, kind)

    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude", "stop_reason": None}
    tokens = {"input_tokens": 10, "output_tokens": 1}
    yield named("message_start", message=message | {"stop_sequence": None, "usage": tokens})
    yield named("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for number in range(DELTAS):
        yield named("content_block_delta", index=0, delta={"type": "text_delta", "text": PIECES[number % len(PIECES)]})
    yield named("content_block_stop", index=0)
    yield named("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None}, usage={"output_tokens": 20})
    yield named("message_stop")


PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
STREAMS = {PATHS["openai"]: b"".join(openai_stream()), PATHS["anthropic"]: b"".join(anthropic_stream())}


class Handler(socketserver.StreamRequestHandler):
    """Answers each POST with its stream, in HTTP chunks of 1 KiB."""

    def handle(self) -> None:
        path = self.rfile.readline().split()[1].decode()
        length = 0
        while (line := self.rfile.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        self.rfile.read(length)
        body = STREAMS[path]
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        )
        for at in range(0, len(body), 1024):
            piece = body[at : at + 1024]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")


def serve() -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        print(server.server_address[1], flush=True)
        server.serve_forever()


def config(base_url: str, provider: str) -> RunConfig:
    return RunConfig(provider=provider, model="m", base_url=base_url, key="k")


def run_machine(base_url: str, provider: str) -> str:
    """The sans-IO API, over httpx."""
    machine = RunMachine(config(base_url, provider))
    (effect,) = machine.start("Go").effects
    assert isinstance(effect, OpenStream)
    request, said = effect.request, []
    with httpx.stream(request.method, request.url, headers=request.headers, content=request.body) as response:
        machine.opened(effect.id, response.headers.get("content-type"))
        for chunk in response.iter_bytes():
            said += [e.delta for e in machine.receive(effect.id, chunk).events if isinstance(e, TextMessageContent)]
    machine.ended(effect.id)
    return "".join(said)


def run_machine_from_memory(base_url: str, provider: str) -> str:
    """The sans-IO API without any network, in chunks of 1 KiB."""
    machine = RunMachine(config(base_url, provider))
    (effect,) = machine.start("Go").effects
    assert isinstance(effect, OpenStream)
    body = STREAMS[PATHS[provider]]
    machine.opened(effect.id, "text/event-stream")
    said = []
    for at in range(0, len(body), 1024):
        outputs = machine.receive(effect.id, body[at : at + 1024])
        said += [e.delta for e in outputs.events if isinstance(e, TextMessageContent)]
    machine.ended(effect.id)
    return "".join(said)


def agent_of(base_url: str, provider: str) -> Agent:
    return Agent(Model("m", provider=provider, base_url=base_url, api_key="k"))


def agent(base_url: str, provider: str) -> str:
    async def run() -> str:
        return "".join([text async for text in agent_of(base_url, provider).stream("Go").text_stream])

    return asyncio.run(run())


def agent_sync(base_url: str, provider: str) -> str:
    return "".join(agent_of(base_url, provider).stream_sync("Go").text_stream)


def agent_awaited(base_url: str, provider: str) -> str:
    return agent_of(base_url, provider).run_sync("Go").text


def openai_sdk(base_url: str, provider: str) -> str:
    client = openai.OpenAI(base_url=base_url, api_key="k", max_retries=0)
    said = []
    messages: Any = [{"role": "user", "content": "Go"}]
    for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
        if chunk.choices and chunk.choices[0].delta.content:
            said.append(chunk.choices[0].delta.content)
    return "".join(said)


def anthropic_sdk(base_url: str, provider: str) -> str:
    client = anthropic.Anthropic(base_url=base_url.removesuffix("/v1"), api_key="k", max_retries=0)
    said = []
    messages: Any = [{"role": "user", "content": "Go"}]
    for each in client.messages.create(model="m", max_tokens=9, messages=messages, stream=True):
        if each.type == "content_block_delta" and each.delta.type == "text_delta":
            said.append(each.delta.text)
    return "".join(said)


OURS: dict[str, Callable[[str, str], str]] = {
    "RunMachine over httpx": run_machine,
    "RunMachine from memory": run_machine_from_memory,
    "Agent, async for": agent,
    "Agent, stream_sync": agent_sync,
    "Agent, run_sync": agent_awaited,
}
THEIRS: dict[str, tuple[str, Callable[[str, str], str]]] = {
    "openai": (f"openai {openai.__version__}", openai_sdk),
    "anthropic": (f"anthropic {anthropic.__version__}", anthropic_sdk),
}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout
    base_url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    slower = []
    try:
        for provider, (name, theirs) in THEIRS.items():
            ways = {**OURS, name: theirs}
            times: dict[str, list[float]] = {way: [] for way in ways}
            # In turns, so that what else the machine does falls on all.
            for _ in range(rounds):
                for way, read in ways.items():
                    begun = time.perf_counter()
                    said = read(base_url, provider)
                    times[way].append(time.perf_counter() - begun)
                    assert said == TEXT, f"{way}: {len(said)} characters of {len(TEXT)}"
            beside = statistics.median(times[name])
            print(f"{provider}: {DELTAS:,} deltas, {len(STREAMS[PATHS[provider]]) / 1e6:.1f} MB")
            for way, taken in times.items():
                median = statistics.median(taken)
                print(f"{median * 1000:>10.0f} ms  {median / beside:>6.2f} of {name}'s  {way}")
                if way != name and median >= beside:
                    slower.append(f"{way} ({provider})")
    finally:
        server.kill()
        server.wait()
    if slower:
        sys.exit(f"slower than the SDK: {', '.join(slower)}")


if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
