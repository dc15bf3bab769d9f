"""What is remembered between runs."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from ._ffi import stepwell_ffi as _ffi
from ._record import Json, lower
from ._types import Deps, Out
from .arguments import names_arguments
from .errors import BusyError, told, translates
from .media import Content, said
from .messages import Message, Transcript, history_of
from .options import RunOptions, Unpack, WhenBusy
from .process import OwnProcess
from .prompt import Prompt
from .replies import Replies
from .result import TurnResult
from .starting import Run, branch, send
from .stores import ThreadKey
from .sync import SyncTurn, run_sync
from .turn import Turn

if TYPE_CHECKING:
    from .agent import Agent
    from .events import Pending
    from .output import TypedOutput
    from .runner import TurnRunner
    from .sessions import SessionStore
    from .tools import Tool

T = TypeVar("T")
U = TypeVar("U")


@names_arguments
class Conversation(Replies, Generic[Deps, Out]):
    """A conversation of one user with an agent: what is said in it is in the history of its next turn::

        conversation = agent.conversation(f"{user}/{chat}")
        print((await conversation.send("My name is Ada.")).text)
        print((await conversation.send("What is my name?")).text)

    It has one turn at a time. What the turn waits for is listed by ``pending``, and ``approve``, ``deny``, ``answer`` and
    ``resolve_call`` take the replies: also if another process drives the turn that shares the store. If no process drives it
    any more, the turn continues in this one, so the event loop has to run until the turn has ended.

    Conversations with the same id share what was said, as long as one of them, or a turn, is
    held; with the last one it is released, and what a store has of it stays there.
    """

    def __init__(
        self,
        agent: Agent[Deps, Out],
        key: ThreadKey,
        store: SessionStore | None,
        history: Iterable[Message] | None,
        shared_state: Json,
        when_busy: WhenBusy | None,
        deps: Deps | None,
    ) -> None:
        self.agent = agent
        """The agent."""
        self._when_busy = when_busy
        self._deps = deps
        self._key = key
        self._store = store
        self._engine = agent._engine
        given = None if history is None else history_of(history)
        # The conversation is released with this object and the last turn.
        self._inner = self._opened(given, shared_state)
        self._process = OwnProcess("conversation")
        self._turn: weakref.ref[Turn[Any]] | None = None

    def __repr__(self) -> str:
        return f"Conversation({self.id!r})"

    @property
    def id(self) -> str:
        """The id: that of the thread."""
        return self._key.thread

    @property
    def key(self) -> ThreadKey:
        """The id, with the room and the server, for an app that has these."""
        return self._key

    @property
    def messages(self) -> Transcript:
        """The conversation as it was after the last turn of this process."""
        return Transcript.from_json(self._inner.messages())

    @property
    def shared_state(self) -> Json:
        """The state shared with an AG-UI agent, as it was after the last turn."""
        return self._inner.shared_state()

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

        If another turn of the conversation is under way, a ``BusyError`` is raised at once, unless ``when_busy`` says
        otherwise: ``"cancel"`` cancels the other turn, since the user has moved on; with ``"queue"`` the message waits for the
        end of that turn, and with ``"steer"`` it joins the turn, whose result is then the message's too.
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
        run = Run("Conversation.stream", prompt, parts, self._options(options))
        self._go_to(run)
        return self._noted(send(self, run))

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
        self._go_to(run)
        return self._noted(branch(self, parent, run))

    async def resend(self, turn: str, text: Content, *parts: Content, deps: Deps = None) -> Turn[Out]:  # type: ignore[assignment]
        """Sends another message instead of the one that a stored turn began with: a new branch of the conversation.

        The new turn continues the conversation before that turn, which stays. Needs a store.
        """
        definition = self._engine.definition
        there, runner = self._begin(definition.typed, (), deps)
        words, others = said("`text` of `Conversation.resend`", text, parts)
        begun = await told(there.resend(turn, words, parts=others))
        return self._noted(Turn(begun, runner, definition.typed, definition))

    async def load(self) -> Transcript:
        """Returns the conversation as the store has it.

        Use it for a conversation that this process has not sent on yet; from then on ``messages`` returns it too, as it
        does without a store.
        """
        there, _ = self._begin(None)
        return Transcript.from_json(await told(there.load()))

    def load_sync(self) -> Transcript:
        """Returns the conversation as ``load`` does, for programs without an event loop."""
        return run_sync(self.load)

    def pending_sync(self) -> list[Pending]:
        """As ``pending``, for programs without an event loop."""
        return run_sync(self.pending)

    def approve_sync(self, id: str, *, arguments: Mapping[str, Json] | None = None) -> None:
        """As ``approve``, for programs without an event loop."""
        run_sync(lambda: self.approve(id, arguments=arguments))

    def deny_sync(self, id: str, reason: str | None = None) -> None:
        """As ``deny``, for programs without an event loop."""
        run_sync(lambda: self.deny(id, reason))

    def answer_sync(self, id: str, value: Json) -> None:
        """As ``answer``, for programs without an event loop."""
        run_sync(lambda: self.answer(id, value))

    def resolve_call_sync(self, tool_call_id: str, result: object) -> None:
        """As ``resolve_call``, for programs without an event loop."""
        run_sync(lambda: self.resolve_call(tool_call_id, result))

    def cancel(self) -> None:
        """Cancels the turn under way, if there is one."""
        self._inner.cancel()

    async def delete(self) -> bool:
        """Cancels the turn under way, forgets what was said, and deletes the conversation from the store. Returns whether
        the store had it."""
        there, _ = self._begin(None)
        deleted: bool = await told(there.delete())
        self._inner = self._opened()
        return deleted

    def _replying(self) -> _ffi.Conversation:
        return self._begin(self._engine.definition.typed)[0]

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        if self._when_busy is not None and options.get("when_busy") is None:
            options["when_busy"] = self._when_busy
        return options

    def _opened(self, history: Sequence[dict[str, Json]] | None = None, shared_state: Json = None) -> _ffi.Conversation:
        agent = self._engine.agent(self._store)
        if not history and shared_state is None:
            return agent.conversation(lower(self._key))
        return translates(agent.conversation_with_history)(
            lower(self._key), list(history or ()), {} if shared_state is None else shared_state
        )

    def _begin(
        self, typed: TypedOutput | None, tools: Sequence[Tool[..., Any]] = (), deps: object = None
    ) -> tuple[_ffi.Conversation, TurnRunner]:
        """Returns the conversation for a call that begins now, and the code of the app that the call needs."""
        if not self._process.is_here():
            if self._store is not None:
                self._process.check()
            # In a forked process the conversation is made again, with what was said so far.
            self._inner = self._opened(self._inner.messages(), self._inner.shared_state())
            self._process = OwnProcess("conversation")
        agent, runner = self._engine.begin(typed, self._store, tools=tools, deps=self._deps if deps is None else deps)
        return agent.conversation(lower(self._key)), runner

    def _go_to(self, run: Run) -> None:
        """Continues the conversation with the run's model."""
        engine = self.agent._engine_of(run.model)
        if engine is self._engine:
            return
        turn = None if self._turn is None else self._turn()
        if turn is not None and turn._outcome is None:
            raise BusyError("another turn of the conversation is under way, with another model", "wait for the turn")
        self._engine = engine
        self._inner = self._opened(self._inner.messages(), self._inner.shared_state() or None)

    def _noted(self, turn: Turn[Any]) -> Turn[Any]:
        self._turn = weakref.ref(turn)
        return turn

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The conversation, for a notebook."""
        messages = self.messages
        if not messages:
            return {"text/plain": repr(self)}
        from .display import TurnCard

        return TurnCard.of_messages(messages)._repr_mimebundle_()
