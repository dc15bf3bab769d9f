"""What a turn looks like: text and tool cards in a notebook, plain lines in a terminal.

A notebook renders the Markdown that a model writes, but no HTML and no image of it. All else that a model, a tool or a
server says is shown as text: markup is escaped, and characters that steer a terminal or turn the direction of the text
are made visible.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO, overload

from . import events as ev
from ._record import Json
from .cards import preformatted, safe, visible
from .errors import InvalidArgumentError
from .outcomes import Finished, Outcome
from .sync import SyncTurn

if TYPE_CHECKING:
    from .turn import Turn

_INTERVAL = 0.1
"""The shortest time between two drawings in a notebook, in seconds: more than ten a second clog its connection."""

_LONGEST = 4000
"""The most characters of arguments or a result that a card shows."""

_COLOURS = {
    "streaming": "#6e7781",
    "pending": "#6e7781",
    "awaiting_approval": "#bf8700",
    "executing": "#0969da",
    "deferred": "#bf8700",
    "completed": "#1a7f37",
    "failed": "#cf222e",
    "denied": "#cf222e",
    "cancelled": "#6e7781",
}
_SIGNS = {"completed": "✓", "failed": "✗", "denied": "✗", "cancelled": "✗"}


@dataclass
class _Said:
    """What the model or the user says."""

    kind: str
    text: str = ""

    def say(self, delta: str) -> None:
        # The break that goes before the first text after tool calls: here that text begins a block of its own.
        self.text += delta if self.text else delta.lstrip("\n")


@dataclass
class _Card:
    """A tool call."""

    name: str
    arguments: str = ""
    status: str = "streaming"
    result: str | None = None
    call: ev.CallKey | None = None


@dataclass
class _Notice:
    """A line from Stepwell itself."""

    text: str
    is_trouble: bool = False


class TurnCard:
    """What is to be shown of a turn, or of a conversation. ``apply`` takes the events; a notebook shows it by itself."""

    def __init__(self) -> None:
        self._items: list[_Said | _Card | _Notice] = []
        self._messages: dict[tuple[str, str], _Said] = {}
        self._cards: dict[str, _Card] = {}

    @classmethod
    def of_messages(cls, messages: Iterable[Mapping[str, Json]]) -> TurnCard:
        """A conversation: AG-UI messages, oldest first."""
        view = cls()
        for message in messages:
            view._message(message)
        return view

    @classmethod
    def of_finished(cls, finished: Finished) -> TurnCard:
        """A turn that is over: what came after the user's last message, and how it ended."""
        asked = [number for number, message in enumerate(finished.messages) if message.get("role") == "user"]
        view = cls.of_messages(finished.messages[asked[-1] + 1 :] if asked else finished.messages)
        view._ended(finished.outcome)
        return view

    def apply(self, event: ev.Event) -> None:
        """Takes an event in. Those that show nothing are passed over."""
        match event:
            case ev.TextMessageContent(message_id=message, delta=delta):
                self._said("text", message).say(delta)
            case ev.ReasoningMessageContent(message_id=message, delta=delta):
                self._said("reasoning", message).text += delta
            case ev.ToolCallStart(tool_call_id=call, tool_call_name=name):
                self._begin(call, name)
            case ev.ToolCallArgs(tool_call_id=call, delta=delta):
                if card := self._cards.get(call):
                    card.arguments += delta
            case ev.ToolCallUpdate():
                self._update(event)
            case ev.ToolCallResult(tool_call_id=call, content=content):
                if card := self._cards.get(call):
                    card.status, card.result = "completed", content
            case ev.Completed(outcome=outcome):
                self._ended(outcome)
            case ev.Retrying(attempt=attempt, delay=delay, reason=reason):
                self._items.append(_Notice(f"try {attempt} in {delay:g} s: {reason}"))
            case ev.WaitingForNetwork():
                self._items.append(_Notice("waiting for the network"))
            case ev.WarningEvent(message=message):
                self._items.append(_Notice(message, is_trouble=True))
            case ev.Interrupted(interrupts=asked):
                self._items.extend(_Notice(f"asks: {each.message or each.reason}") for each in asked)
            case ev.SteeringRefused(explanation=explanation):
                self._items.append(_Notice(explanation, is_trouble=True))

    def _said(self, kind: str, message: str) -> _Said:
        said = self._messages.get((kind, message))
        # After a card, text of the same message stands below it.
        if said is None or self._items[-1] is not said:
            said = self._messages[kind, message] = _Said(kind)
            self._items.append(said)
        return said

    def _begin(self, call: str, name: str) -> _Card:
        card = self._cards[call] = _Card(name)
        self._items.append(card)
        return card

    def _update(self, event: ev.ToolCallUpdate) -> None:
        card = self._cards.get(event.tool_call_id)
        # Some providers use an id again in a later hop.
        if card is None or card.call not in (None, event.call):
            card = self._begin(event.tool_call_id, event.name)
        card.call, card.status = event.call, event.status.value
        if isinstance(event.result, ev.ToolOutput):
            card.result = event.result.content
        elif event.result is not None:
            card.result = event.result.message

    def _ended(self, outcome: Outcome) -> None:
        if problem := outcome.problem:
            self._items.append(_Notice(problem.message, is_trouble=True))

    def _message(self, message: Mapping[str, Json]) -> None:
        role, content = message.get("role"), message.get("content")
        text = content if isinstance(content, str) else _text_of(content)
        if role == "tool":
            if card := self._cards.get(str(message.get("toolCallId"))):
                failed = message.get("error")
                card.status, card.result = ("failed" if failed else "completed"), text or str(failed or "")
            return
        kind = {"user": "user", "assistant": "text", "reasoning": "reasoning"}.get(str(role))
        if kind and text:
            self._items.append(_Said(kind, text))
        for call in message.get("toolCalls") or ():
            card = self._begin(str(call.get("id")), str(call["function"]["name"]))
            card.arguments, card.status = str(call["function"].get("arguments", "")), "pending"

    def to_html(self) -> str:
        """As HTML without script, style sheet or link."""
        return '<div class="stepwell" style="max-width:60em">' + "".join(map(_html, self._items)) + "</div>"

    def to_text(self) -> str:
        """As plain text."""
        return "\n".join(_text(item) for item in self._items)

    def __str__(self) -> str:
        return self.to_text()

    def to_markdown(self) -> str:
        """As Markdown, with the tool cards as HTML within it."""
        return "\n\n".join(map(_markdown, self._items))

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.to_text(), "text/markdown": self.to_markdown()}


