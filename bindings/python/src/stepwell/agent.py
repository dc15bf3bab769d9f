"""An agent: a definition that all may share."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

from ._definition import Definition
from ._record import Json
from ._types import Deps, Out
from .arguments import as_json, names_arguments
from .errors import MisuseError
from .media import Content
from .model import Model
from .options import AgentKeywords, AgentOptions, RunOptions, Unpack, WhenBusy, checked
from .tools import Function, Tool

if TYPE_CHECKING:
    from ._engine import Engine
    from .conversation import Conversation
    from .messages import Message
    from .prompt import Prompt
    from .recovery import Recovered
    from .result import TurnResult
    from .sessions import SessionStore
    from .stores import Store, ThreadKey
    from .sync import SyncTurn
    from .turn import Turn

T = TypeVar("T")
U = TypeVar("U")
D = TypeVar("D")

Tools: TypeAlias = "Sequence[Tool[..., Any, D] | Function | partial[Any]]"
"""The tools of an agent with ``deps`` of this type."""

_MOST_MODELS = 16
"""How many other models an agent keeps its connections to."""


@names_arguments
class Agent(Generic[Deps, Out]):
    """A model, instructions, tools and settings::

        agent = Agent("openai:gpt-5-mini", tools=[get_weather])
        result = await agent.run("What is the weather in Bergen?")
        print(result.text)

    An agent is a definition: it does not change and remembers nothing, so one agent serves all users, threads and event
    loops. What a user says and is answered is in a ``conversation``. Without an event loop, in a script or a notebook
    cell, write ``agent.run_sync("…").text``.

    The network runs on Stepwell's own threads. Tools and the approver run on the event loop that ``run`` was called on,
    in parallel where the model asks for several; a plain tool runs in its own thread, a plain approver on the loop,
    which waits for it.

    ``output_type`` is the type of the answers: a dataclass, a TypedDict, a Pydantic model, a list of them. A tuple of two
    types is an answer of either, as ``Trip | str`` is, and type checkers see it too. A ``stepwell.settings.OutputType``
    is a JSON Schema. ``deps_type`` is the type of the app's own value that each run gives its tools: a tool with a
    ``ToolContext`` of another type is refused, by type checkers too. ``tools`` are functions that the model may ask for; see ``tool``.
    The other options are those of ``stepwell.settings.AgentOptions``.
    """

    @overload
    def __init__(
        self: Agent[None, str], model: Model | str, *, tools: Tools[None] = ..., **options: Unpack[AgentOptions]
    ) -> None: ...

    @overload
    def __init__(
        self: Agent[None, T],
        model: Model | str,
        *,
        output_type: type[T],
        tools: Tools[None] = ...,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: Agent[None, T | U],
        model: Model | str,
        *,
        output_type: tuple[type[T], type[U]],
        tools: Tools[None] = ...,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: Agent[D, str],
        model: Model | str,
        *,
        deps_type: type[D],
        tools: Tools[D] = ...,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: Agent[D, T],
        model: Model | str,
        *,
        output_type: type[T],
        deps_type: type[D],
        tools: Tools[D] = ...,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: Agent[D, T | U],
        model: Model | str,
        *,
        output_type: tuple[type[T], type[U]],
        deps_type: type[D],
        tools: Tools[D] = ...,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self: Agent[None, Out],
        model: Model | str,
        *,
        output_type: Any,
        tools: Tools[None] = ...,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self,
        model: Model | str,
        *,
        output_type: Any = ...,
        deps_type: type[Deps],
        tools: Tools[Deps] = ...,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    @overload
    def __init__(
        self,
        model: Model | str,
        *,
        output_type: Any = ...,
        deps_type: UnionType,
        tools: Tools[Any] = ...,
        **options: Unpack[AgentOptions],
    ) -> None: ...

    def __init__(self, model: Model | str, *, output_type: Any = None, deps_type: Any = None, **options: Any) -> None:
        """Defines an agent. Nothing is sent, and no connection is made."""
        given = checked("`Agent`", AgentKeywords, options)
        self._define(Definition(Model.of(model), output_type, deps_type, given))

    def _define(self, definition: Definition) -> None:
        self._definition = definition
        self._lock = threading.RLock()
        self._made: Engine | None = None
        self._models: OrderedDict[Model, Agent[Any, Any]] = OrderedDict()

    def __repr__(self) -> str:
        return f"Agent({str(self.model)!r}, tools={[tool.name for tool in self.tools]!r})"

    @property
    def model(self) -> Model:
        """The model."""
        return self._definition.model

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """The tools on offer."""
        return self._definition.tools

    @property
    def store(self) -> SessionStore | None:
        """The store of the conversations that have no store of their own."""
        return self._definition.store

    def with_model(self, model: Model | str) -> Agent[Deps, Out]:
        """Returns the same agent with another model."""
        other: Agent[Deps, Out] = object.__new__(type(self))
        other._define(self._definition.with_model(Model.of(model)))
        return other

    @overload
    async def run(
        self, prompt: Prompt, *parts: Content, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[Out]: ...

    @overload
    async def run(
        self, prompt: Prompt, *parts: Content, output_type: type[T], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[T]: ...

    @overload
    async def run(
        self, prompt: Prompt, *parts: Content, output_type: tuple[type[T], type[U]], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[T | U]: ...

    @overload
    async def run(
        self, prompt: Prompt, *parts: Content, output_type: Any, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[Any]: ...

    async def run(self, prompt: Prompt, *parts: Content, **options: Any) -> TurnResult[Any]:
        """Runs one turn, which nothing is remembered of, and returns its result; raises a ``StepwellError`` if there is no
        complete answer.

        The prompt is a text, or texts and media in order: ``await agent.run("What is this?", image("shark.png"))``. With
        an ``output_type`` the result's ``output`` is a value of that type, instead of the agent's; an answer that does
        not fit the type goes back to the model with the reason. ``deps`` is the app's own value for tools and
        instructions of this run. The other options override the agent's for this run: ``temperature=0``,
        ``instructions="Be brief."`` and all others of ``stepwell.settings.RunOptions``. Nobody could answer what the run
        waits for: without an ``approver`` a tool that needs approval is denied, and without an ``answerer`` the question of
        a tool is declined.
        """
        return await self._start("Agent.run", prompt, parts, options, is_answerable=False).result()

    @overload
    def run_sync(
        self, prompt: Prompt, *parts: Content, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[Out]: ...

    @overload
    def run_sync(
        self, prompt: Prompt, *parts: Content, output_type: type[T], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[T]: ...

    @overload
    def run_sync(
        self, prompt: Prompt, *parts: Content, output_type: tuple[type[T], type[U]], deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[T | U]: ...

    @overload
    def run_sync(
        self, prompt: Prompt, *parts: Content, output_type: Any, deps: Deps = ..., **options: Unpack[RunOptions]
    ) -> TurnResult[Any]: ...

    def run_sync(self, prompt: Prompt, *parts: Content, **options: Any) -> TurnResult[Any]:
        """Runs a turn as ``run`` does, for programs without an event loop, and for notebooks::

            trip = agent.run_sync("Three days in Norway", output_type=Trip).output
        """
        from .sync import run_sync

        return run_sync(lambda: self.run(prompt, *parts, **options))

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
        """Runs a turn as ``run`` does, and returns it while it is under way, to take updates from. Call it where an event
        loop runs."""
        return self._start("Agent.stream", prompt, parts, options, is_answerable=True)

    def _start(
        self, called: str, prompt: Prompt, parts: Sequence[Content], options: dict[str, Any], *, is_answerable: bool
    ) -> Turn[Any]:
        from .starting import Run, start

        run = Run(called, prompt, parts, options)
        return start(self._engine_of(run.model), run, is_answerable=is_answerable)

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
        """Runs a turn as ``stream`` does, for a plain ``for`` loop: also where an event loop runs, as it does in a
        notebook.

        The caller's thread waits, so async code should use ``stream`` instead.
        """
        from .sync import SyncTurn

        return SyncTurn(lambda: self.stream(prompt, *parts, **options))

    def conversation(
        self,
        id: ThreadKey | str | None = None,
        *,
        history: Iterable[Message] | None = None,
        store: SessionStore | Store | None = None,
        shared_state: Json = None,
        when_busy: WhenBusy | None = None,
        deps: Deps | None = None,
    ) -> Conversation[Deps, Out]:
        """Returns the conversation with this id, or a new one; each user and each conversation needs one.

        Args:
            id: The id, or a ``ThreadKey`` with a room for each user; a random one if left out. Whoever has the id of
                another user's conversation has the conversation, so make the user a part of the key.
            history: Earlier messages, which a new conversation begins with.
            store: Where the turns are kept, instead of the agent's own store. A conversation that the store has
                continues from there.
            shared_state: The state shared with an AG-UI agent, which a new conversation begins with.
            when_busy: What happens to a message while a turn is under way, instead of what the agent does.
            deps: The app's own value for the tools of turns that are given none: also of a turn that continues here after the
                process that drove it has gone.
        """
        from .conversation import Conversation
        from .sessions import session_store_of
        from .stores import random_key, thread_key

        if shared_state is not None:
            as_json("`shared_state` of `Agent.conversation`", shared_state)
        key = random_key() if id is None else thread_key(id)
        kept = self.store if store is None else session_store_of(store)
        return Conversation(self, key, kept, history, shared_state, when_busy, deps)

    def revive(
        self,
        snapshot: str,
        *,
        server: str = "",
        room: str = "",
        store: SessionStore | Store | None = None,
        deps: Deps | None = None,
    ) -> Turn[Out]:
        """Continues a stored turn in its own conversation, from what ``Turn.rested`` or ``Turn.suspend`` returned, in this
        process or a later one.

        The result of a deferred call is then passed to ``Turn.resolve_call``; the user is asked again for each answer
        that is missing. The conversation is in ``room`` of ``server``, and in the agent's store if no other is given. Call
        it where an event loop runs.
        """
        from .recovery import revived
        from .sessions import session_store_of

        kept = self.store if store is None else session_store_of(store)
        return revived(self._engine, kept, snapshot, server, room, deps)

    def revive_sync(
        self,
        snapshot: str,
        *,
        server: str = "",
        room: str = "",
        store: SessionStore | Store | None = None,
        deps: Deps | None = None,
    ) -> SyncTurn[Out]:
        """Continues a stored turn as ``revive`` does, for a plain ``for`` loop."""
        from .sync import SyncTurn

        return SyncTurn(lambda: self.revive(snapshot, server=server, room=room, store=store, deps=deps))

    async def recover(
        self,
        *,
        store: SessionStore | Store | None = None,
        deps: Deps | None = None,
    ) -> Sequence[Recovered[Out]]:
        """Revives every unfinished turn of the store that no process drives any more, each in its own conversation.

        They are turns that a dead process left, and turns that were suspended. Call it when the app starts, and as
        often as needed after that; turns that are under way are left alone. ``deps`` is the app's own value for the tools of all
        of them.
        """
        from .recovery import recovered
        from .sessions import session_store_of

        return await recovered(self._engine, self.store if store is None else session_store_of(store), deps)

    @property
    def _engine(self) -> Engine:
        """The library's agent, which is made with the first run or conversation."""
        from ._engine import Engine

        with self._lock:
            if self._made is None:
                self._made = Engine(self._definition)
            return self._made

    def _engine_of(self, model: Model | None) -> Engine:
        """Returns the library's agent for a run with this model; ``None`` is the agent's."""
        return self._engine if model is None or model == self.model else self._of_model(model)._engine

    def _of_model(self, model: Model) -> Agent[Deps, Out]:
        with self._lock:
            other = self._models.pop(model, None) or self.with_model(model)
            self._models[model] = other
            if len(self._models) > _MOST_MODELS:
                self._models.popitem(last=False)
            return other

    def __copy__(self) -> Agent[Deps, Out]:
        return self

    def __deepcopy__(self, memo: object) -> Agent[Deps, Out]:
        return self

    def __reduce__(self) -> Any:
        raise MisuseError(
            "an Agent belongs to this process: it cannot be pickled", "make another one, in the process that is to have it"
        )
