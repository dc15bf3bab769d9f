"""Shows a turn while it runs: in a notebook as a widget or as Markdown, elsewhere as lines."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TextIO, overload

from . import events as ev
from .cards import visible
from .display import TurnCard
from .errors import MisuseError, StepwellError
from .items import Card, Notice
from .messages import Message
from .questions import has_widgets, in_notebook
from .result import TurnResult
from .sync import SyncTurn
from .timeline import Span

if TYPE_CHECKING:
    from .turn import Turn

_INTERVAL = 0.1
"""The shortest time between two drawings in a notebook, in seconds: more than ten a second clog its connection."""

_SECOND = 1.0
"""The interval at which a view that shows elapsed time is drawn, in seconds."""

_BYTES = 500_000
"""The most bytes that are drawn in a second: Jupyter's server drops more than a million."""


class Shown:
    """A turn that is shown. The turn runs by itself; await it for its end, in this cell or a later one."""

    def __init__(self, turn: Turn[Any], task: asyncio.Task[TurnResult[Any]]) -> None:
        self.turn = turn
        """The turn: to cancel or to ``plot`` it, say. Its events belong to the view."""
        self._task = task

    def __await__(self) -> Generator[Any, None, TurnResult[Any]]:
        return self._task.__await__()

    def __repr__(self) -> str:
        return f"Shown({self.turn!r})"

    def _ipython_display_(self) -> None:
        """Shows nothing more as the result of a cell."""


class Screen(Protocol):
    """The place where a turn is shown."""

    shows_pictures: bool
    """Whether the screen takes the turn's messages after a tool's result: they have the result's pictures."""

    def took(self, event: ev.Event) -> None:
        """Takes an event."""

    def took_messages(self, messages: Iterable[Message]) -> None:
        """Takes the turn's messages so far."""

    def patience(self) -> float | None:
        """How long the next event may take before the screen must be drawn, in seconds."""

    def draw(self) -> None:
        """Draws what has arrived, and the elapsed time."""

    def close(self, timeline: Sequence[Span]) -> None:
        """Closes the screen: the turn is over, or no caller waits for it any more."""


@overload
def show(turn: Turn[Any], *, file: TextIO | None = None, widget: bool | None = None) -> Shown: ...


@overload
def show(turn: SyncTurn[Any], *, file: TextIO | None = None, widget: bool | None = None) -> TurnResult[Any]: ...


def show(turn: Turn[Any] | SyncTurn[Any], *, file: TextIO | None = None, widget: bool | None = None) -> Shown | TurnResult[Any]:
    """Shows a turn while it streams, and returns its result: ``await show(agent.stream("Hi"))``,
    ``show(agent.stream_sync("Hi"))``. A turn without a complete answer is shown too, and raises nothing.

    In a notebook it shows text and tool cards in the cell's output; elsewhere lines on ``file``, standard output if
    ``None``. A cell that ends with ``show(agent.stream("Hi"))``, without ``await``, is done at once, and the turn
    continues.

    Args:
        turn: What ``stream`` or ``stream_sync`` gave.
        file: Where to write lines, in the place of the notebook.
        widget: Whether a notebook has a widget with buttons, for approvals and to cancel, which needs
            ``pip install 'stepwell[notebook]'``; if ``None``, where that is installed. Else it has Markdown.
    """
    if not isinstance(turn, SyncTurn) and not hasattr(turn, "more"):
        raise MisuseError(
            f"`turn` of `show` is of the type {type(turn).__name__}", "give what `stream` or `stream_sync` gave"
        )
    if not isinstance(turn, SyncTurn):
        _check_loop()
    screen: Screen
    if file is not None or not in_notebook():
        screen = _Terminal(file or sys.stdout)
    elif has_widgets() if widget is None else widget:
        screen = importlib.import_module(".widget", __package__).WidgetScreen(turn)
    else:
        screen = _Notebook(_display())
    if isinstance(turn, SyncTurn):
        return _show_sync(turn, screen)
    task = asyncio.create_task(_show(turn, screen))
    # The event loop itself keeps no reference to the task.
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return Shown(turn, task)


_tasks: set[asyncio.Task[TurnResult[Any]]] = set()


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise MisuseError("no event loop of asyncio runs here", "call it in a coroutine, or give it what `stream_sync` gave") from None


def _show_sync(turn: SyncTurn[Any], screen: Screen) -> TurnResult[Any]:
    cell = _cell()
    try:
        while True:
            try:
                if not turn._wait(screen.patience()):
                    break
            except TimeoutError:
                screen.draw()
                continue
            event = turn._next_event()
            assert event is not None
            screen.took(event)
            if screen.shows_pictures and _is_result(event):
                with contextlib.suppress(StepwellError):
                    screen.took_messages(turn.messages())
        screen.draw()
        finished = turn._ended()
        screen.took_messages(finished.messages)
    except BaseException:
        turn.cancel()
        raise
    finally:
        screen.close(turn.timeline)
    return _shown(finished, cell)