@overload
def show(turn: Turn, *, file: TextIO | None = None) -> Awaitable[Finished]: ...


@overload
def show(turn: SyncTurn, *, file: TextIO | None = None) -> Finished: ...


def show(turn: Turn | SyncTurn, *, file: TextIO | None = None) -> Awaitable[Finished] | Finished:
    """Shows a turn while it streams, and gives how it ended: ``await show(agent.send("Hi"))``, ``show(agent.send_sync("Hi"))``.

    In a notebook that is text and tool cards in the cell's output; elsewhere lines on ``file``, standard output if
    ``None``.
    """
    if not isinstance(turn, SyncTurn) and not hasattr(turn, "more"):
        raise InvalidArgumentError(
            f"`turn` of `show` is of the type {type(turn).__name__}", "give what `send` or `send_sync` gave"
        )
    screen: _Notebook | _Terminal
    display = None if file else _notebook_display()
    screen = _Notebook(display) if display else _Terminal(file or sys.stdout)
    return _show_sync(turn, screen) if isinstance(turn, SyncTurn) else _show(turn, screen)


def _show_sync(turn: SyncTurn, screen: _Notebook | _Terminal) -> Finished:
    try:
        while True:
            try:
                if not turn.wait(screen.patience()):
                    break
                screen.took(next(turn))
            except TimeoutError:
                screen.draw()
    except BaseException:
        turn.cancel()
        raise
    finally:
        screen.close()
    return _shown(turn.finish())


async def _show(turn: Turn, screen: _Notebook | _Terminal) -> Finished:
    more: asyncio.Task[list[ev.Event]] | None = None
    try:
        while True:
            more = more or asyncio.ensure_future(turn.more())
            done, _ = await asyncio.wait({more}, timeout=screen.patience())
            if not done:
                screen.draw()
                continue
            events, more = more.result(), None
            if not events:
                break
            for event in events:
                screen.took(event)
    finally:
        if more is not None:
            more.cancel()
            turn.cancel()
        screen.close()
    return _shown(await turn.finish())


_last_shown: tuple[Finished, object] | None = None


def _shown(finished: Finished) -> Finished:
    global _last_shown
    _last_shown = (finished, _cell())
    return finished


def display_once(finished: Finished) -> None:
    """Shows a turn as a cell's result, unless ``show`` has drawn it in this very cell."""
    if _last_shown is not None and _last_shown[0] is finished and _last_shown[1] == _cell():
        return
    importlib.import_module("IPython.display").display(TurnCard.of_finished(finished))


