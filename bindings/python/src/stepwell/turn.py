"""A turn under way."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ._ffi import stepwell_ffi as _ffi
from ._ffi.turns import StoredTurn
from ._record import Json, lift
from ._types import Out
from .arguments import names_arguments
from .errors import MisuseError, StepwellError, error_of, told, translated
from .events import Completed, Event, Interrupt, lift_event
from .machine.run import entries
from .media import Content, said
from .messages import Transcript, UserMessage
from .outcomes import Cancelled, Finished, Outcome, TokenUsage
from .output import TypedOutput
from .process import OwnProcess
from .replies import Replies
from .result import TurnResult
from .result import result_of as text_result_of
from .runner import TurnRunner
from .timeline import Span, Timeline
from .updates import TextUpdate, Update, update_of

if TYPE_CHECKING:
    from ._definition import Definition
    from .plot import TurnPlot

T = TypeVar("T")


@names_arguments
class Turn(Replies, AsyncIterator[Update], Generic[Out]):
    """A turn under way: a loop over it yields its updates, and ``await turn.result()`` its result::

        async with agent.stream("…") as turn:
            async for text in turn.text_stream:
                print(text, end="")

    The loop, and ``result``, raise a ``StepwellError`` if the turn ends without a complete answer; a loop over
    ``turn.updates(raise_on_error=False)`` does not.

    A call that needs the user's approval, a question of a tool, and a deferred call wait, and are listed by ``pending``:
    ``approve``, ``deny``, ``answer`` and ``resolve_call`` take the replies, here or in the turn's conversation. An ``approver`` and
    an ``answerer`` of the agent are asked for the same, and the first reply counts.

    The turn is cancelled by ``cancel``, by cancelling the task that waits for it, and by dropping the last reference to
    it. Leaving a loop over ``agent.stream(…)`` drops it; a turn that has a name continues, so write ``async with
    agent.stream(…) as turn``. Where a task is cancelled or an ``async with`` is left, the turn's tools have ended before
    the caller continues.
    """

    def __init__(
        self,
        turn: _ffi.Turn,
        runner: TurnRunner,
        typed: TypedOutput | None,
        definition: Definition,
        *,
        of: str | None = None,
    ) -> None:
        self._turn = turn
        self._runner = runner
        self._definition = definition
        # The name, if other turns have the same runner.
        self._of = of
        runner.turns[of] = weakref.ref(turn)
        self._finishing: asyncio.Future[Finished] | None = None
        self._typed = typed
        self._partial = _ffi.PartialValue()
        self._timeline = Timeline()
        self._process = OwnProcess("turn")
        self._ready: deque[Event] = deque()
        self._over = False
        self._raises = False
        self._finished: Finished | None = None
        self._result: TurnResult[Any] | None = None
        self._outcome: Outcome | None = None

    def __repr__(self) -> str:
        return f"Turn({'under way' if self._outcome is None else self._outcome!r})"

    def __aiter__(self) -> Turn[Out]:
        return self

    async def __anext__(self) -> Update:
        update = await self._next()
        if update is None:
            if self._raises:
                self._raises = False
                await self.result()
            raise StopAsyncIteration
        return update

    async def _next(self) -> Update | None:
        while self._ready or self._ready_after(await self._events()):
            if (update := update_of(self._ready.popleft())) is not None:
                return update
        return None

    def _ready_after(self, events: list[Event]) -> bool:
        self._ready.extend(events)
        return bool(events)

    def updates(self, *, raise_on_error: bool = True) -> AsyncIterator[Update]:
        """Yields the updates one by one, as a loop over the turn itself does.

        With ``raise_on_error=False`` the loop ends however the turn ended, and ``outcome`` says how. Use it for a screen that
        shows a failure as one of its lines.
        """
        return self if raise_on_error else _Updates(self)

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """What the model says, as it comes; a loop over it raises as a loop over the turn does."""
        return self._texts()

    async def _texts(self) -> AsyncIterator[str]:
        async for update in self:
            if isinstance(update, TextUpdate):
                yield update.delta

    async def more(self) -> list[Update]:
        """Waits for the next update and returns it with all others that are ready; none when the turn is over.

        For a screen that is drawn once for all ready updates; a loop over the turn yields the same updates one by one.
        This method raises no error of the turn: ``outcome`` says how it ended.
        """
        while events := await self._events():
            if updates := [update for event in events if (update := update_of(event)) is not None]:
                return updates
        return []

    @property
    def outcome(self) -> Outcome | None:
        """How the turn ended; ``None`` as long as the end was not read here."""
        return self._outcome

    async def _events(self) -> list[Event]:
        """Waits for the next event, and returns it with all others that are ready; none when the turn is over."""
        if self._ready:
            events = list(self._ready)
            self._ready.clear()
            return events
        if self._over:
            return []
        events = await self._or_cancel(self._batch())
        self._over = not events
        if self._timeline.take(events):
            try:
                self._timeline.count(await self._or_cancel(self.usage()))
            except StepwellError:
                pass
            except asyncio.CancelledError:
                self._ready.extendleft(reversed(events))
                raise
        return events

    async def _batch(self) -> list[Event]:
        given = await self._there().next_batch()
        for event in given:
            if isinstance(event, _ffi.Event.PARTIAL_OUTPUT):
                self._partial.apply(event.changes)
        events = [lift_event(event) for event in given]
        if events and isinstance(events[-1], Completed):
            self._outcome = events[-1].outcome
            self._raises = self._outcome.problem is not None
        return events

    async def result(self) -> TurnResult[Out]:
        """Waits for the end, whatever is left of the updates; raises the turn's error if its answer is incomplete.

        Questions of an AG-UI agent are not shown to the user meanwhile: the agent is informed that there is no answer,
        and if it asks again, the turn is cancelled. To answer, iterate over the turn and ``resume`` it.
        """
        finished = await self._finish()
        assert self._result is not None
        if problem := finished.outcome.problem:
            raise error_of(problem, self._definition.model.provider, finished.model, self._result)
        return cast("TurnResult[Out]", self._result)

    async def _ended(self) -> TurnResult[Any]:
        """Waits for the end, and returns the result however the turn ended."""
        await self._finish()
        assert self._result is not None
        return self._result

    async def _finish(self) -> Finished:
        """Waits for the end, and returns it however the turn ended."""
        if self._finished is None:
            there = self._there()
            if self._finishing is None:
                # A separate task: a caller that stops waiting must still be able to wait for the turn's tools.
                self._finishing = asyncio.ensure_future(self._take_end(there))
            self._finished = await self._or_cancel(asyncio.shield(self._finishing))
        if isinstance(self._finished.outcome, Cancelled):
            await self._runner.end(self._of)
        if (bug := self._runner.bugs.get(self._of)) is not None:
            raise bug
        return self._finished

    async def _take_end(self, turn: _ffi.Turn) -> Finished:
        try:
            finished: Finished = lift(await turn.finish())
        except _ffi.StepwellError as error:
            raise translated(error) from None
        if self._typed is None:
            self._result = text_result_of(finished, finished.output, is_text=finished.output is None)
        else:
            self._result = self._typed.result(finished)
        self._finished = finished
        self._outcome = finished.outcome
        self._over = True
        self._timeline.count_all(finished.usage)
        return finished

    async def detach(self) -> None:
        """Lets the turn run to its end without a client. The turn can still be cancelled."""
        await self._there().detach()

    def cancel(self) -> None:
        """Stops the turn and its tools, and closes its connection. The updates up to the turn's end still arrive.

        ``await turn.result()`` after it raises a ``TurnCancelledError``, and waits until the turn's tools have ended, including their ``finally``.
        """
        self._turn.cancel()

    async def cancel_call(self, tool_call_id: str) -> None:
        """Stops one tool call, by the provider's id for it. The other calls continue, and the model is informed."""
        await told(self._there().cancel_call(tool_call_id))

    async def steer(self, message: Content | UserMessage, *parts: Content) -> str:
        """Sends a message during the turn, without stopping it: text and media, or a ``UserMessage``. Returns the
        message's id.

        The message waits until the next hop begins, and is answered in this turn: ``SteeringTaken`` reports when. If
        the turn cannot take the message, ``SteeringRefused`` returns it.
        """
        if isinstance(message, UserMessage):
            await told(self._there().steer_message(message.to_json()))
            return message.id
        words, others = said("`message` of `Turn.steer`", message, parts)
        taken: str = await told(self._there().steer(words, others))
        return taken

    async def resume(self, answers: Mapping[str, Json]) -> None:
        """Answers all questions that the agent asked with ``Interrupted``, by their ids; ``None`` dismisses one."""
        await told(self._there().resume(entries(answers)))

    async def snapshot(self) -> str:
        """Returns the current turn as text, for ``Agent.revive``, in this process or a later one. The text holds no key.

        A turn that continues after its snapshot was taken may run tools that the snapshot does not know: prefer
        ``rested``.
        """
        snapshot: str = await told(self._there().snapshot())
        return snapshot

    async def suspend(self) -> str:
        """Releases the turn without ending it, and returns it as text for ``Agent.revive``.

        The turn's stream is closed, its tools are stopped, and its updates end: best done once it has ``rested``. The
        turn keeps the thread until it is revived or a message is sent on the thread. What the user typed and the turn
        had not taken is dropped.
        """
        snapshot: str = await told(self._there().suspend())
        return snapshot

    async def begun(self) -> None:
        """Waits until the turn has begun, or has failed to.

        With a store, the turn is in the store then, and is ``stored``; if not, ``store_trouble`` gives the reason.
        """
        await self._there().begun()

    @property
    def stored(self) -> StoredTurn | None:
        """The turn as its store knows it, once it has ``begun`` there; ``None`` without a store."""
        stored: StoredTurn | None = lift(self._turn.stored())
        return stored

    @property
    def store_trouble(self) -> str | None:
        """What delays the turn's writes, or why it could not begin; ``None`` while there is no delay.

        A ``WarningUpdate`` reports a delay. The app decides how long to wait, and calls ``cancel``.
        """
        return self._turn.store_trouble()

    @property
    def revived_from(self) -> Transcript | None:
        """The conversation from which a stored turn continued, once it has ``begun``, to show before its updates;
        ``None`` for a new turn."""
        messages = self._turn.revived_from()
        return None if messages is None else Transcript.from_json(messages)

    async def messages(self) -> Transcript:
        """Returns the conversation in the middle of the turn. For a finished turn the ``result`` has it."""
        return Transcript.from_json(await told(self._there().messages()))

    async def shared_state(self) -> Json:
        """Returns the state shared with an AG-UI agent, in the middle of the turn."""
        return await told(self._there().shared_state())

    async def interrupts(self) -> list[Interrupt]:
        """Returns what an AG-UI agent asks the user now, to be answered with ``resume``; nothing if it asks nothing."""
        interrupts: list[Interrupt] = lift(await told(self._there().interrupts()))
        return interrupts

    async def usage(self) -> TokenUsage:
        """Returns what the turn has cost so far, over all its hops."""
        usage: TokenUsage = lift(await told(self._there().usage()))
        return usage

    @property
    def partial_output(self) -> Json:
        """What has arrived of a typed answer, as JSON: dicts and lists; ``None`` while nothing has.

        A text may still grow, and complete values stay; no value is checked yet. The update ``OutputUpdate`` reports
        that there is more. The cost grows with the answer, so ask only for what is shown.
        """
        return self._partial.value()

    @property
    def timeline(self) -> list[Span]:
        """When the model, the tools and the user's approvals began and ended, in order, and what each hop cost.

        The timeline covers the events that were seen: it is empty if the turn was only awaited.
        """
        return self._timeline.spans

    def plot(self) -> TurnPlot:
        """Draws the ``timeline``, and each hop's tokens: a matplotlib figure, which a notebook shows.

        Needs ``pip install 'stepwell[notebook]'``.
        """
        if self._over and not self.timeline:
            raise MisuseError(
                "there is nothing to plot: none of the turn's events were read here",
                "iterate over the turn, or `show` it, rather than only await it",
            )
        from .plot import plot_of

        return plot_of(self.timeline, self._timeline.now())

    async def rested(self) -> str:
        """Waits until the turn is idle: only the user, or the result of a deferred call, can continue it. Returns its
        ``snapshot``.

        The turn stays in this process too, until it is released.
        """
        snapshot: str = await told(self._there().rested())
        return snapshot

    async def __aenter__(self) -> Turn[Out]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cancel()
        await self._wind_up()

    def _replying(self) -> _ffi.Turn:
        return self._there()

    def _there(self) -> _ffi.Turn:
        self._process.check()
        return self._turn

    async def _or_cancel(self, waiting: Awaitable[T]) -> T:
        try:
            return await waiting
        except asyncio.CancelledError:
            self.cancel()
            await self._wind_up()
            raise

    async def _wind_up(self) -> None:
        """Waits until the turn, which was cancelled, and its tools have ended. A second cancellation ends the waiting."""
        if self._finishing is not None:
            await asyncio.wait([self._finishing])
            if not self._finishing.cancelled():
                # The caller that waits for the turn gets it.
                self._finishing.exception()
        else:
            while events := await self._batch():
                self._ready.extend(events)
        await self._runner.end(self._of)


class _Updates(AsyncIterator[Update]):
    """The updates of a turn, without its error at the end."""

    def __init__(self, turn: Turn[Any]) -> None:
        self._turn = turn

    async def __anext__(self) -> Update:
        update = await self._turn._next()
        if update is None:
            raise StopAsyncIteration
        return update
