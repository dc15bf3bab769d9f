"""The sans-IO API: the app owns the network, the tools, the clock and the store."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._ffi.machine import *
from ._record import Json, lift
from .arguments import as_json, checks_arguments, names_arguments
from .config import RunConfig
from .effects import Outputs, lift_outputs
from .errors import InvalidArgumentError, translated, translates
from .events import CallKey, Interrupt, ToolFailureKind
from .options import TurnOptions, Unpack, lower_options
from .outcomes import Outcome, TokenUsage
from .media import Content, Parts, said


@names_arguments
class RunMachine:
    """A turn without any IO.

    Each input is one call, and each call gives back all that came of it: ``events`` to show and ``effects`` to carry
    out and answer by their ids. ``now`` is the time, with its time zone; that of the system's clock if left out. Call
    ``timeout`` when ``wake_at`` of the latest outputs has come.

    The host's loop: ``start``; for an ``OpenStream`` send the request and call ``opened``, then ``receive`` for every
    piece of the body, then ``ended`` (or ``refused``, ``connection_failed``, ``lost``); for a ``RunTool`` run the tool
    and call ``tool_finished`` or ``tool_failed``; until ``outcome`` is there.

    A tool whose result comes in minutes or days answers with ``tool_deferred``. Once ``is_resting``, store the snapshot
    and let go of the run; ``revive`` it when the result is there, ask ``awaited_result`` for the effect, and call
    ``tool_finished``.

    What the device does, say at any time: ``entered_background``, ``network_lost`` and their opposites. An app that goes
    away calls ``dispose``, and carries out what that gives.
    """

    @checks_arguments
    def __init__(
        self,
        config: RunConfig,
        *,
        thread_id: str | None = None,
        history: Sequence[Mapping[str, Json]] = (),
        shared_state: Json = None,
        journal: bool = False,
    ) -> None:
        """With ``journal`` all inputs are written down, for ``take_journal``."""
        self._machine = _new(
            config.lower(),
            thread_id or str(uuid.uuid4()),
            list(history),
            as_json("`shared_state` of `RunMachine`", {} if shared_state is None else shared_state),
            journal,
        )

    @classmethod
    def restore(cls, snapshot: str, config: RunConfig) -> RunMachine:
        """A stored run in the same process, which was suspended and goes on: what it gave out still counts.

        Take ``poll_outputs`` first.
        """
        return cls._of(_restore(snapshot, config.lower()))

    @classmethod
    def revive(
        cls, snapshot: str, config: RunConfig, *, now: datetime | None = None, journal: bool = False
    ) -> RunMachine:
        """A stored run whose process died: what had not begun is given out again, an open stream is opened again.

        ``DevicePolicy.killed`` may end the turn instead. Take ``poll_outputs`` first. With ``journal`` all further inputs
        are written down, in a journal of their own.
        """
        return cls._of(_revive(snapshot, config.lower(), _now(now), journal))

    @classmethod
    def _of(cls, machine: _ffi.RunMachine) -> RunMachine:
        made = cls.__new__(cls)
        made._machine = machine
        return made

    def __repr__(self) -> str:
        return f"RunMachine(thread_id={self.thread_id!r}, state={self.state.value!r}, hop={self.hop})"

    def start(
        self,
        text: str | None = None,
        *,
        run_id: str | None = None,
        parent_run_id: str | None = None,
        parts: Sequence[Content] = (),
        message: Mapping[str, Json] | None = None,
        resume: Mapping[str, Json] | None = None,
        now: datetime | None = None,
        **options: Unpack[TurnOptions],
    ) -> Outputs:
        """Starts the turn with what the user says: text and the parts that come behind it, or an AG-UI message.

        With neither it goes on from a history that ends with something the model is to answer. ``resume`` answers the
        interrupts that an earlier turn ended with, by their ids; ``None`` waves one away. The options are what is otherwise
        for this turn than the configuration says.
        """
        start = lower_start("RunMachine.start", text, run_id, parent_run_id, message, resume, lower_options(options)[0], parts)
        return _call(self._machine.start, start, _now(now))

    def run_created(self, effect: str, run_id: str, *, now: datetime | None = None) -> Outputs:
        """The backend created a run."""
        return _call(self._machine.run_created, effect, run_id, _now(now))

    def run_not_created(self, effect: str, message: str, *, now: datetime | None = None) -> Outputs:
        """The backend did not create a run."""
        return _call(self._machine.run_not_created, effect, message, _now(now))

    def opened(self, effect: str, content_type: str | None = None, *, now: datetime | None = None) -> Outputs:
        """The provider answered with a 2xx status: the body follows."""
        return _call(self._machine.opened, effect, content_type, _now(now))

    def refused(
        self,
        effect: str,
        status: int,
        body: bytes = b"",
        *,
        retry_after: float | None = None,
        now: datetime | None = None,
    ) -> Outputs:
        """The provider answered with any other status. ``retry_after`` is in seconds."""
        return _call(self._machine.refused, effect, status, body, _now(now), retry_after)

    def connection_failed(self, effect: str, message: str, *, now: datetime | None = None) -> Outputs:
        """No answer came at all."""
        return _call(self._machine.connection_failed, effect, message, _now(now))

    def receive(self, effect: str, data: bytes, *, now: datetime | None = None) -> Outputs:
        """Bytes of the body, as many as the transport gave, cut anywhere."""
        return _call(self._machine.receive, effect, data, _now(now))

    def ended(self, effect: str, *, now: datetime | None = None) -> Outputs:
        """The body ended as it should."""
        return _call(self._machine.ended, effect, _now(now))

    def lost(self, effect: str, message: str, *, now: datetime | None = None) -> Outputs:
        """The connection broke within the body."""
        return _call(self._machine.lost, effect, message, _now(now))

    def tool_finished(self, effect: str, content: str | Parts, *, now: datetime | None = None) -> Outputs:
        """A tool gave a result; ``Tool.run`` gives it as it is wanted here."""
        if isinstance(content, Parts):
            return _call(self._machine.tool_finished_parts, effect, list(content), _now(now))
        return _call(self._machine.tool_finished, effect, content, _now(now))

    def tool_failed(
        self,
        effect: str,
        message: str,
        *,
        kind: ToolFailureKind = ToolFailureKind.ERROR,
        now: datetime | None = None,
    ) -> Outputs:
        """A tool failed; the model is shown the message."""
        return _call(self._machine.tool_failed, effect, message, _now(now), _ffi.ToolFailureKind[kind.name])

    def tool_deferred(self, effect: str, *, now: datetime | None = None) -> Outputs:
        """The tool has begun something whose result comes later, with ``tool_finished`` or ``tool_failed``."""
        return _call(self._machine.tool_deferred, effect, _now(now))

    def tool_progress(
        self,
        effect: str,
        fraction: float | None = None,
        message: str | None = None,
        *,
        now: datetime | None = None,
    ) -> Outputs:
        """A running tool says how far it has come, from 0 to 1 if that is known, and what it does now."""
        return _call(self._machine.tool_progress, effect, fraction, message, _now(now))

    def tool_partial_result(self, effect: str, content: str, *, now: datetime | None = None) -> Outputs:
        """A running tool shows what it has so far, in the place of what it showed before; 256 KiB at most."""
        return _call(self._machine.tool_partial_result, effect, content, _now(now))

    def tool_asks(
        self, effect: str, number: int, message: str, schema: Mapping[str, Json], *, now: datetime | None = None
    ) -> Outputs:
        """A running tool asks the user: ``AskUser`` and then ``AnswerTool`` have the id ``ask:HOP:INDEX:NUMBER``.

        ``number`` is the question's place among those of the call, counted from 0 each time that the tool is run. A tool
        that is run again after a crash and asks the same at the same place is given the answer of before.
        """
        question = _ffi.Question(message=message, schema=dict(schema))
        return _call(self._machine.tool_asks, effect, number, question, _now(now))

    def answer(self, effect: str, value: Json, *, now: datetime | None = None) -> Outputs:
        """The user answered a tool's question.

        If it does not fit the question's schema, that raises ``InvalidArgumentError``, and it is still asked.
        """
        return _call(self._machine.answer, effect, value, _now(now))

    def decline(self, effect: str, reason: str | None = None, *, now: datetime | None = None) -> Outputs:
        """The user does not answer a tool's question. The reason is for the tool."""
        return _call(self._machine.decline, effect, reason, _now(now))

    def approve(
        self, effect: str, arguments: Mapping[str, Json] | None = None, *, now: datetime | None = None
    ) -> Outputs:
        """The user allows the call.

        With ``arguments`` it is run with these in the place of the model's, and the model is told. If they do not fit
        the tool, that raises ``InvalidArgumentError``, and the call is still asking.
        """
        # As the other languages write it: the model reads it.
        edited = None if arguments is None else dict(arguments)
        return _call(self._machine.approve, effect, _now(now), edited)

    def deny(self, effect: str, reason: str | None = None, *, now: datetime | None = None) -> Outputs:
        """The user does not allow the call. The reason is for the model to read."""
        return _call(self._machine.deny, effect, reason, _now(now))

    def context_trimmed(
        self, effect: str, keep: Sequence[str], *, summary: str | None = None, now: datetime | None = None
    ) -> Outputs:
        """The conversation is to go on with the messages of these ids; what belongs to them is kept with them. The model
        is told ``summary`` in the place of the others. The history stays whole."""
        return _call(self._machine.context_trimmed, effect, list(keep), _now(now), summary)

    def context_not_trimmed(self, effect: str, message: str, *, now: datetime | None = None) -> Outputs:
        """There is no way to shorten the conversation: the turn fails."""
        return _call(self._machine.context_not_trimmed, effect, message, _now(now))

    def authorized(
        self,
        effect: str,
        key: str | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        now: datetime | None = None,
    ) -> Outputs:
        """The key of the next request, and headers to send besides. Neither is stored."""
        return _call(self._machine.authorized, effect, key, _now(now), dict(headers or {}))

    def not_authorized(self, effect: str, message: str, *, now: datetime | None = None) -> Outputs:
        """There are no credentials for the next request: the turn fails."""
        return _call(self._machine.not_authorized, effect, message, _now(now))

    def hook_answered(
        self,
        effect: str,
        *,
        instructions: str | None = None,
        messages: Sequence[Mapping[str, Json]] | None = None,
        arguments: Mapping[str, Json] | None = None,
        result: str | Parts | None = None,
        refused: str | None = None,
        failed: str | None = None,
        now: datetime | None = None,
    ) -> Outputs:
        """A hook has looked: it lets pass what it was asked about, with what is given here in its place; or it has
        ``refused``, for this reason; or its code has ``failed``, with these words."""
        answers: Any = _ffi.HookAnswer
        if failed is not None:
            answer = answers.FAILED(failed)
        elif refused is not None:
            answer = answers.REFUSED(refused)
        elif instructions is not None or messages is not None:
            changed = None if messages is None else [dict(message) for message in messages]
            answer = answers.CHANGE_REQUEST(instructions, changed)
        elif arguments is not None:
            answer = answers.CHANGE_ARGUMENTS(dict(arguments))
        elif result is not None:
            answer = answers.CHANGE_RESULT(list(result) if isinstance(result, Parts) else result)
        else:
            answer = answers.GO_ON()
        return _call(self._machine.hook_answered, effect, answer, _now(now))

    def persisted(self, effect: str, *, now: datetime | None = None) -> Outputs:
        """Blocks are stored."""
        return _call(self._machine.persisted, effect, _now(now))

    def persist_failed(self, effect: str, message: str, *, now: datetime | None = None) -> Outputs:
        """Blocks could not be stored."""
        return _call(self._machine.persist_failed, effect, message, _now(now))

    def output_decoded(self, effect: str, *, now: datetime | None = None) -> Outputs:
        """The app has decoded the typed answer: it counts."""
        return _call(self._machine.output_decoded, effect, _now(now))

    def output_refused(self, effect: str, reason: str, *, now: datetime | None = None) -> Outputs:
        """The app cannot decode the typed answer. The reason is for the model to read, which is asked again if it may be."""
        return _call(self._machine.output_refused, effect, reason, _now(now))

    def resume(self, answers: Mapping[str, Json], *, now: datetime | None = None) -> Outputs:
        """The user answered the agent's questions, all of them, by their ids; ``None`` waves one away."""
        return _call(self._machine.resume, entries(answers), _now(now))

    def cancel(self, *, now: datetime | None = None) -> Outputs:
        """The user stops the turn. What is over stays as it is."""
        return _call(self._machine.cancel, _now(now))

    def cancel_call(self, call: CallKey, *, now: datetime | None = None) -> Outputs:
        """The user stops one call. The others go on, and the model is told."""
        return _call(self._machine.cancel_call, _ffi.CallKey(hop=call.hop, index=call.index), _now(now))

    def steer(
        self,
        text: str | None = None,
        *,
        message_id: str | None = None,
        message: Mapping[str, Json] | None = None,
        now: datetime | None = None,
    ) -> Outputs:
        """The user types during the turn: text, or an AG-UI message.

        The message waits until the next hop begins, and is answered in this turn. If it cannot be, ``SteeringRefused``
        gives it back, also when the turn has ended meanwhile. Text gets a random ``message_id`` if it has none.
        """
        if (text is None) == (message is None):
            raise InvalidArgumentError("`steer` takes a text or a message", "give one of them, not both")
        if text is None:
            return _call(self._machine.steer_message, message, _now(now))
        return _call(self._machine.steer, message_id or str(uuid.uuid4()), text, _now(now))

    def shown(self, messages: Sequence[Mapping[str, Json]], *, now: datetime | None = None) -> Outputs:
        """What the user was shown by a host that died, as AG-UI messages.

        For a run that was revived, before any other input. What the run does not know of it stays, marked with
        ``metadata.cut``, and the answer is asked for anew.
        """
        return _call(self._machine.shown, list(messages), _now(now))

    def entered_background(self, *, now: datetime | None = None) -> Outputs:
        """The app goes to the background; see ``DevicePolicy``.

        Like the following three, it is taken in every state, and harmless when repeated.
        """
        return _call(self._machine.entered_background, _now(now))

    def entered_foreground(self, *, now: datetime | None = None) -> Outputs:
        """The app is in the foreground again."""
        return _call(self._machine.entered_foreground, _now(now))

    def network_lost(self, *, now: datetime | None = None) -> Outputs:
        """The network that the server is reached over is gone."""
        return _call(self._machine.network_lost, _now(now))

    def network_available(self, *, now: datetime | None = None) -> Outputs:
        """There is a network, or another one took the place of the one before."""
        return _call(self._machine.network_available, _now(now))

    def dispose(self, *, now: datetime | None = None) -> Outputs:
        """The app goes away: the outputs stop what it has begun, and give back what the user typed.

        The turn does not end by it: it can go on elsewhere, by ``revive`` from the ``snapshot``. Each later input raises
        ``MisuseError``.
        """
        return _call(self._machine.dispose, _now(now))

    def timeout(self, *, now: datetime | None = None) -> Outputs:
        """Time has passed: what is due is done."""
        return _call(self._machine.timeout, _now(now))

    def poll_outputs(self) -> Outputs:
        """What waits without an input of its own: after ``restore`` and ``revive``."""
        return _call(self._machine.poll_outputs)

    def poll_timeout(self) -> datetime | None:
        """When to call ``timeout``; all outputs say so too."""
        return self._machine.poll_timeout()

    @property
    def timeout_reason(self) -> TimerKey | None:
        """What the run wants to be woken for."""
        reason: TimerKey | None = lift(self._machine.timeout_reason())
        return reason

    @property
    def is_resting(self) -> bool:
        """Whether nothing but the user, or the result of a deferred call, can move the run on.

        Store its ``snapshot``, and let go of it until then, or until ``poll_timeout``.
        """
        return self._machine.is_resting()

    @property
    def is_disposed(self) -> bool:
        """Whether ``dispose`` was called."""
        return self._machine.is_disposed()

    def awaited_result(self, tool_call_id: str) -> str | None:
        """The id of the effect under which the result of a tool call is awaited, by the provider's id for the call."""
        return self._machine.awaited_result(tool_call_id)

    @property
    def state(self) -> StateKind:
        """Where the run stands."""
        state: StateKind = lift(self._machine.state())
        return state

    @property
    def outcome(self) -> Outcome | None:
        """How the turn ended, once it has."""
        outcome: Outcome | None = lift(self._machine.outcome())
        return outcome

    @property
    def interrupts(self) -> list[Interrupt]:
        """What the agent asks the user, while it does."""
        interrupts: list[Interrupt] = lift(self._machine.interrupts())
        return interrupts

    @property
    def text(self) -> str:
        """All that the model has said since the user's last message."""
        return self._machine.text()

    @property
    def shown_text(self) -> str:
        """The text since the user's last message as it is shown: see ``TextOptions``."""
        return self._machine.shown_text()

    @property
    def messages(self) -> list[dict[str, Json]]:
        """The conversation: AG-UI messages, oldest first."""
        messages: list[dict[str, Json]] = self._machine.messages()
        return messages

    def partial_arguments(self, tool_call_id: str) -> Json:
        """What is certain so far of the arguments of a call of the hop in progress; ``None`` while nothing is."""
        return self._machine.partial_arguments(tool_call_id)

    @property
    def output(self) -> Json:
        """The typed answer; ``None`` if there was to be none, and until the turn has ended well."""
        return self._machine.output()

    @property
    def partial_output(self) -> Json:
        """What is certain so far of the typed answer of the hop in progress; ``None`` while nothing is."""
        return self._machine.partial_output()

    @property
    def shared_state(self) -> Json:
        """The state shared with an AG-UI agent."""
        return self._machine.shared_state()

    @property
    def usage(self) -> TokenUsage:
        """What the turn has cost so far, over all its hops."""
        usage: TokenUsage = lift(self._machine.usage())
        return usage

    @property
    def hop(self) -> int:
        """The hop, from 0."""
        return self._machine.hop()

    @property
    def thread_id(self) -> str:
        """The conversation's id."""
        return self._machine.thread_id()

    @property
    def turn(self) -> str:
        """The turn: the run id of its first hop. Empty before it has started."""
        return self._machine.turn()

    @property
    def run_id(self) -> str:
        """The run id of the hop."""
        return self._machine.run_id()

    def digest(self) -> str | None:
        """A digest of how the run stands: its state, outcome, cost and conversation.

        Runs that stand alike have the same, in every language and on every machine; it is the one that a journal ends
        with. ``None`` if the run is broken.
        """
        return self._machine.digest()

    def snapshot(self) -> str:
        """The run as text, for ``restore`` or ``revive``. It holds no key. After ``dispose`` it is the run from before."""
        return translates(self._machine.snapshot)()

    def take_journal(self) -> str:
        """The lines of the journal that were written since the last call, to be appended to a file.

        They hold all that is said, but no key. A run that broke still gives them. ``replay_journal`` replays all of them.
        """
        return self._machine.take_journal()

    def end_journal(self) -> str:
        """Closes the journal, since the run is over or the app leaves it, and gives its last lines."""
        return self._machine.end_journal()