async def _show(turn: Turn[Any], screen: Screen) -> TurnResult[Any]:
    cell = _cell()
    more: asyncio.Task[list[ev.Event]] | None = None
    try:
        while True:
            more = more or asyncio.ensure_future(turn._events())
            done, _ = await asyncio.wait({more}, timeout=screen.patience())
            if not done:
                screen.draw()
                continue
            events, more = more.result(), None
            if not events:
                break
            for event in events:
                screen.took(event)
            if screen.shows_pictures and any(map(_is_result, events)):
                with contextlib.suppress(StepwellError):
                    screen.took_messages(await turn.messages())
        screen.draw()
        finished = await turn._ended()
        screen.took_messages(finished.messages)
    except BaseException:
        if more is not None:
            more.cancel()
        turn.cancel()
        await turn._wind_up()
        raise
    finally:
        screen.close(turn.timeline)
    return _shown(finished, cell)


def _is_result(event: ev.Event) -> bool:
    return isinstance(event, ev.ToolCallUpdate) and isinstance(event.result, ev.ToolOutput)


_last_shown: tuple[TurnResult[Any], object] | None = None


def _shown(finished: TurnResult[Any], cell: object) -> TurnResult[Any]:
    global _last_shown
    _last_shown = (finished, cell)
    return finished


def display_once(finished: TurnResult[Any]) -> None:
    """Shows a turn as a cell's result, unless ``show`` has drawn it in this very cell."""
    if _last_shown is not None and _last_shown[0] is finished and _last_shown[1] == _cell():
        return
    _display()(TurnCard.of_result(finished))


def _cell() -> object:
    """Returns the number of the notebook's current cell."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "execution_count", None)


def _display() -> Callable[..., Any]:
    found: Callable[..., Any] = importlib.import_module("IPython.display").display
    return found


class Pace:
    """The times when a notebook's view is drawn: soon after something has arrived, and while something takes long."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._drawn = clock()
        self._interval = _INTERVAL
        self._is_dirty = False

    def came(self) -> bool:
        """Notes that something should be drawn. Returns whether the drawing is due."""
        self._is_dirty = True
        return self._clock() - self._drawn >= self._interval

    def patience(self, is_waiting: bool) -> float | None:
        """Returns the time until the next drawing."""
        if self._is_dirty:
            return max(0.0, self._drawn + self._interval - self._clock())
        return _SECOND if is_waiting else None

    def drawing(self) -> None:
        """Notes that a drawing begins."""
        self._is_dirty = False
        self._drawn = self._clock()

    def drew(self, size: int) -> None:
        """Notes that a drawing of this many bytes is done. Drawings take no more than a fifth of the time."""
        self._interval = max(_INTERVAL, 4 * (self._clock() - self._drawn), size / _BYTES)


class _Notebook:
    """Draws the complete view repeatedly in one output."""

    shows_pictures = True

    def __init__(self, display: Callable[..., Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._view = TurnCard(clock)
        self._pace = Pace(clock)
        self._handle = display(self._view, display_id=True)

    def took(self, event: ev.Event) -> None:
        self._view.apply(event)
        if self._pace.came():
            self.draw()

    def took_messages(self, messages: Iterable[Message]) -> None:
        self._view.take_pictures(messages)
        self._pace.came()

    def patience(self) -> float | None:
        return self._pace.patience(self._view.is_waiting())

    def draw(self) -> None:
        self._pace.drawing()
        bundle = self._view._repr_mimebundle_()
        self._handle.update(bundle, raw=True)
        self._pace.drew(sum(map(len, bundle.values())))

    def close(self, timeline: Sequence[Span]) -> None:
        self._view.take_timeline(timeline)
        self.draw()


_NOTED = (ev.Completed, ev.Interrupted, ev.Retrying, ev.SteeringRefused, ev.WaitingForNetwork, ev.WarningUpdate)
"""The events that a terminal has a line for."""


class _Terminal:
    """Writes text as it comes, and a line for each tool call that is done."""

    shows_pictures = False

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._view = TurnCard()
        self._in_line = False
        self._after_card = False
        self._notices: list[Notice] = []

    def took(self, event: ev.Event) -> None:
        self._view.apply(event)
        if isinstance(event, ev.TextMessageContent):
            delta = event.delta.lstrip("\n") if self._after_card else event.delta
            if delta:
                self._file.write(visible(delta))
                self._in_line, self._after_card = not delta.endswith("\n"), False
        elif isinstance(event, ev.ToolCallUpdate) and event.result is not None:
            for item in self._view.items():
                if isinstance(item, Card) and item.call == event.call:
                    self._line(item.to_text())
            self._after_card = True
        elif isinstance(event, _NOTED):
            notices = [item for item in self._view.items() if isinstance(item, Notice)]
            for notice in notices:
                if notice not in self._notices:
                    self._line(notice.to_text())
            self._notices = notices
        self._file.flush()

    def _line(self, text: str) -> None:
        self._file.write(("\n" if self._in_line else "") + text + "\n")
        self._in_line = False

    def took_messages(self, messages: Iterable[Message]) -> None:
        """A terminal has no pictures."""

    def patience(self) -> float | None:
        return None

    def draw(self) -> None:
        """Does nothing: all text is written already."""

    def close(self, timeline: Sequence[Span]) -> None:
        if self._in_line:
            self._in_line = False
            self._file.write("\n")
            self._file.flush()
