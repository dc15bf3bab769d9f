"""A turn as a widget of a notebook: what ``TurnCard`` shows, with buttons for approvals and to cancel.

Python makes the HTML; the widget's script puts it on the page, and reports clicks to Python.
"""

from __future__ import annotations

import asyncio
import dataclasses
import importlib
import json
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from . import events as ev
from ._record import Json
from .cards import arguments_text, exact
from .display import TurnCard
from .errors import MisuseError
from .items import Card, Item
from .messages import Message
from .questions import Question
from .screens import Pace
from .sync import SyncTurn
from .timeline import Span
from .turn import Turn

try:
    import anywidget
    import traitlets
except ImportError:
    raise MisuseError(
        "the widget needs anywidget, which is not installed here", "pip install 'stepwell[notebook]'"
    ) from None

logger = logging.getLogger("stepwell")


class TurnWidget(anywidget.AnyWidget):
    """The front end's state of a turn."""

    _esm = Path(__file__).with_name("widget.js")
    _css = Path(__file__).with_name("widget.css")

    items: traitlets.List[dict[str, Json]] = traitlets.List().tag(sync=True)
    """The items that are shown. The list is changed in place, so that only ``show`` sends anything."""
    is_running = traitlets.Bool(True).tag(sync=True)
    """Whether the turn continues."""
    status = traitlets.Unicode("").tag(sync=True)
    """The text for a screen reader."""

    is_heard = False
    """Whether the front end has reported that it takes changes; until then it gets all items."""

    def show(self, items: list[dict[str, Json]]) -> int:
        """Shows these items, and returns the size of what had to be sent."""
        before = self.items
        patch = [(at, item) for at, item in enumerate(items) if at >= len(before) or before[at] != item]
        if not patch and len(items) == len(before):
            return 0
        before[:] = items
        if not self.is_heard:
            self.send_state("items")
            return sum(len(item["html"]) for item in items)
        self.send({"patch": patch, "length": len(items)})
        return sum(len(items[at]["html"]) for at, _ in patch)


class WidgetScreen:
    """Shows a turn in a widget; clicks arrive on any thread of the kernel."""

    shows_pictures = True
    """The same field as in ``Screen``, and so are the methods."""

    def __init__(self, turn: Turn[Any] | SyncTurn[Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._turn = turn._turn if isinstance(turn, SyncTurn) else turn
        self._runner = self._turn._runner
        self._view = TurnCard(clock)
        self._pace = Pace(clock)
        self._lock = threading.RLock()
        self._problems: dict[int, str] = {}
        self.widget = TurnWidget()
        self.widget.on_msg(self._on_message)
        bundle = self.widget._repr_mimebundle_()
        assert bundle is not None
        data, metadata = bundle
        display = importlib.import_module("IPython.display").display
        self._handle = display(
            {**data, **self._view._repr_mimebundle_()}, metadata=metadata, raw=True, display_id=True
        )
        self._runner.questions.changed = self.draw

    def took(self, event: ev.Event) -> None:
        """Takes an event."""
        with self._lock:
            self._view.apply(event)
            if self._pace.came():
                self.draw()

    def took_messages(self, messages: Iterable[Message]) -> None:
        """Takes the turn's messages so far."""
        with self._lock:
            self._view.take_pictures(messages)
            self._pace.came()

    def patience(self) -> float | None:
        """How long the next event may take before it must be drawn, in seconds."""
        return self._pace.patience(self._view.is_waiting())

    def draw(self) -> None:
        """Shows what has come, and how long it takes."""
        with self._lock:
            self._pace.drawing()
            questions = self._runner.questions.open()
            size = self.widget.show([*self._items(questions)])
            asked = [exact(question.invocation.name) for question in questions]
            self.widget.status = f"May {asked[-1]} run?" if asked else ""
            self._pace.drew(size)

    def close(self, timeline: Sequence[Span]) -> None:
        """Replaces the widget by what a notebook without widgets has: its file shows the same without a kernel."""
        with self._lock:
            self._runner.questions.changed = None
            self._view.take_timeline(timeline)
            self.draw()
            self._handle.update(self._view._repr_mimebundle_(), raw=True)
            # A page that was reloaded meanwhile keeps the widget: the kernel's updates do not reach its outputs.
            self.widget.is_running = False
            self.widget.status = "The turn is over."
            self.widget.send_state("items")
            self.widget.on_msg(self._on_message, remove=True)

    def _items(self, questions: list[Question]) -> Iterable[dict[str, Json]]:
        # A card whose events have not come yet waits for them: its buttons must not move.
        asked: dict[tuple[str, ev.CallKey | None], Question] = {
            (each.invocation.tool_call_id, each.invocation.call): each for each in questions
        }
        for item in self._view.items():
            if not isinstance(item, Card) or not item.is_under_way():
                yield _item(item)
            elif question := asked.get((item.id, item.call)):
                yield self._asked(item, question)
            else:
                yield _item(item, item)

    def _asked(self, card: Card, question: Question) -> dict[str, Json]:
        """Returns a card with a question: it shows what will run, not what had streamed."""
        invocation = question.invocation
        shown = dataclasses.replace(
            card, name=invocation.name, arguments=invocation.arguments, status="awaiting_approval"
        )
        asked = {
            "number": question.number,
            "arguments": arguments_text(invocation.arguments),
            "problem": self._problems.get(question.number, ""),
        }
        return {**_item(shown, shown), "question": asked}

    def _on_message(self, widget: object, content: Json, buffers: object) -> None:
        self.clicked(content)

    def clicked(self, content: Json) -> None:
        """Does what the user has clicked, unless it is over."""
        if not isinstance(content, Mapping):
            return
        match content.get("do"):
            case "cancel":
                self._turn.cancel()
            case "cancel_call":
                self._on_loop(self._turn.cancel_call(str(content.get("call"))))
            case "run" | "deny" as answer:
                for question in self._runner.questions.open():
                    if question.number == content.get("number"):
                        self._answer(question, answer == "run", content)
            case "show":
                with self._lock:
                    self.widget.is_heard = True
                    self.widget.send_state("items")
        self.widget.send({"took": content.get("click")})

    def _answer(self, question: Question, may_run: bool, content: Mapping[str, Json]) -> None:
        text = content.get("text")
        if not may_run:
            question.decide(text if isinstance(text, str) and text.strip() else False)
        elif text is None:
            question.decide(True)
        else:
            try:
                arguments = json.loads(str(text))
                if not isinstance(arguments, dict):
                    raise ValueError("the arguments are no JSON object")
            except ValueError as error:
                self._problems[question.number] = f"These cannot be run: {error}."
                self.draw()
                return
            is_same = arguments_text(arguments) == arguments_text(question.invocation.arguments)
            question.decide(True if is_same else arguments)

    def _on_loop(self, work: Coroutine[Any, Any, None]) -> None:
        def done(future: Future[None]) -> None:
            if not future.cancelled() and (error := future.exception()):
                logger.debug("what was clicked came too late: %s", error)

        asyncio.run_coroutine_threadsafe(work, self._runner.loop).add_done_callback(done)


def _item(item: Item, card: Card | None = None) -> dict[str, Json]:
    call = None if card is None else {"id": card.id, "name": exact(card.name)}
    return {"html": item.to_html(), "call": call, "question": None}