_new = translates(_ffi.RunMachine)
_restore = translates(_ffi.RunMachine.restore)
_revive = translates(_ffi.RunMachine.revive)


def _call(method: Callable[..., _ffi.Outputs], *arguments: Any) -> Outputs:
    try:
        return lift_outputs(method(*arguments))
    except _ffi.StepwellError as error:
        raise translated(error) from None


def _now(now: datetime | None) -> datetime:
    return datetime.now(timezone.utc) if now is None else now


def lower_start(
    called: str,
    text: Content | None,
    run_id: str | None,
    parent_run_id: str | None,
    message: Mapping[str, Json] | None,
    resume: Mapping[str, Json] | None,
    options: _ffi.TurnOptions,
    parts: Sequence[Content] = (),
) -> _ffi.Start:
    """What starts a turn, as the library takes it; ``called`` is what was given it."""
    words, others = (None, []) if text is None and not parts else said(f"`text` of `{called}`", "" if text is None else text, parts)
    return _ffi.Start(
        run_id=run_id or str(uuid.uuid4()),
        parent_run_id=parent_run_id,
        text=words,
        message=message,
        resume=entries(resume or {}),
        options=options,
        parts=others,
    )


def entries(answers: Mapping[str, Json]) -> list[_ffi.ResumeEntry]:
    """The library's form of answers to interrupts."""
    return [
        _ffi.ResumeEntry(
            interrupt_id=interrupt,
            status=_ffi.ResumeStatus.CANCELLED if answer is None else _ffi.ResumeStatus.RESOLVED,
            payload=answer,
        )
        for interrupt, answer in answers.items()
    ]
