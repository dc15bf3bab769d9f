"""The view of a turn: text and tool cards in a notebook, plain lines in a terminal.

A notebook renders the Markdown that a model writes, but none of its HTML and images. All other text of a model, a tool
or a server is shown as text: markup is escaped, and characters that steer a terminal or change the direction of the
text are made visible.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from . import events as ev
from ._record import Json
from .items import Card, Drawn, Item, Notice, Said, timeline_of, to_markdown
from .outcomes import Outcome
from .pictures import pictures_of
from .result import TurnResult
from .timeline import Span
from .updates import AgUiUpdate, ReasoningUpdate, TextUpdate, Update


class TurnCard:
    """The view of a turn, or of a conversation. ``apply`` takes the updates, and ``end`` the outcome; a notebook shows the card
    itself."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._items: list[Item] = []
        self._messages: dict[tuple[str, str], Said] = {}
        self._cards: dict[str, Card] = {}
        self._clock = clock

    @classmethod
    def of_messages(cls, messages: Iterable[Mapping[str, Json]]) -> TurnCard:
        """Returns the card of a conversation: AG-UI messages, oldest first."""
        view = cls()
        for message in messages:
            view._message(message)
        return view

    @classmethod
    def of_result(cls, result: TurnResult[Any]) -> TurnCard:
        """Returns the card of a finished turn: what followed the user's last message, and how it ended."""
        asked = [number for number, message in enumerate(result.messages) if message.role == "user"]
        said = result.messages[asked[-1] + 1 :] if asked else result.messages
        view = cls.of_messages(said.to_json())
        view._ended(result.problem)
        return view

    def apply(self, event: Update | ev.Event) -> None:
        """Applies an update, or an event of a machine. What shows nothing is ignored."""
        match event:
            case TextUpdate(message_id=message, delta=delta) | ev.TextMessageContent(message_id=message, delta=delta):
                self._said("text", message).say(delta)
            case ReasoningUpdate(message_id=message, delta=delta) | ev.ReasoningMessageContent(message_id=message, delta=delta):
                self._said("reasoning", message).text += delta
            case AgUiUpdate(event=inner):
                self.apply(inner)
            case ev.ToolCallStart(tool_call_id=call, tool_call_name=name):
                self._begin(call, name)
            case ev.ToolCallArgs(tool_call_id=call, delta=delta):
                if card := self._cards.get(call):
                    card.arguments += delta
            case ev.ToolCallUpdate():
                self._update(event)
            case ev.ToolCallResult(tool_call_id=call, content=content, parts=parts):
                if card := self._cards.get(call):
                    card.status, card.result, card.pictures = "completed", content, pictures_of(parts)
            case ev.ActivitySnapshot(activity_type="media", content=content):
                self._made(content)
            case ev.Completed(outcome=outcome):
                self.end(outcome)
            case ev.Retrying(attempt=attempt, delay=delay, reason=reason):
                self._items.append(Notice(f"try {attempt} in {delay:g} s: {reason}"))
            case ev.WaitingForNetwork():
                self._items.append(Notice("waiting for the network"))
            case ev.WarningUpdate(message=message):
                self._items.append(Notice(message, is_trouble=True))
            case ev.Interrupted(interrupts=asked):
                self._items.extend(Notice(f"asks: {each.message or each.reason}") for each in asked)
            case ev.SteeringRefused(explanation=explanation):
                self._items.append(Notice(explanation, is_trouble=True))

    def end(self, outcome: Outcome) -> None:
        """Shows how the turn ended, which ``Turn.outcome`` says."""
        problem = outcome.problem
        self._ended(None if problem is None else problem.message)

    def take_pictures(self, messages: Iterable[Mapping[str, Json]]) -> None:
        """Takes the pictures of tools from the turn's messages: the events have only their text."""
        for message in messages:
            if card := self._cards.get(str(message.get("toolCallId"))):
                card.pictures = pictures_of(message.get("content"))

    def take_timeline(self, spans: Sequence[Span]) -> None:
        """Takes when everything began and ended, to be shown below; a single answer shows no timeline."""
        if len(spans) > 1:
            self._items.append(timeline_of(spans))

    def is_waiting(self) -> bool:
        """Whether a tool runs, or waits for an answer, so that the view shows how long."""
        return any(card.since is not None for card in self._cards.values())

    def _said(self, kind: str, message: str) -> Said:
        said = self._messages.get((kind, message))
        # After a card, text of the same message goes below it.
        if said is None or self._items[-1] is not said:
            said = self._messages[kind, message] = Said(kind)
            self._items.append(said)
        return said

    def _begin(self, call: str, name: str) -> Card:
        card = self._cards[call] = Card(call, name)
        self._items.append(card)
        return card

    def _update(self, event: ev.ToolCallUpdate) -> None:
        card = self._cards.get(event.tool_call_id)
        # Some providers use an id again in a later hop.
        if card is None or card.call not in (None, event.call):
            card = self._begin(event.tool_call_id, event.name)
        card.call = event.call
        card.move_on(event.status, self._clock())
        if isinstance(event.result, ev.ToolOutput):
            card.result = event.result.content
        elif event.result is not None:
            card.result = event.result.message

    def _made(self, content: Json) -> None:
        """Adds media that the model made."""
        parts = content.get("parts") if isinstance(content, Mapping) else None
        if pictures := pictures_of(parts):
            self._items.append(Drawn("".join(pictures)))

    def _ended(self, problem: str | None) -> None:
        for card in self._cards.values():
            card.since = None
        if problem is not None:
            self._items.append(Notice(problem, is_trouble=True))

    def _message(self, message: Mapping[str, Json]) -> None:
        role, content = message.get("role"), message.get("content")
        text = content if isinstance(content, str) else _text_of(content)
        if role == "tool":
            if card := self._cards.get(str(message.get("toolCallId"))):
                failed = message.get("error")
                card.status, card.result = ("failed" if failed else "completed"), text or str(failed or "")
                card.pictures = pictures_of(content)
            return
        if role == "activity" and message.get("activityType") == "media":
            self._made(content)
            return
        kind = {"user": "user", "assistant": "text", "reasoning": "reasoning"}.get(str(role))
        if kind and text:
            self._items.append(Said(kind, text))
        if kind and (pictures := pictures_of(content)):
            self._items.append(Drawn("".join(pictures)))
        for call in message.get("toolCalls") or ():
            card = self._begin(str(call.get("id")), str(call["function"]["name"]))
            card.arguments, card.status = str(call["function"].get("arguments", "")), "pending"

    def to_html(self) -> str:
        """Returns HTML without script, style sheet or outside address except the model's links."""
        return '<div class="stepwell" style="max-width:60em">' + "".join(html for html, _ in self.parts()) + "</div>"

    def parts(self) -> list[tuple[str, Card | None]]:
        """Returns the parts of ``to_html``, each with the tool call that it shows."""
        now = self._clock()
        return [(item.to_html(now), item if isinstance(item, Card) else None) for item in self._items]

    def to_text(self) -> str:
        """Returns plain text."""
        return "\n".join(item.to_text() for item in self._items if not isinstance(item, Drawn))

    def __str__(self) -> str:
        return self.to_text()

    def to_markdown(self) -> str:
        """Returns Markdown, with the tool cards as HTML within it."""
        now = self._clock()
        return "\n\n".join(to_markdown(item, now) for item in self._items)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.to_text(), "text/markdown": self.to_markdown()}


def _text_of(content: Json) -> str:
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text") or f"[{part.get('type')}]") for part in parts if isinstance(part, Mapping))
