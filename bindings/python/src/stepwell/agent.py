"""The door with the network inside."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import json
import logging
import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from types import TracebackType
from typing import Any

from . import _ffi
from ._record import Json, Record, lift, lower, record
from .config import AgUiOptions, DevicePolicy, GenerationSettings, Limits, RetryPolicy, RunConfig, Timeouts
from .display import TurnCard
from .effects import ToolInvocation
from .errors import Deferred, InvalidArgumentError, ToolError, told, translated, translates
from .events import Completed, Event, ToolFailureKind, lift_event
from .journals import JournalSink, Sink
from .machine import entries
from .outcomes import Finished, Outcome
from .registry import RunRegistry
from .sessions import SessionStore
from .stores import Store, ThreadKey, TurnKey, thread_key
from .sync import SyncTurn
from .tools import Parts, Tool, as_tool, shown

logger = logging.getLogger("stepwell")


def _stop_threads(process: int) -> None:
    # A fork has what the process had, but none of its threads.
    if os.getpid() == process:
        _ffi.shutdown()


# A thread that calls into Python while the interpreter is taken down would take the process with it.
atexit.register(_stop_threads, os.getpid())

Decision = bool | str | Mapping[str, Json]
"""What the person says to a tool that asks to run: ``True``, ``False``, or a reason why not, for the model to read; or
the arguments to run it with, in the place of the model's. Arguments that do not fit the tool count as no."""

Approver = Callable[[ToolInvocation], Decision | Awaitable[Decision]]
"""Asks the person whether a tool may run."""


