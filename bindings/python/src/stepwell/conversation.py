"""What is remembered between runs."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from ._engine import Engine, Thread, random_key
from ._record import Json
from ._types import Deps, Out
from .arguments import names_arguments
from .errors import BusyError, told, translates
from .media import Content, said
from .messages import Message, Transcript, history_of
from .options import RunOptions, Unpack
from .prompt import Prompt
from .result import TurnResult
from .starting import Run, begin
from .stores import ThreadKey
from .sync import SyncTurn, run_sync
from .turn import Turn

if TYPE_CHECKING:
    from .agent import Agent

T = TypeVar("T")
U = TypeVar("U")


@names_arguments
class Conversation(Generic[Deps, Out]):
    """A conversation of one user with an agent: what is said in it is in the history of its next turn::

        conversation = agent.conversation(f"{user}/{chat}")
        print((await conversation.send("My name is Ada.")).text)
        print((await conversation.send("What is my name?")).text)

    It has one turn at a time. Conversations with the same id share what was said, as long as one of them, or a turn, is
    held; with the last one it is released, and what a store has of it stays there.
    """

    def __init__(
        self,
        agent: Agent[Deps, Out],
        engine: Engine,
        key: ThreadKey | None,
        history: Iterable[Message] | None,
        shared_state: Json,
        when_busy: Literal["fail", "cancel"] | None,
    ) -> None:
        self.agent = agent
        """The agent."""
        self._when_busy = when_busy
        given = None if history is None else history_of(history)
        self._thread = Thread(engine, random_key() if key is None else key, given, shared_state)
        self._turn: weakref.ref[Turn[Any]] | None = None

    def __repr__(self) -> str:
        return f"Conversation({self.id!r})"

    @property
    def id(self) -> str:
        """The id: that of the thread."""
        return self._thread.key.thread

    @property
    def key(self) -> ThreadKey:
        """The id, with the room and the server, for an app that has these."""
        return self._thread.key

    @property
    def messages(self) -> Transcript:
        """The conversation as it was after the last turn of this process."""
        return Transcript.from_json(self._thread.last_known.messages())

    @property
    def shared_state(self) -> Json:
        """The state shared with an AG-UI agent, as it was after the last turn."""
        return self._thread.last_known.shared_state()

    @overload
    async def send(
        self, prompt: Prompt, *parts: Content, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[Out]: ...

    @overload
    async def send(
        self, prompt: Prompt, *parts: Content, output_type: type[T], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[T]: ...

    @overload
    async def send(
        self, prompt: Prompt, *parts: Content, output_type: tuple[type[T], type[U]], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[T | U]: ...

    @overload
    async def send(
        self, prompt: Prompt, *parts: Content, output_type: Any, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[Any]: ...

    async def send(self, prompt: Prompt, *parts: Content, **options: Any) -> TurnResult[Any]:
        """Sends a message, and waits for the end of the turn: see ``Agent.run`` for the options.

        If another turn of the conversation is under way, a ``BusyError`` is raised at once, unless ``when_busy`` is
        ``"cancel"``: then the other turn is cancelled, since the user has moved on.
        """
        return await self.stream(prompt, *parts, **options).result()

    @overload
    def send_sync(
        self, prompt: Prompt, *parts: Content, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[Out]: ...

    @overload
    def send_sync(
        self, prompt: Prompt, *parts: Content, output_type: type[T], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[T]: ...

    @overload
    def send_sync(
        self, prompt: Prompt, *parts: Content, output_type: tuple[type[T], type[U]], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[T | U]: ...

    @overload
    def send_sync(
        self, prompt: Prompt, *parts: Content, output_type: Any, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[Any]: ...

    def send_sync(self, prompt: Prompt, *parts: Content, **options: Any) -> TurnResult[Any]:
        """Sends a message as ``send`` does, for programs without an event loop, and for notebooks."""
        return self.stream_sync(prompt, *parts, **options).result()

    @overload
    def stream(self, prompt: Prompt, *parts: Content, deps: Deps = ..., **options: Unpack[RunOptions]) -> Turn[Out]: ...

    @overload
    def stream(
        self, prompt: Prompt, *parts: Content, output_type: type[T], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> Turn[T]: ...

    @overload
    def stream(
        self, prompt: Prompt, *parts: Content, output_type: tuple[type[T], type[U]], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> Turn[T | U]: ...

    @overload
    def stream(
        self, prompt: Prompt, *parts: Content, output_type: Any, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> Turn[Any]: ...

    def stream(self, prompt: Prompt, *parts: Content, **options: Any) -> Turn[Any]:
        """Sends a message as ``send`` does, and returns the turn, to take updates from. Call it where an event loop
        runs."""
        return self._begin(Run("Conversation.stream", prompt, parts, self._options(options)))

    @overload
    def stream_sync(
        self, prompt: Prompt, *parts: Content, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> SyncTurn[Out]: ...

    @overload
    def stream_sync(
        self, prompt: Prompt, *parts: Content, output_type: type[T], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> SyncTurn[T]: ...

    @overload
    def stream_sync(
        self, prompt: Prompt, *parts: Content, output_type: tuple[type[T], type[U]], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> SyncTurn[T | U]: ...

    @overload
    def stream_sync(
        self, prompt: Prompt, *parts: Content, output_type: Any, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> SyncTurn[Any]: ...

    def stream_sync(self, prompt: Prompt, *parts: Content, **options: Any) -> SyncTurn[Any]:
        """Sends a message as ``stream`` does, for a plain ``for`` loop.

        The caller's thread waits, so async code should use ``stream`` instead.
        """
        return SyncTurn(lambda: self.stream(prompt, *parts, **options))

    def branch(
        self, parent: str | None, prompt: Prompt, *parts: Content, deps: Deps = None, **options: Unpack[RunOptions]  # type: ignore[assignment]
    ) -> Turn[Out]:
        """Starts a turn as ``stream`` does, not after the last turn but after the turn ``parent``, or as a first one.

        The turns that followed ``parent`` before stay in the store as another branch. Needs a store.
        """
        run = Run("Conversation.branch", prompt, parts, self._options({"deps": deps, **options}))
        return self._begin(run, is_branch=True, parent=parent)

    async def resend(self, turn: str, text: Content, *parts: Content, deps: Deps = None) -> Turn[Out]:  # type: ignore[assignment]
        """Sends another message instead of the one that a stored turn began with: a new branch of the conversation.

        The new turn continues the conversation before that turn, which stays. Needs a store.
        """
        thread = self._thread
        typed = thread.engine.definition.typed
        agent, runner = thread.engine.begin(thread.handle, typed, deps=deps)
        words, others = said("`text` of `Conversation.resend`", text, parts)
        return self._noted(Turn(await told(agent.resend(turn, words, others)), runner, typed, thread))

    def revive(self, snapshot: str, *, deps: Deps = None) -> Turn[Out]:  # type: ignore[assignment]
        """Continues a stored turn of this conversation, from what ``Turn.rested`` or ``Turn.suspend`` returned, in this
        process or a later one.

        The result of a deferred call is then passed to ``Turn.resolve_call``; the user is asked again for each answer
        that is missing. Call it where an event loop runs.
        """
        thread = self._thread
        typed = thread.engine.definition.typed
        agent, runner = thread.engine.begin(thread.handle, typed, deps=deps)
        return self._noted(Turn(translates(agent.revive)(snapshot), runner, typed, thread))

    def revive_sync(self, snapshot: str, *, deps: Deps = None) -> SyncTurn[Out]:  # type: ignore[assignment]
        """Continues a stored turn as ``revive`` does, for a plain ``for`` loop."""
        return SyncTurn(lambda: self.revive(snapshot, deps=deps))

    async def load(self) -> Transcript:
        """Returns the conversation as the store has it.

        Use it for a conversation that this process has not sent on yet; from then on ``messages`` returns it too, as it
        does without a store.
        """
        handle, _ = self._thread.engine.begin(self._thread.handle, None)
        return Transcript.from_json(await told(handle.load()))

    def load_sync(self) -> Transcript:
        """Returns the conversation as ``load`` does, for programs without an event loop."""
        return run_sync(self.load)

    def cancel(self) -> None:
        """Cancels the turn under way, if there is one."""
        self._thread.last_known.cancel()

    async def delete(self) -> bool:
        """Cancels the turn under way, forgets what was said, and deletes the conversation from the store. Returns whether
        the store had it."""
        thread = self._thread
        deleted = await thread.delete()
        self._thread = Thread(thread.engine, thread.key)
        return deleted

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        if self._when_busy is not None and options.get("when_busy") is None:
            options["when_busy"] = self._when_busy
        return options

    def _begin(self, run: Run, *, is_branch: bool = False, parent: str | None = None) -> Turn[Any]:
        self._go_to(self.agent._engine_of(self._thread.engine.given_store, run.model))
        return self._noted(begin(self._thread, run, is_branch=is_branch, parent=parent))

    def _go_to(self, engine: Engine) -> None:
        """Continues the conversation with another model."""
        thread = self._thread
        if engine is thread.engine:
            return
        turn = None if self._turn is None else self._turn()
        if turn is not None and turn._outcome is None:
            raise BusyError("another turn of the conversation is under way, with another model", "wait for the turn")
        state = thread.handle.shared_state()
        self._thread = Thread(engine, thread.key, thread.handle.messages(), state or None)

    def _noted(self, turn: Turn[Any]) -> Turn[Any]:
        self._turn = weakref.ref(turn)
        return turn

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The conversation, for a notebook."""
        messages = self.messages.to_json()
        if not messages:
            return {"text/plain": repr(self)}
        from .display import TurnCard

        return TurnCard.of_messages(messages)._repr_mimebundle_()
