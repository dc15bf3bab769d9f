"""The view of a turn: text and tool cards in a notebook, plain lines in a terminal.

A notebook renders the Markdown that a model writes, but none of its HTML and images. All other text of a model, a tool
or a server is shown as text: markup is escaped, and characters that steer a terminal or change the direction of the
text are made visible.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import events as ev
from .chat import ActivityPart, ChatPart, ChatReducer, ChatRole, ChatState, MediaPart, Offline, ReasoningPart, TextPart, ToolPart, WaitingToRetry
from .items import Card, Drawn, Item, Notice, Said, timeline_of, to_markdown
from .messages import Message, ToolResult, UnknownMessage
from .outcomes import Outcome
from .pictures import pictures_of
from .result import TurnResult
from .timeline import Span
from .updates import Update, event_of


class TurnCard:
    """The view of a turn, or of a conversation. ``apply`` takes the updates, and ``end`` the outcome; a notebook shows the card
    itself. What it shows is a ``ChatState``: ``stepwell.chat``."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._show(ChatReducer(), clock)
        self._chat.begin("turn")

    def _show(self, chat: ChatReducer, clock: Callable[[], float]) -> None:
        self._chat = chat
        self._clock = clock
        self._timers: dict[str, list[_Timer]] = {}
        self._pictures: dict[str, list[str]] = {}
        self._notices: list[Notice] = []
        self._timeline: Drawn | None = None

    @classmethod
    def of_messages(cls, messages: Iterable[Message]) -> TurnCard:
        """Returns the card of a conversation."""
        view = cls.__new__(cls)
        known = [message for message in messages if not isinstance(message, UnknownMessage)]
        view._show(ChatReducer.from_messages(known), time.monotonic)
        return view

    @classmethod
    def of_result(cls, result: TurnResult[Any]) -> TurnCard:
        """Returns the card of a finished turn: what followed the user's last message, and how it ended."""
        asked = [number for number, message in enumerate(result.messages) if message.role == "user"]
        view = cls.of_messages(result.messages[asked[-1] + 1 :] if asked else result.messages)
        if result.problem is not None:
            view._notices.append(Notice(result.problem, is_trouble=True))
        return view

    def apply(self, update: Update | ev.Event) -> None:
        """Applies an update, or an event of a machine. What shows nothing is ignored."""
        event = event_of(update)
        self._chat.apply([event])
        match event:
            case ev.ToolCallUpdate(tool_call_id=call):
                timers = self._timers.setdefault(call, [])
                # Some providers use an id again in a later hop.
                if not timers or timers[-1].call != event.call:
                    timers.append(_Timer(event.call))
                timers[-1].move_on(event.status, self._clock())
            case ev.WarningUpdate(message=text) | ev.SteeringRefused(explanation=text):
                self._notices.append(Notice(text, is_trouble=True))
            case ev.Completed():
                for timer in self._all_timers():
                    timer.since = None

    def end(self, outcome: Outcome) -> None:
        """Shows how the turn ended, which ``Turn.outcome`` says."""
        self.apply(ev.Completed(outcome))

    def take_pictures(self, messages: Iterable[Message]) -> None:
        """Takes the pictures of tools from the turn's messages: the events have only their text."""
        for message in messages:
            if isinstance(message, ToolResult) and (pictures := pictures_of(message.to_json().get("content"))):
                self._pictures[message.tool_call_id] = pictures

    def take_timeline(self, spans: Sequence[Span]) -> None:
        """Takes when everything began and ended, to be shown below; a single answer shows no timeline."""
        if len(spans) > 1:
            self._timeline = timeline_of(spans)

    def is_waiting(self) -> bool:
        """Whether a tool runs, or waits for an answer, so that the view shows how long."""
        return any(timer.since is not None for timer in self._all_timers())

    def _all_timers(self) -> Iterable[_Timer]:
        return (timer for timers in self._timers.values() for timer in timers)

    def items(self) -> list[Item]:
        """Returns what is shown, in order."""
        state = self._chat.state
        shown: dict[str, list[Card]] = {}
        items: list[Item] = []
        for message in state.messages:
            kind = "user" if message.role is ChatRole.USER else "text"
            items += [item for part in message.parts if (item := self._item(kind, part, shown)) is not None]
        for call, pictures in self._pictures.items():
            if call in shown:
                shown[call][-1].pictures = pictures
        items += [*self._notices, *_notices(state)]
        return items if self._timeline is None else [*items, self._timeline]

    def _item(self, kind: str, part: ChatPart, shown: dict[str, list[Card]]) -> Item | None:
        match part:
            case TextPart(text=text):
                # The break that the model writes before and after tool calls is the card's here.
                return Said(kind, text.lstrip("\n")) if text.strip("\n") else None
            case ReasoningPart(text=text):
                return Said("reasoning", text)
            case MediaPart(media=media):
                return Drawn("".join(pictures_of([media.json])), f"[{media.json.get('type')}]")
            case ToolPart(card=card):
                earlier = shown.setdefault(card.tool_call_id, [])
                timers = self._timers.get(card.tool_call_id, [])
                timer = timers[len(earlier)] if len(earlier) < len(timers) else None
                drawn = Card(
                    id=card.tool_call_id,
                    name=card.name,
                    arguments=card.arguments,
                    status=card.status.value,
                    result=card.failure if card.result is None else card.result,
                    pictures=pictures_of(card.result_parts),
                    call=None if timer is None else timer.call,
                    seconds=None if timer is None else timer.seconds(self._clock()),
                )
                earlier.append(drawn)
                return drawn
            case ActivityPart(activity_type=kind):
                return Notice(kind)
        return None

    def to_html(self) -> str:
        """Returns HTML without script, style sheet or outside address except the model's links."""
        return '<div class="stepwell" style="max-width:60em">' + "".join(item.to_html() for item in self.items()) + "</div>"

    def to_text(self) -> str:
        """Returns plain text."""
        return "\n".join(text for item in self.items() if (text := item.to_text()))

    def __str__(self) -> str:
        return self.to_text()

    def to_markdown(self) -> str:
        """Returns Markdown, with the tool cards as HTML within it."""
        return "\n\n".join(map(to_markdown, self.items()))

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/plain": self.to_text(), "text/markdown": self.to_markdown()}


