"""The API that does the network IO itself."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._ffi.agent import AgentOptions
from ._record import Json, Record, lift, lower, record
from .arguments import as_json, names_arguments
from .config import RunConfig
from .display import TurnCard
from .errors import ConfigurationError, MisuseError, told, translates
from .events import Event
from .hooks import Hook, spec_of
from .journals import JournalSink, Sink
from .machine import lower_start
from .media import Content, said
from .options import TurnOptions, Unpack, lower_options
from .outcomes import Finished
from .output import TypedOutput
from .process import OwnProcess
from .registry import RegistryEvent, RunRegistry
from .runner import Answerer as Answerer
from .runner import Approver as Approver
from .runner import CredentialSource as CredentialSource
from .runner import Decision as Decision
from .runner import InstructionsSource as InstructionsSource
from .runner import OutputDecoder as OutputDecoder
from .runner import RunSource as RunSource
from .runner import Trimmer as Trimmer
from .runner import TurnRunner
from .sessions import SessionStore
from .stores import Store, ThreadKey, TurnKey, thread_key
from .sync import SyncTurn
from .tool_bugs import ToolErrors
from .tools import Tool
from .transport import HttpClient
from .turn import Turn

logger = logging.getLogger("stepwell")


@names_arguments
class Agent(AgentOptions):
    """A conversation with a model and the app's tools::

        agent = Agent(provider="openai", model="gpt-4o-mini", key=key, tools=[get_weather])
        async for event in agent.send("What is the weather in Bergen?"):
            ...

    The network runs on Stepwell's own threads. Tools and the approver run on the event loop that ``send`` was called
    on, in parallel where the model asks for several; a plain tool runs in its own thread, a plain approver on the loop,
    which waits for it.

    Without an event loop, in a script or a notebook cell: ``agent.run_sync("…").text``, or ``for event in
    agent.send_sync("…")``.
    """

    def _set_up(
        self,
        config: RunConfig,
        *,
        approver: Approver | None,
        answerer: Answerer | None,
        deps: Any,
        thread_id: str | None,
        history: Sequence[Mapping[str, Json]],
        shared_state: Json,
        store: SessionStore | Store | None,
        wait_for_store: bool,
        journal: JournalSink | None,
        client: HttpClient | None,
        run_source: RunSource | None,
        trim_context: Trimmer | None,
        output_type: Any,
        output_decoder: OutputDecoder | None,
        credentials: CredentialSource | None,
        hooks: Sequence[Hook],
        instructions_from: InstructionsSource | None,
        registry: RunRegistry | None,
        tool_errors: ToolErrors,
    ) -> None:
        if config.context_guard.at_limit == "trim" and trim_context is None:
            raise ConfigurationError(
                "the agent has no code that says what to leave out of a full context",
                "give it a `trim_context`, or take another policy",
            )
        self._typed: TypedOutput | None = None
        if output_type is not None:
            if config.output is not None or output_decoder is not None:
                raise ConfigurationError(
                    "the agent has an `output_type`, and an `output` or an `output_decoder` beside it", "leave one out"
                )
            self._typed = TypedOutput(output_type)
            if not self._typed.is_text:
                config = dataclasses.replace(config, output=self._typed.asked)
                output_decoder = self._typed.read
        if config.output is not None and config.output.decoded_by_host and output_decoder is None:
            raise ConfigurationError(
                "the agent has no code that decodes its typed answers",
                "give it an `output_decoder`, or leave `decoded_by_host` out",
            )
        lowered = config.lower()
        if lowered.output is not None and output_decoder is not None:
            lowered.output.decoded_by_host = True
        if run_source is not None:
            lowered.run_ids = _ffi.RunIds.HOST
        if trim_context is not None:
            lowered.context_guard.at_limit = _ffi.ContextPolicy.TRIM
        self._answers_in_text = config.output is None
        self._tool_errors = tool_errors
        self._base_url = config.base_url
        self._approver = approver
        self._answerer = answerer
        self._deps = deps
        self._client = client
        self._run_source = run_source
        if credentials is not None:
            lowered.credentials = _ffi.Credentials.HOST
        lowered.hooks = [spec_of(hook) for hook in hooks]
        if len({hook.name for hook in lowered.hooks}) < len(hooks):
            raise ConfigurationError("two hooks have one name", "give each a `name` of its own")
        self._trimmer = trim_context
        self._decoder = None if self._typed else output_decoder
        self._credentials = credentials
        self._instructions = instructions_from
        self._hooks = tuple(hooks)
        self.store: SessionStore | None = SessionStore(store) if isinstance(store, Store) else store
        """The store of its turns."""
        setup = _ffi.AgentSetup(
            thread_id=thread_id,
            history=list(history),
            shared_state=as_json("`shared_state` of `Agent`", {} if shared_state is None else shared_state),
            store=None if self.store is None else _ffi.StoreSetup(store=self.store.inner, waits=wait_for_store),
            journal=journal and Sink(journal),
            registry=None if registry is None else registry.inner,
        )
        self._base = _Base(lowered, setup)
        self._process = OwnProcess("agent")
        self._agent = self._base.agent()

    def __repr__(self) -> str:
        return f"Agent(thread_id={self.thread_id!r}, tools={[tool.name for tool in self.tools]!r})"

    def send(
        self, text: Content, *parts: Content, output_type: Any = None, **options: Unpack[TurnOptions]
    ) -> Turn:
        """Sends a message to the model. If another turn of the thread is under way, the turn fails at once with
        ``BusyError``.

        Each user and each conversation needs a thread, ``agent.thread(id)``. In an app with one user
        ``when_busy="cancel"`` cancels the turn under way, since the user has moved on; ``Agent`` takes it too.

        The message is a text, or texts and media in order: ``agent.send("What is this?", image("shark.png"))``.

        With an ``output_type`` the answer is a value of that type, instead of the agent's: ``Finished.output``. An
        answer that does not fit the type goes back to the model with the reason. With ``str | Trip`` the model may also
        answer in plain text: to ask for what is missing, say. The options override the agent's for this turn:
        ``agent.send("…", instructions="Be brief.")``. Call it where an event loop runs.
        """
        lowered, tools = lower_options(options)
        words, others = said("`text` of `Agent.send`", text, parts)
        return self._begin(
            lambda agent: agent.start_turn(words, lowered, parts=others), self._type_of(options, output_type), tools
        )

    def start(
        self,
        text: str | None = None,
        *,
        run_id: str | None = None,
        parent_run_id: str | None = None,
        parts: Sequence[Content] = (),
        message: Mapping[str, Json] | None = None,
        resume: Mapping[str, Json] | None = None,
        **options: Unpack[TurnOptions],
    ) -> Turn:
        """Starts a turn as ``send`` does, with ids that the app makes, or with an AG-UI message.

        With neither text nor message the turn continues from a history whose last message the model should answer.
        ``resume`` answers the interrupts that an earlier turn ended with, by their ids; ``None`` dismisses one.
        """
        lowered, tools = lower_options(options)
        start = lower_start("Agent.start", text, run_id, parent_run_id, message, resume, lowered, parts)
        return self._begin(lambda agent: agent.start(start), self._type_of(options), tools)

    def branch(
        self,
        parent: str | None,
        text: str | None = None,
        *,
        run_id: str | None = None,
        parent_run_id: str | None = None,
        parts: Sequence[Content] = (),
        message: Mapping[str, Json] | None = None,
        **options: Unpack[TurnOptions],
    ) -> Turn:
        """Starts a turn as ``start`` does, not after the thread's last turn but after ``parent``, or as a first one.

        The turn continues the conversation as of ``parent``, and the turns that followed ``parent`` before stay in the
        store as another branch. Needs an agent with a store.
        """
        lowered, tools = lower_options(options)
        start = lower_start("Agent.branch", text, run_id, parent_run_id, message, None, lowered, parts)
        return self._begin(lambda agent: agent.branch(parent, start), self._type_of(options), tools)

    def send_sync(
        self, text: Content, *parts: Content, output_type: Any = None, **options: Unpack[TurnOptions]
    ) -> SyncTurn:
        """Sends a message as ``send`` does, for a plain ``for`` loop: also where an event loop runs, as it does in a
        notebook.

        The caller's thread waits, so async code should await ``send`` instead.
        """
        return SyncTurn(lambda: self.send(text, *parts, output_type=output_type, **options))

    def run_sync(
        self,
        text: Content,
        *parts: Content,
        output_type: Any = None,
        raise_on_error: bool = True,
        **options: Unpack[TurnOptions],
    ) -> Finished:
        """Sends a message to the model and waits for the end of the turn; see ``send_sync``.

        With an ``output_type`` the answer is a value of that type; see ``send``::

            trip = agent.run_sync("Three days in Norway", output_type=Trip).output

        Raises a ``TurnError`` if the answer is incomplete, unless ``raise_on_error`` is ``False``.
        """
        finished = self.send_sync(text, *parts, output_type=output_type, **options).finish()
        return finished.raise_for_failure() if raise_on_error else finished

    def revive_sync(self, snapshot: str) -> SyncTurn:
        """Continues a stored turn as ``revive`` does, for a plain ``for`` loop."""
        return SyncTurn(lambda: self.revive(snapshot))

    def revive(self, snapshot: str) -> Turn:
        """Continues a stored turn, from what ``Turn.rested`` or ``Turn.suspend`` returned, in this process or a later
        one.

        The result of a deferred call is then passed to ``Turn.finish_call``; the user is asked again for each answer
        that is missing. Call it where an event loop runs.
        """
        return self._begin(lambda agent: agent.revive(snapshot), self._typed)

    async def recover(self) -> list[Recovered]:
        """Revives every unfinished turn of the store that no process drives any more, each on its own thread.

        They are turns that a dead process left, and turns that were suspended. Call it when the app starts, and as
        often as needed after that; turns that are under way are left alone.
        """
        agent, runner = self._here(self._typed)
        runner.is_shared = True
        recovered = await told(agent.recover())
        turns = [
            None if found.turn is None else Turn(found.turn, runner, self._typed, of=found.key.turn) for found in recovered
        ]
        return [Recovered(lift(found.key), turn, found.error) for found, turn in zip(recovered, turns)]

    async def resend(self, turn: str, text: Content, *parts: Content) -> Turn:
        """Sends another message instead of the one that a stored turn began with: a new branch of the thread.

        The new turn continues the conversation before that turn, which stays. Needs an agent with a store.
        """
        agent, runner = self._here(self._typed)
        words, others = said("`text` of `Agent.resend`", text, parts)
        return Turn(await told(agent.resend(turn, words, others)), runner, self._typed)

    def thread(self, thread: ThreadKey | str) -> Agent:
        """Returns the conversation with this key, or a new one, with the same model, tools and store."""
        return self._on(self._here_agent().thread(lower(thread_key(thread))))

    def thread_with_history(
        self, thread: ThreadKey | str, history: Sequence[Mapping[str, Json]], *, shared_state: Json = None
    ) -> Agent:
        """Returns the conversation as ``thread`` does; a new one begins with an earlier conversation: AG-UI messages,
        oldest first."""
        state = as_json("`shared_state` of `Agent`", {} if shared_state is None else shared_state)
        begun = translates(self._here_agent().thread_with_history)
        return self._on(begun(lower(thread_key(thread)), list(history), state))

    def _on(self, agent: _ffi.Agent) -> Agent:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._agent = agent
        return other

    def _here_agent(self) -> _ffi.Agent:
        """Returns the library's agent in this process: in a forked one it is made again, with the conversation so
        far."""
        if not self._process.is_here():
            if self.store is not None:
                self._process.check()
            process = OwnProcess("agent")
            self._agent = self._base.goes_on(self._agent)
            self._process = process
        return self._agent

    def with_deps(self, deps: object) -> Agent:
        """Returns the same conversations, whose turns' tools get this value as ``ToolContext.deps``."""
        other = self._on(self._here_agent())
        other._deps = deps
        return other

    def forget_thread(self, thread: ThreadKey | str) -> None:
        """Cancels the thread's turn, and forgets its conversation: what a store has of the thread stays there.

        Stop using an agent of the thread that is still held.
        """
        self._here_agent().forget_thread(lower(thread_key(thread)))

    async def delete_thread(self, thread: ThreadKey | str) -> bool:
        """Cancels the thread's turn, forgets its conversation, and deletes the thread from the store. Returns whether
        the store had it."""
        agent, _ = self._here(self._typed)
        return await told(agent.delete_thread(lower(thread_key(thread))))

    def _begin(
        self,
        begin: Callable[[_ffi.Agent], _ffi.Turn],
        typed: TypedOutput | None,
        tools: tuple[Tool[..., Any], ...] = (),
    ) -> Turn:
        agent, runner = self._here(typed, tools)
        return Turn(translates(begin)(agent), runner, typed)

    def _type_of(self, options: TurnOptions, output_type: Any = None) -> TypedOutput | None:
        """Returns the type of a turn's answer; none if the options have an `output`."""
        if options.get("output") is None:
            return self._typed if output_type is None else TypedOutput(output_type)
        if output_type is not None:
            raise ConfigurationError("the turn has an `output_type`, and an `output` beside it", "leave one out")
        return None

    def _here(
        self, typed: TypedOutput | None, tools: tuple[Tool[..., Any], ...] = ()
    ) -> tuple[_ffi.Agent, TurnRunner]:
        """Returns the agent for a turn that begins now: its tools, approvals and the calls of an app's store run on the
        current event loop."""
        own = self._here_agent()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise MisuseError(
                "no event loop of asyncio runs here", "call it in a coroutine, or take `send_sync`, `run_sync` or `revive_sync`"
            ) from None
        runner = TurnRunner(
            loop,
            (*self.tools, *tools),
            self._approver,
            self._answerer,
            self._deps,
            self._client,
            self._run_source,
            self._trimmer,
            self._decoder if typed is None else typed.read,
            self._credentials,
            self._instructions,
            self._hooks,
            self._tool_errors,
            self._base_url,
        )
        of_type = own
        if typed is not None and typed is not self._typed and not (typed.is_text and self._answers_in_text):
            of_type = translates(of_type.with_output)(typed.asked.lower(), None)
        store = self.store and self.store.on(loop)
        agent = of_type.with_runner(runner, store, self._client is not None, self._instructions is not None)
        return agent, runner

    async def send_to_listener(
        self, text: Content, listener: Callable[[Event], object], **options: Unpack[TurnOptions]
    ) -> Finished:
        """Sends a message to the model, calls the listener with each event, and returns the turn however it ended.

        An exception of the listener is logged and otherwise ignored: the turn continues.
        """
        turn = self.send(text, **options)
        async for event in turn.events(raise_on_error=False):
            try:
                listener(event)
            except Exception:
                logger.exception("the listener failed at an event %s", type(event).__name__)
        return await turn.finish()

    async def load(self) -> list[dict[str, Json]]:
        """Returns the thread's conversation as the store has it: AG-UI messages, oldest first.

        Use it for a thread that this process has not sent on yet; from then on ``messages`` returns the conversation
        too, as it does without a store.
        """
        messages: list[dict[str, Json]] = await told(self._here(self._typed)[0].load())
        return messages

    def cancel(self) -> None:
        """Cancels the turn under way, if there is one."""
        self._agent.cancel()

    def entered_background(self) -> None:
        """Reports that the app goes to the background; see ``DevicePolicy``.

        Like the following three calls, this one applies to the turn under way and to later turns.
        """
        self._agent.entered_background()

    def entered_foreground(self) -> None:
        """Reports that the app is in the foreground again."""
        self._agent.entered_foreground()

    def network_lost(self) -> None:
        """Reports that the network is gone."""
        self._agent.network_lost()

    def network_available(self) -> None:
        """Reports that there is a network, or that another one replaced it."""
        self._agent.network_available()

    @property
    def registry(self) -> RunRegistry:
        """Which threads have a turn under way, what the user looks at, and what is unread.

        The registry is that of this agent and of those that ``thread`` returned. Its runs are the agent's turns: only
        the agent should register, complete and remove them.
        """
        return RunRegistry.of(self._agent.registry())

    async def next_registry_event(self) -> RegistryEvent:
        """Waits for the next event of the turns of all threads: a turn began, continued with another hop, or ended.

        A thread that becomes unread is an event too. Each event goes to one caller only: of this method, or of
        ``registry.take_events``.
        """
        event: RegistryEvent = lift(await told(self._here(self._typed)[0].next_registry_event()))
        return event

    @property
    def thread_id(self) -> str:
        """The conversation's id."""
        return self._agent.thread_id()

    @property
    def thread_key(self) -> ThreadKey:
        """The conversation's id, with its room and server."""
        key: ThreadKey = lift(self._agent.thread_key())
        return key

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The conversation as it was after the last turn: AG-UI messages, oldest first."""
        messages: list[dict[str, Json]] = self._agent.messages()
        return messages

    @property
    def shared_state(self) -> Json:
        """The state shared with an AG-UI agent, as it was after the last turn."""
        return self._agent.shared_state()

    @property
    def text(self) -> str:
        """All that the model said since the user's last message."""
        return self._agent.text()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The conversation, for a notebook."""
        if not self.messages:
            return {"text/plain": repr(self)}
        return TurnCard.of_messages(self.messages)._repr_mimebundle_()


class _Base:
    """The base of an agent and of those of its threads, made again in each process."""

    def __init__(self, config: _ffi.RunConfig, setup: _ffi.AgentSetup) -> None:
        self._config = config
        self._setup = setup
        self._made: _ffi.Agent | None = None
        self._threads: weakref.WeakValueDictionary[str, _ffi.Agent] = weakref.WeakValueDictionary()
        self._process = OwnProcess("agent")

    def agent(self) -> _ffi.Agent:
        """The library's agent in this process."""
        if self._made is None or not self._process.is_here():
            self._process = OwnProcess("agent")
            self._made = translates(_ffi.Agent.for_runners)(self._config, self._setup)
            self._threads.clear()
        return self._made

    def goes_on(self, before: _ffi.Agent) -> _ffi.Agent:
        """Converts an agent of another process to one of this process, with its conversation so far."""
        agent, key = self.agent(), before.thread_key()
        name = repr(key)
        begun = self._threads.get(name)
        if begun is None:
            # The agent may be on this very thread, with the conversation from its setup.
            agent.forget_thread(key)
            begun = translates(agent.thread_with_history)(key, before.messages(), before.shared_state())
            self._threads[name] = begun
        return begun


@record
class Recovered(Record):
    """An unfinished turn of the store that this agent revives."""

    key: TurnKey
    """The key of the turn. ``Agent.thread`` with its thread returns the conversation."""
    turn: Turn | None
    """The turn under way; releasing the turn cancels it, unless it was detached. ``None`` if the turn cannot
    continue."""
    error: str | None
    """Why the turn cannot continue. It stays unfinished in the store, until a message is sent on its thread."""