class Agent:
    """A conversation with a model and the app's tools::

        agent = Agent(provider="openai", model="gpt-4o-mini", key=key, tools=[get_weather])
        async for event in agent.send("What is the weather in Bergen?"):
            ...

    The network runs on threads of Stepwell's own. Tools and the approver run on the event loop that ``send`` was called
    on (plain functions in a thread), several side by side where the model asks for several.

    Without an event loop, in a script or a notebook cell: ``agent.run_sync("…").text``, or ``for event in
    agent.send_sync("…")``.
    """

    def __init__(
        self,
        *,
        provider: str,
        model: str = "",
        api: str | None = None,
        base_url: str | None = None,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        instructions: str | None = None,
        tools: Sequence[Tool[..., Any] | Callable[..., Any]] = (),
        approver: Approver | None = None,
        thread_id: str | None = None,
        history: Sequence[Mapping[str, Json]] = (),
        settings: GenerationSettings | None = None,
        limits: Limits | None = None,
        retry: RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        device: DevicePolicy | None = None,
        store: SessionStore | Store | None = None,
        wait_for_store: bool = False,
        journal: JournalSink | None = None,
        ag_ui: AgUiOptions | None = None,
        state: Json = None,
    ) -> None:
        self.tools: tuple[Tool[..., Any], ...] = tuple(as_tool(tool) for tool in tools)
        """The tools on offer."""
        config = RunConfig(
            provider=provider,
            model=model,
            api=api,
            base_url=base_url,
            key=key,
            headers=headers or {},
            instructions=instructions,
            tools=self.tools,
            settings=settings or GenerationSettings(),
            limits=limits or Limits(),
            retry=retry or RetryPolicy(),
            timeouts=timeouts or Timeouts(),
            device=device or DevicePolicy(),
            ag_ui=ag_ui or AgUiOptions(),
        )
        self._runner = _Runner(self.tools, approver)
        self.store: SessionStore | None = SessionStore(store) if isinstance(store, Store) else store
        """Where its turns are kept."""
        setup = self.store and _ffi.StoreSetup(store=self.store.inner, waits=wait_for_store)
        self._agent = translates(_ffi.Agent.with_task_runner)(
            config.lower(),
            self._runner,
            thread_id,
            json.dumps(list(history)),
            json.dumps({} if state is None else state),
            setup,
            journal and Sink(journal),
        )

    def __repr__(self) -> str:
        return f"Agent(thread_id={self.thread_id!r}, tools={[tool.name for tool in self.tools]!r})"

    def send(self, text: str) -> Turn:
        """Says something to the model. A turn that is still under way is cancelled first: the person has moved on.

        To be called where an event loop runs.
        """
        self._bind()
        return Turn(translates(self._agent.start_turn)(text))

    def send_sync(self, text: str) -> SyncTurn:
        """As ``send``, for a plain ``for`` loop: also where an event loop runs, as it does in a notebook.

        The caller's thread waits, so the code of an async program awaits ``send`` instead.
        """
        return SyncTurn(lambda: self.send(text))

    def run_sync(self, text: str) -> Finished:
        """Says something to the model and waits for the end of the turn; see ``send_sync``."""
        return self.send_sync(text).finish()

    def revive_sync(self, snapshot: str) -> SyncTurn:
        """As ``revive``, for a plain ``for`` loop."""
        return SyncTurn(lambda: self.revive(snapshot))

    def revive(self, snapshot: str) -> Turn:
        """Goes on with a stored turn: with what ``Turn.rested`` gave, in this process or a later one.

        What a deferred call comes to is then told to ``Turn.finish_call``; the person is asked again what they had not
        answered. To be called where an event loop runs.
        """
        self._bind()
        return Turn(translates(self._agent.revive)(snapshot))

    async def recover(self) -> list[Recovered]:
        """Goes on with every unfinished turn of the store that nobody drives any more, each on its own thread.

        They are what a process that died has left, and what was suspended. To be called when the app starts, and as
        often as it likes after that; turns that are under way are left alone.
        """
        self._bind()
        recovered = await told(self._agent.recover())
        turns = [None if found.turn is None else Turn(found.turn) for found in recovered]
        return [Recovered(lift(found.key), turn, found.error) for found, turn in zip(recovered, turns)]

    async def resend(self, turn: str, text: str) -> Turn:
        """Says something else in the place of what a stored turn began with: another branch of the thread.

        It goes on from the conversation before that turn, which stays. For an agent with a store.
        """
        self._bind()
        return Turn(await told(self._agent.resend(turn, text)))

    def thread(self, thread: ThreadKey | str) -> Agent:
        """Another conversation with the same model, tools and store: the one that goes by this key, or a new one."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._agent = self._agent.thread(lower(thread_key(thread)))
        return other

    async def delete_thread(self, thread: ThreadKey | str) -> bool:
        """Cancels the thread's turn, forgets its conversation, and deletes it from the store. Whether that had it."""
        self._bind()
        return await told(self._agent.delete_thread(lower(thread_key(thread))))

    def _bind(self) -> None:
        """Tools, approvals and an app's store run on the event loop that runs now."""
        self._runner.loop = asyncio.get_running_loop()
        if self.store is not None:
            self.store.bind()

    async def send_to_listener(self, text: str, listener: Callable[[Event], object]) -> Finished:
        """Says something to the model, calls the listener with each event, and waits for the end.

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
        """Which threads have a turn under way, what the person looks at, and what is unread.

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
        """The state shared with an AG-UI agent, as it was after the last turn; ``state`` is what it begins with."""
        return json.loads(self._agent.state_json())

    @property
    def text(self) -> str:
        """All that the model said since the person's last message."""
        return self._agent.text()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The conversation, for a notebook."""
        return TurnCard.of_messages(self.messages)._repr_mimebundle_()


class Turn(AsyncIterator[Event]):
    """A turn under way: iterate over it for its events, or await it for its end.

    It is cancelled by ``cancel``, by cancelling the task that waits for it, and by letting go of it: leaving the loop
    is enough. ``async with agent.send(…) as turn`` makes that certain in every Python.
    """

    def __init__(self, turn: _ffi.Turn) -> None:
        self._turn = turn
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
        events = [lift_event(event) for event in await self._or_cancel(self._turn.next_batch())]
        self._over = not events
        return events

    async def finish(self) -> Finished:
        """Waits for the end, whatever is left of the events."""
        if self._finished is None:
            try:
                self._finished = lift(await self._or_cancel(self._turn.finish()))
            except _ffi.StepwellError as error:
                raise translated(error) from None
            assert self._finished is not None
            self.outcome = self._finished.outcome
            self._over = True
        return self._finished

    def __await__(self) -> Generator[Any, None, Finished]:
        return self.finish().__await__()

    async def detach(self) -> None:
        """Lets the turn go on to its end without anyone watching. It can still be cancelled."""
        await self._turn.detach()

    def cancel(self) -> None:
        """Stops the turn: its tools are stopped, its connection is closed. The events up to its end still come."""
        self._turn.cancel()

    async def cancel_call(self, tool_call_id: str) -> None:
        """Stops one tool call, by the provider's id for it. The others go on, and the model is told."""
        await told(self._turn.cancel_call(tool_call_id))

    async def finish_call(self, tool_call_id: str, result: object) -> None:
        """Brings the result of a tool call, by the provider's id for it: of a deferred one, or of one that still runs.

        A result that is no string is written as JSON, but for ``Parts``.
        """
        if isinstance(result, Parts):
            await told(self._turn.finish_call_parts(tool_call_id, json.dumps(result)))
        else:
            await told(self._turn.finish_call(tool_call_id, shown(result)))

    async def fail_call(
        self, tool_call_id: str, message: str, *, kind: ToolFailureKind = ToolFailureKind.ERROR
    ) -> None:
        """As ``finish_call``, for a call that failed; the model is shown the message."""
        await told(self._turn.fail_call(tool_call_id, message, _ffi.ToolFailureKind[kind.name]))

    async def steer(self, text: str | None = None, *, message: Mapping[str, Json] | None = None) -> str:
        """Says something during the turn, without stopping it: text, or an AG-UI message. Gives the message's id.

        The message waits until the next hop begins, and is answered in this turn: ``SteeringTaken`` says when. If it
        cannot be taken in, ``SteeringRefused`` gives it back.
        """
        if text is not None and message is None:
            taken: str = await told(self._turn.steer(text))
            return taken
        if message is None or text is not None:
            raise InvalidArgumentError("`steer` takes a text or a message", "give one of them, not both")
        await told(self._turn.steer_message(json.dumps(message)))
        return str(message["id"])

    async def resume(self, answers: Mapping[str, Json]) -> None:
        """Answers what the agent asked with ``Interrupted``, all of it, by their ids; ``None`` waves one away."""
        await told(self._turn.resume(entries(answers)))

    async def rested(self) -> str:
        """Waits until nothing but the person, or the result of a deferred call, can move the turn on.

        Gives the turn as text for ``Agent.revive``, in this process or a later one. The turn goes on in this process
        too, until it is let go of.
        """
        snapshot: str = await told(self._turn.rested())
        return snapshot

    async def __aenter__(self) -> Turn:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cancel()

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