@dataclasses.dataclass
class _Timer:
    """How long a call runs, or waits for an answer."""

    call: ev.CallKey
    status: ev.ToolCallStatus | None = None
    since: float | None = None
    """When the status began; ``None`` if nothing is to be waited for."""
    took: float | None = None
    """How long the call ran."""

    def move_on(self, status: ev.ToolCallStatus, now: float) -> None:
        if self.status == status:
            return
        if self.status is ev.ToolCallStatus.EXECUTING and self.since is not None:
            self.took = now - self.since
        self.since = now if status in _WAITS else None
        self.status = status

    def seconds(self, now: float) -> float | None:
        return self.took if self.since is None else now - self.since


_WAITS = (ev.ToolCallStatus.AWAITING_APPROVAL, ev.ToolCallStatus.EXECUTING, ev.ToolCallStatus.DEFERRED)


def _notices(state: ChatState) -> list[Notice]:
    """Returns the lines below the messages: the state of the connection, an agent's questions, the problem."""
    notices = [Notice(f"asks: {asked.message or asked.reason}") for asked in state.interrupts]
    match state.connection:
        case WaitingToRetry(attempt=attempt, at=at, reason=reason):
            notices.append(Notice(f"try {attempt} at {at.astimezone():%H:%M:%S}: {reason}"))
        case Offline():
            notices.append(Notice("waiting for the network"))
    if state.problem is not None:
        notices.append(Notice(state.problem.message, is_trouble=True))
    return notices
