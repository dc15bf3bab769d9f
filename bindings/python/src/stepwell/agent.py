"""The API with the network inside."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from types import TracebackType
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._ffi.agent import AgentOptions
from ._record import Json, Record, lift, lower, record
from .arguments import as_json, names_arguments
from .config import RunConfig
from .display import TurnCard
from .errors import InvalidArgumentError, MisuseError, told, translated, translates
from .events import Completed, Event, ToolFailureKind, lift_event
from .journals import JournalSink, Sink
from .machine import entries
from .outcomes import Finished, Outcome
from .process import OwnProcess
from .registry import RunRegistry
from .runner import Approver as Approver
from .runner import Decision as Decision
from .runner import TurnRunner
from .sessions import SessionStore
from .stores import Store, ThreadKey, TurnKey, thread_key
from .sync import SyncTurn
from .tools import Parts, shown
from .transport import HttpClient

logger = logging.getLogger("stepwell")

@names_arguments
class Agent(AgentOptions):
    """A conversation with a model and the app's tools::

        agent = Agent(provider="openai", model="gpt-4o-mini", key=key, tools=[get_weather])
        async for event in agent.send("What is the weather in Bergen?"):
            ...

    The network runs on threads of Stepwell's own. Tools and the approver run on the event loop that ``send`` was called
    on, several side by side where the model asks for several; a plain tool runs in a thread of its own, a plain approver
    on the loop, which waits for it.

    Without an event loop, in a script or a notebook cell: ``agent.run_sync("…").text``, or ``for event in
    agent.send_sync("…")``.
    """

    def _set_up(
        self,
        config: RunConfig,
        *,
        approver: Approver | None,
        thread_id: str | None,
        history: Sequence[Mapping[str, Json]],
        shared_state: Json,
        store: SessionStore | Store | None,
        wait_for_store: bool,
        journal: JournalSink | None,
        client: HttpClient | None,
    ) -> None:
        self._approver = approver
        self._client = client
        self._process = OwnProcess("agent")
        self.store: SessionStore | None = SessionStore(store) if isinstance(store, Store) else store
        """Where its turns are kept."""
        setup = _ffi.AgentSetup(
            thread_id=thread_id,
            history_json=json.dumps(list(history)),
            shared_state_json=as_json("`shared_state` of `Agent`", {} if shared_state is None else shared_state),
            store=self.store and _ffi.StoreSetup(store=self.store.inner, waits=wait_for_store),
            journal=journal and Sink(journal),
        )
        self._agent = translates(_ffi.Agent.for_runners)(config.lower(), setup)

    def __repr__(self) -> str:
        return f"Agent(thread_id={self.thread_id!r}, tools={[tool.name for tool in self.tools]!r})"

    def send(self, text: str) -> Turn:
        """Says something to the model. A turn that is still under way is cancelled first: the user has moved on.

        To be called where an event loop runs.
        """
        return Turn(translates(self._here().start_turn)(text))

    def send_sync(self, text: str) -> SyncTurn:
        """As ``send``, for a plain ``for`` loop: also where an event loop runs, as it does in a notebook.

        The caller's thread waits, so the code of an async program awaits ``send`` instead.
        """
        return SyncTurn(lambda: self.send(text))

    def run_sync(self, text: str, *, raise_on_error: bool = True) -> Finished:
        """Says something to the model and waits for the end of the turn; see ``send_sync``.

        Raises a ``TurnError`` where the answer is not whole, unless ``raise_on_error`` is ``False``.
        """
        finished = self.send_sync(text).finish()
        return finished.raise_for_failure() if raise_on_error else finished

    def revive_sync(self, snapshot: str) -> SyncTurn:
        """As ``revive``, for a plain ``for`` loop."""
        return SyncTurn(lambda: self.revive(snapshot))

    def revive(self, snapshot: str) -> Turn:
        """Goes on with a stored turn: with what ``Turn.rested`` gave, in this process or a later one.

        What a deferred call comes to is then told to ``Turn.finish_call``; the user is asked again what they had not
        answered. To be called where an event loop runs.
        """
        return Turn(translates(self._here().revive)(snapshot))

    async def recover(self) -> list[Recovered]:
        """Goes on with every unfinished turn of the store that nobody drives any more, each on its own thread.

        They are what a process that died has left, and what was suspended. To be called when the app starts, and as
        often as it likes after that; turns that are under way are left alone.
        """
        recovered = await told(self._here().recover())
        turns = [None if found.turn is None else Turn(found.turn) for found in recovered]
        return [Recovered(lift(found.key), turn, found.error) for found, turn in zip(recovered, turns)]

    async def resend(self, turn: str, text: str) -> Turn:
        """Says something else in the place of what a stored turn began with: another branch of the thread.

        It goes on from the conversation before that turn, which stays. For an agent with a store.
        """
        return Turn(await told(self._here().resend(turn, text)))

    def thread(self, thread: ThreadKey | str) -> Agent:
        """Another conversation with the same model, tools and store: the one that goes by this key, or a new one."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._agent = self._agent.thread(lower(thread_key(thread)))
        return other

    async def delete_thread(self, thread: ThreadKey | str) -> bool:
        """Cancels the thread's turn, forgets its conversation, and deletes it from the store. Whether that had it."""
        return await told(self._here().delete_thread(lower(thread_key(thread))))

    def _here(self) -> _ffi.Agent:
        """For what is begun now: its tools, approvals and the calls of an app's store run on the event loop that runs."""
        self._process.begin()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise MisuseError(
                "no event loop runs here", "call it in a coroutine, or take `send_sync`, `run_sync` or `revive_sync`"
            ) from None
        runner = TurnRunner(loop, self.tools, self._approver, self._client)
        return self._agent.with_runner(runner, self.store and self.store.on(loop), self._client is not None)

    async def send_to_listener(self, text: str, listener: Callable[[Event], object]) -> Finished:
        """Says something to the model, calls the listener with each event, and gives the turn however it ended.

        A listener that raises is logged and otherwise passed over: the turn goes on.
        """
        turn = self.send(text)
        async for event in turn:
            try:
                listener(event)
            except Exception:
                logger.exception("the listener failed at %r", event)
        return await turn.finish()

    def cancel(self) -> None:
        """Cancels the turn under way, if there is one."""
        self._agent.cancel()

    def entered_background(self) -> None:
        """The app goes to the background; see ``DevicePolicy``.

        Like the following three, it concerns the turn under way and those that begin later.
        """
        self._agent.entered_background()

    def entered_foreground(self) -> None:
        """The app is in the foreground again."""
        self._agent.entered_foreground()

    def network_lost(self) -> None:
        """The network is gone."""
        self._agent.network_lost()

    def network_available(self) -> None:
        """There is a network, or another one took the place of the one before."""
        self._agent.network_available()

    @property
    def registry(self) -> RunRegistry:
        """Which threads have a turn under way, what the user looks at, and what is unread.

        Of this agent and of those that ``thread`` gave. Its runs are the agent's turns: leave it to the agent to register,
        to complete and to remove them.
        """
        return RunRegistry.of(self._agent.registry())

    @property
    def thread_id(self) -> str:
        """The conversation's id."""
        return self._agent.thread_id()

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The conversation as it was after the last turn: AG-UI messages, oldest first."""
        messages: list[dict[str, Json]] = json.loads(self._agent.messages_json())
        return messages

    @property
    def shared_state(self) -> Json:
        """The state shared with an AG-UI agent, as it was after the last turn."""
        return json.loads(self._agent.shared_state_json())

    @property
    def text(self) -> str:
        """All that the model said since the user's last message."""
        return self._agent.text()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The conversation, for a notebook."""
        return TurnCard.of_messages(self.messages)._repr_mimebundle_()


@names_arguments
class Turn(AsyncIterator[Event]):
    """A turn under way: iterate over it for its events, or await it for its whole answer.

    It is cancelled by ``cancel``, by cancelling the task that waits for it, and by letting go of it: leaving the loop
    is enough. ``async with agent.send(…) as turn`` makes that certain in every Python.
    """

    def __init__(self, turn: _ffi.Turn) -> None:
        self._turn = turn
        self._process = OwnProcess("turn")
        self._ready: deque[Event] = deque()
        self._over = False
        self._finished: Finished | None = None
        self.outcome: Outcome | None = None
        """How it ended, once that event has come."""

    def __repr__(self) -> str:
        return f"Turn(outcome={self.outcome!r})"

    def __aiter__(self) -> Turn:
        return self

    async def __anext__(self) -> Event:
        if not self._ready:
            self._ready.extend(await self.more())
            if not self._ready:
                raise StopAsyncIteration
        event = self._ready.popleft()
        if isinstance(event, Completed):
            self.outcome = event.outcome
        return event

    async def more(self) -> list[Event]:
        """Waits for the next event and gives it with all others that are there; none when the turn is over.

        For a screen that is drawn once for all that has come; a loop over the turn gives the same one by one.
        """
        if self._ready:
            events = list(self._ready)
            self._ready.clear()
            return events
        if self._over:
            return []
        events = [lift_event(event) for event in await self._or_cancel(self._there().next_batch())]
        self._over = not events
        return events

    async def finish(self) -> Finished:
        """Waits for the end, whatever is left of the events, and gives it however the turn ended.

        Awaiting the turn itself raises a ``TurnError`` where its answer is not whole.

        Nobody sees what an AG-UI agent asks meanwhile: it is told that there is no answer, and where it asks once more, the
        turn is cancelled. To answer, iterate over the turn and ``resume`` it.
        """
        if self._finished is None:
            try:
                self._finished = lift(await self._or_cancel(self._there().finish()))
            except _ffi.StepwellError as error:
                raise translated(error) from None
            assert self._finished is not None
            self.outcome = self._finished.outcome
            self._over = True
        return self._finished

    async def _whole(self) -> Finished:
        return (await self.finish()).raise_for_failure()

    def __await__(self) -> Generator[Any, None, Finished]:
        return self._whole().__await__()

    async def detach(self) -> None:
        """Lets the turn go on to its end without anyone watching. It can still be cancelled."""
        await self._there().detach()

    def cancel(self) -> None:
        """Stops the turn: its tools are stopped, its connection is closed. The events up to its end still come."""
        self._turn.cancel()

    async def cancel_call(self, tool_call_id: str) -> None:
        """Stops one tool call, by the provider's id for it. The others go on, and the model is told."""
        await told(self._there().cancel_call(tool_call_id))

    async def finish_call(self, tool_call_id: str, result: object) -> None:
        """Brings the result of a tool call, by the provider's id for it: of a deferred one, or of one that still runs.

        A result that is no string is written as JSON, but for ``Parts``.
        """
        if isinstance(result, Parts):
            content = as_json("`result` of `Turn.finish_call`", result)
            await told(self._there().finish_call_parts(tool_call_id, content))
            return
        try:
            content = shown(result)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"`result` of `Turn.finish_call`: {error}", "give what JSON can have") from error
        await told(self._there().finish_call(tool_call_id, content))

    async def fail_call(
        self, tool_call_id: str, message: str, *, kind: ToolFailureKind = ToolFailureKind.ERROR
    ) -> None:
        """As ``finish_call``, for a call that failed; the model is shown the message."""
        await told(self._there().fail_call(tool_call_id, message, _ffi.ToolFailureKind[kind.name]))

    async def steer(self, text: str | None = None, *, message: Mapping[str, Json] | None = None) -> str:
        """Says something during the turn, without stopping it: text, or an AG-UI message. Gives the message's id.

        The message waits until the next hop begins, and is answered in this turn: ``SteeringTaken`` says when. If it
        cannot be taken in, ``SteeringRefused`` gives it back.
        """
        if text is not None and message is None:
            taken: str = await told(self._there().steer(text))
            return taken
        if message is None or text is not None:
            raise InvalidArgumentError("`steer` takes a text or a message", "give one of them, not both")
        if not isinstance(message.get("id"), str):
            raise InvalidArgumentError("`message` of `Turn.steer` has no `id`", "give an AG-UI message with an id of its own")
        await told(self._there().steer_message(json.dumps(message)))
        return str(message["id"])

    async def resume(self, answers: Mapping[str, Json]) -> None:
        """Answers what the agent asked with ``Interrupted``, all of it, by their ids; ``None`` waves one away."""
        await told(self._there().resume(entries(answers)))

    async def snapshot(self) -> str:
        """The turn as text, as it stands, for ``Agent.revive``, in this process or a later one. It holds no key.

        A turn that goes on after its snapshot was taken may run tools that the snapshot knows nothing of: prefer
        ``rested``.
        """
        snapshot: str = await told(self._there().snapshot())
        return snapshot

    async def rested(self) -> str:
        """Waits until nothing but the user, or the result of a deferred call, can move the turn on; gives its ``snapshot``.

        The turn goes on in this process too, until it is let go of.
        """
        snapshot: str = await told(self._there().rested())
        return snapshot

    async def __aenter__(self) -> Turn:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cancel()

    def _there(self) -> _ffi.Turn:
        self._process.begin()
        return self._turn

    async def _or_cancel(self, waiting: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await waiting
        except asyncio.CancelledError:
            self.cancel()
            raise


@record
class Recovered(Record):
    """An unfinished turn of the store that goes on here."""

    key: TurnKey
    """The turn. ``Agent.thread`` with its thread gives the conversation."""
    turn: Turn | None
    """The turn under way; letting go of it cancels it, unless it was detached. ``None`` if it cannot go on."""
    error: str | None
    """Why it cannot go on. It stays unfinished in the store, until somebody sends on its thread."""
