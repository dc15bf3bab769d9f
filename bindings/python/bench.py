"""What a call costs: `python bench.py [CALLS]`. Takes the library that the package has; make it a release build."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone

from stepwell.machine import OpenStream, RunConfig, RunMachine
from stepwell._ffi.stepwell_ffi import version

CONFIG = RunConfig(provider="openai-compatible", model="bench", base_url="http://localhost/v1")
EPOCH = datetime.fromtimestamp(0, timezone.utc)


def delta(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


def streaming() -> tuple[RunMachine, str]:
    """A machine in the middle of an answer."""
    machine = RunMachine(CONFIG)
    (effect,) = machine.start("Hi", now=EPOCH).effects
    assert isinstance(effect, OpenStream)
    machine.opened(effect.id, "text/event-stream", now=EPOCH)
    machine.receive(effect.id, delta("Well"), now=EPOCH)
    return machine, effect.id


def nanoseconds(call: Callable[[], object], calls: int) -> float:
    """The best of five rounds."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter_ns() - start) / calls)
    return best


def main() -> None:
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    machine, effect = streaming()
    generated = machine._machine
    tokens = delta("word ") * (1024 // len(delta("word ")))
    tokens += b":" + b" " * (1024 - len(tokens) - 3) + b"\n\n"
    silence = b":" + b" " * 1021 + b"\n\n"
    large = tokens * 64
    empty = 0.0
    for name, call in (
        ("a call that does nothing", lambda: generated.hop()),
        ("a call that gives a string", version),
        ("receive, 1 KiB without an event, generated", lambda: generated.receive(effect, silence, EPOCH)),
        ("receive, 1 KiB of tokens, generated", lambda: generated.receive(effect, tokens, EPOCH)),
        ("receive, 1 KiB of tokens, RunMachine", lambda: machine.receive(effect, tokens, now=EPOCH)),
        ("receive, 64 KiB of tokens, RunMachine", lambda: machine.receive(effect, large, now=EPOCH)),
    ):
        taken = nanoseconds(call, calls)
        empty = empty or taken
        print(f"{taken:>10.0f} ns  {taken / empty:>5.1f} of the empty call's  {name}")


if __name__ == "__main__":
    main()
