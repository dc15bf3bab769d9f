"""Plays turns without network, clock or threads, from a script to the machine's outputs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from .. import config as settings
from .._record import Json
from ..effects import AskApproval, AskUser, CloseStream, Effect, OpenStream, Outputs, RunTool, ToolInvocation
from ..errors import ToolError
from ..events import Event
from ..machine import RunMachine
from ..outcomes import Outcome
from ..media import shown
from ..tools import Tool
from ..updates import Update, update_of
from . import script
from .script import Hop

Answer = Callable[[ToolInvocation], Json]
"""Answers a tool call: returns the result, or raises ``ToolError``."""


@dataclass(frozen=True)
class PlayedTurn:
    """A turn that was played to its end."""

    hops: tuple[Hop, ...]
    """The script."""
    batches: tuple[tuple[Event, ...], ...]
    """The events in order: those of one input of the machine together, none of them empty."""
    outcome: Outcome
    """How the turn ended."""
    text: str
    """All that the model said in the turn."""
    shown_text: str
    """The same text as it is shown: see ``TextOptions``."""
    messages: list[dict[str, Json]]
    """The conversation after the turn."""

    @property
    def events(self) -> list[Event]:
        """The events of the machine in order."""
        return [event for batch in self.batches for event in batch]

    @property
    def updates(self) -> list[Update]:
        """The updates in order, as a loop over a ``Turn`` yields them."""
        return [update for event in self.events if (update := update_of(event)) is not None]


def play(
    *hops: Hop,
    tools: Sequence[Tool[..., Any] | Callable[..., Any]] = (),
    answer: Answer = lambda invocation: f"{invocation.name} is done",
    last_first: bool = False,
    chunk: int = 1024,
    cancel_after: int | None = None,
) -> PlayedTurn:
    """Plays a turn through ``RunMachine``: the events are those that an app gets, and it takes well under a millisecond.

    The model says ``hops``, and then that it is done. Tools are not run: ``answer`` returns their results, all of a hop
    in parallel, the last call's first with ``last_first``. ``chunk`` is how many bytes of an answer come at once; with
    ``cancel_after`` the user stops the turn after this number of inputs. Time is the machine's own, so nothing waits.
    """
    script.check(hops)
    config = settings.RunConfig(
        provider="openai-compatible", model="mock", base_url="http://mock.invalid/v1", tools=tools
    )
    return _Host(hops, RunMachine(config, thread_id="thread"), answer, last_first, chunk, cancel_after).play()


class _Cancel(Exception):
    """The user stops the turn now."""


class _Host:
    def __init__(
        self,
        hops: Sequence[Hop],
        machine: RunMachine,
        answer: Answer,
        last_first: bool,
        chunk: int,
        cancel_after: int | None,
    ) -> None:
        self._hops = tuple(hops)
        self._left = deque(hops)
        self._machine = machine
        self._answer = answer
        self._last_first = last_first
        self._chunk = max(1, chunk)
        self._inputs_left = cancel_after
        self._now = datetime.fromtimestamp(0, timezone.utc)
        self._position = 0
        self._batches: list[tuple[Event, ...]] = []
        self._effects: deque[Effect] = deque()
        self._closed: set[str] = set()

    def play(self) -> PlayedTurn:
        machine = self._machine
        try:
            self._took(machine.start("Go on", run_id="run", now=self._now))
            while machine.outcome is None:
                self._step()
        except _Cancel:
            self._inputs_left = None
            self._took(machine.cancel(now=self._now))
        outcome = machine.outcome
        assert outcome is not None, "a run that is cancelled is over"
        return PlayedTurn(self._hops, tuple(self._batches), outcome, machine.text, machine.shown_text, machine.messages)

    def _took(self, outputs: Outputs) -> None:
        if outputs.events:
            self._batches.append(tuple(outputs.events))
        self._effects.extend(outputs.effects)
        self._closed.update(effect.id for effect in outputs.effects if isinstance(effect, CloseStream))
        if self._inputs_left is not None and self._machine.outcome is None:
            if self._inputs_left <= 0:
                raise _Cancel
            self._inputs_left -= 1

    def _step(self) -> None:
        machine = self._machine
        running = [effect for effect in self._effects if isinstance(effect, RunTool)]
        others = [effect for effect in self._effects if not isinstance(effect, (RunTool, CloseStream))]
        self._effects.clear()
        for call in reversed(running) if self._last_first else running:
            self._run(call)
        for effect in others:
            if isinstance(effect, OpenStream):
                self._stream(effect.id)
            elif isinstance(effect, AskUser):
                self._took(machine.decline(effect.id, now=self._now))
            elif isinstance(effect, AskApproval):
                self._took(machine.approve(effect.id, now=self._now))
        if not running and not others:
            # Only time can continue the run here. A run that stays idle would be a bug of the machine.
            wake_at = machine.poll_timeout()
            assert wake_at is not None, f"{machine!r} waits for nothing"
            self._now = max(self._now, wake_at)
            self._took(machine.timeout(now=self._now))

    def _run(self, effect: RunTool) -> None:
        try:
            content = shown(self._answer(effect.invocation))
        except ToolError as error:
            self._took(self._machine.tool_failed(effect.id, str(error), now=self._now))
        else:
            self._took(self._machine.tool_finished(effect.id, content, now=self._now))

    def _stream(self, effect: str) -> None:
        machine = self._machine
        hop = self._left.popleft() if self._left else script.text("Done.")
        if hop.get("silent"):
            return
        if hop.get("hang_up"):
            self._took(machine.connection_failed(effect, "the connection was closed", now=self._now))
            return
        if "error" in hop:
            body = script.refusal(hop["status"], hop["error"])
            after = hop.get("headers", {}).get("retry-after")
            wait = None if after is None else float(after)
            self._took(machine.refused(effect, hop["status"], body, retry_after=wait, now=self._now))
            return
        self._position += 1
        self._took(machine.opened(effect, "text/event-stream", now=self._now))
        for piece in self._pieces(hop):
            if effect in self._closed:
                return
            if piece is None:
                self._took(machine.lost(effect, "the connection broke", now=self._now))
                return
            if piece == b"":
                return
            self._took(machine.receive(effect, piece, now=self._now))
        if effect not in self._closed:
            self._took(machine.ended(effect, now=self._now))

    def _pieces(self, hop: Hop) -> Iterator[bytes | None]:
        """Yields the body in chunks, ``None`` where the connection breaks, nothing where the model says no more."""
        held = b""
        for segment in script.body(hop, position=self._position):
            if segment.kind == "pause":
                self._now += timedelta(seconds=segment.seconds)
            held += segment.data
            while len(held) >= self._chunk or (held and segment.kind != "bytes"):
                yield held[: self._chunk]
                held = held[self._chunk :]
            if segment.kind in ("cut", "stall"):
                yield None if segment.kind == "cut" else b""
        if held:
            yield held