class _Runner(_ffi.TaskRunner):
    """Carries out tool calls and approvals on the app's event loop. Its public methods are called on other threads."""

    def __init__(self, tools: Sequence[Tool[..., Any]], approver: Approver | None) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._tools = {tool.name: tool for tool in tools}
        self._approver = approver
        self._running: dict[int, asyncio.Task[None]] = {}

    def run_tool(self, task: _ffi.ToolTask) -> None:
        self._on_loop(self._begin, task.id(), self._run_tool, task)

    def ask_approval(self, task: _ffi.ApprovalTask) -> None:
        self._on_loop(self._begin, task.id(), self._ask_approval, task)

    def cancel(self, task: int) -> None:
        try:
            self._on_loop(self._stop, task)
        except _ffi.CallbackError:
            # With the loop, its tasks are gone too.
            pass

    def _on_loop(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            if self.loop is None:
                raise RuntimeError("no event loop is known")
            self.loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError as error:
            failed: Any = getattr(_ffi.CallbackError, "Failed")
            raise failed(f"the app's event loop takes no more work: {error}") from None

    def _begin(self, task: int, work: Callable[[Any], Coroutine[Any, Any, None]], given: object) -> None:
        running = asyncio.get_running_loop().create_task(work(given), name=f"stepwell-{task}")
        self._running[task] = running
        running.add_done_callback(lambda _: self._running.pop(task, None))

    def _stop(self, task: int) -> None:
        if running := self._running.get(task):
            running.cancel()

    async def _run_tool(self, task: _ffi.ToolTask) -> None:
        invocation: ToolInvocation = lift(task.invocation())
        try:
            result = await self._tools[invocation.name].run(invocation.arguments)
            if isinstance(result, Parts):
                task.finish_parts(json.dumps(result))
            else:
                task.finish(result)
        except Deferred:
            task.defer()
        except ToolError as error:
            task.fail(_ffi.ToolFailureKind.ERROR, str(error))
        except asyncio.CancelledError:
            task.fail(_ffi.ToolFailureKind.CANCELLED, "the tool was cancelled")
            raise
        except Exception as error:
            logger.warning("the tool %r failed", invocation.name, exc_info=True)
            task.fail(_ffi.ToolFailureKind[ToolFailureKind.PANICKED.name], f"{type(error).__name__}: {error}")

    async def _ask_approval(self, task: _ffi.ApprovalTask) -> None:
        denied: Any = _ffi.Decision.DENIED
        if self._approver is None:
            task.decide(denied("this app has no way to ask the person"))
            return
        try:
            answer = self._approver(lift(task.invocation()))
            if inspect.isawaitable(answer):
                answer = await answer
        except asyncio.CancelledError:
            task.decide(denied("the question was cancelled"))
            raise
        except Exception:
            logger.warning("the person could not be asked", exc_info=True)
            task.decide(denied("the person could not be asked"))
            return
        made: Any = _ffi.Decision
        if isinstance(answer, Mapping):
            task.decide(made.EDITED(json.dumps(dict(answer), ensure_ascii=False, separators=(",", ":"))))
        else:
            task.decide(made.GRANTED() if answer is True else denied(answer or None))