def _cell() -> object:
    """The number of the notebook's cell that runs."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "execution_count", None)


class _Notebook:
    """Draws the whole view again and again in one output."""

    def __init__(self, display: Callable[..., Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._view = TurnCard()
        self._clock = clock
        self._dirty = False
        self._drawn = clock()
        self._handle = display(self._view, display_id=True)

    def took(self, event: ev.Event) -> None:
        self._view.apply(event)
        self._dirty = True
        if self._clock() - self._drawn >= _INTERVAL:
            self.draw()

    def patience(self) -> float | None:
        """How long the next event may take before what has come must be drawn."""
        return max(0.0, self._drawn + _INTERVAL - self._clock()) if self._dirty else None

    def draw(self) -> None:
        self._dirty = False
        self._drawn = self._clock()
        self._handle.update(self._view)

    def close(self) -> None:
        self.draw()


class _Terminal:
    """Writes text as it comes, and a line for each tool call that is done."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._view = TurnCard()
        self._in_line = False
        self._after_card = False

    def took(self, event: ev.Event) -> None:
        shown = len(self._view._items)
        self._view.apply(event)
        if isinstance(event, ev.TextMessageContent):
            delta = event.delta.lstrip("\n") if self._after_card else event.delta
            if delta:
                self._file.write(visible(delta))
                self._in_line, self._after_card = not delta.endswith("\n"), False
        elif isinstance(event, ev.ToolCallUpdate) and event.result is not None:
            self._line(_text(self._view._cards[event.tool_call_id]))
            self._after_card = True
        else:
            for item in self._view._items[shown:]:
                if isinstance(item, _Notice):
                    self._line(_text(item))
        self._file.flush()

    def _line(self, text: str) -> None:
        self._file.write(("\n" if self._in_line else "") + text + "\n")
        self._in_line = False

    def patience(self) -> float | None:
        return None

    def draw(self) -> None:
        """All is there already."""

    def close(self) -> None:
        if self._in_line:
            self._in_line = False
            self._file.write("\n")
            self._file.flush()


def _notebook_display() -> Callable[..., Any] | None:
    """IPython's way to show things, in a notebook; its shell in a terminal takes plain lines."""
    if "IPython" not in sys.modules:
        return None
    shell = sys.modules["IPython"].get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    found: Callable[..., Any] = importlib.import_module("IPython.display").display
    return found


def _text_of(content: Json) -> str:
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts if isinstance(part, Mapping))


def _short(text: str) -> str:
    over = len(text) - _LONGEST
    return text if over <= 0 else f"{text[:_LONGEST]}… and {over:,} characters more"


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False, indent=2)
    except ValueError:
        return arguments


def _html(item: _Said | _Card | _Notice) -> str:
    if isinstance(item, _Card):
        colour = _COLOURS.get(item.status, "#6e7781")
        arguments = "" if item.arguments in ("", "{}") else preformatted(_short(_pretty(item.arguments)))
        result = "" if item.result is None else preformatted(_short(item.result))
        status = item.status.replace("_", " ")
        return (
            f'<details style="border:1px solid #8886;border-left:3px solid {colour};border-radius:6px;'
            'padding:.3em .7em;margin:.4em 0">'
            f"<summary><code>{safe(item.name)}</code> "
            f'<span style="color:{colour}">{safe(status)}</span></summary>{arguments}{result}</details>'
        )
    if isinstance(item, _Notice):
        colour = "#cf222e" if item.is_trouble else "#6e7781"
        return f'<div style="color:{colour};margin:.4em 0">{safe(item.text)}</div>'
    body = f'<div dir="auto" style="white-space:pre-wrap;margin:.4em 0">{safe(item.text)}</div>'
    if item.kind == "reasoning":
        return f'<details style="opacity:.7"><summary>Thinking</summary>{body}</details>'
    if item.kind == "user":
        return f'<div style="border-left:3px solid #8886;padding-left:.7em">{body}</div>'
    return body


_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)")
_MARK = re.compile("`{3}|~{3}")


def _markdown(item: _Said | _Card | _Notice) -> str:
    if not isinstance(item, _Said) or item.kind != "text":
        # A blank line would end the block of HTML.
        return _html(item).replace("\n", "&#10;")
    given = visible(item.text).split("\n")
    # Whether a fence in a list or a quotation begins code, or ends it, depends on the lines around it: then code, too, is
    # taken for text.
    is_plain = all(_FENCE.fullmatch(line) for line in given if _MARK.search(line))
    lines, fence = [], ""
    for line in given:
        found = _FENCE.fullmatch(line) if is_plain else None
        if not fence and found:
            fence = found["mark"]
        elif not fence:
            line = _without_html(line)
        elif found and found["mark"].startswith(fence) and not found["info"].strip():
            fence = ""
        lines.append(line)
    # What is not closed must not take in what follows.
    return "\n".join([*lines, fence] if fence else lines)


def _without_html(line: str) -> str:
    """Markdown without HTML, and without images, whose addresses would be told what is in them."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", line).replace("![", "!\\[")


def _text(item: _Said | _Card | _Notice) -> str:
    if isinstance(item, _Notice):
        return f"[{visible(item.text)}]"
    if isinstance(item, _Said):
        lines = visible(item.text)
        return {"user": f"> {lines}", "reasoning": f"({lines})"}.get(item.kind, lines)
    sign = _SIGNS.get(item.status, "…")
    result = f" → {_short(item.result)}" if item.result is not None else ""
    return visible(f"{sign} {item.name} {_short(item.arguments)}{result}".replace("\n", " "))
