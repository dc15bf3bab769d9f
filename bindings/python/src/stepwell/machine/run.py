"""The sans-IO API: the app owns the network, the tools, the clock and the store."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from .._calls import at, outputs_of
from .._ffi import stepwell_ffi as _ffi
from .._ffi.calls import RunCalls
from .._ffi.machine import *
from .._record import Json, lower
from ..arguments import as_json, checks_arguments, names_arguments
from ..config import RunConfig
from ..effects import Outputs
from ..errors import MisuseError, translates
from .options import TurnOptions, Unpack, lower_options
from ..stores import TurnRecord
from ..media import Content, Parts, said


@names_arguments
class RunMachine(RunCalls):
    """A turn without any IO.

    Each input is one call, and each call returns all of its outputs: ``events`` to show and ``effects`` to carry out
    and answer by their ids. ``now`` is the time, with its time zone; that of the system's clock if left out. Call
    ``timeout`` when ``wake_at`` of the latest outputs has come.

    The host's loop: ``start``; for an ``OpenStream`` send the request and call ``opened``, then ``receive`` for every
    chunk of the body, then ``ended`` (or ``refused``, ``connection_failed``, ``lost``); for a ``RunTool`` run the tool
    and call ``tool_finished`` or ``tool_failed``; until ``outcome`` is there.

    A tool whose result comes in minutes or days answers with ``tool_deferred``. Once ``is_resting``, store the snapshot
    and release the run; ``revive`` the run when the result is there, ask ``awaited_result`` for the effect, and call
    ``tool_finished``.

    Changes of the device may be reported at any time: ``entered_background``, ``network_lost`` and their opposites. An
    app that goes away calls ``dispose``, and carries out the resulting effects.
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
        """With ``journal`` all inputs are recorded, for ``take_journal``."""
        self._machine = _new(
            config.lower(),
            thread_id or str(uuid.uuid4()),
            list(history),
            as_json("`shared_state` of `RunMachine`", {} if shared_state is None else shared_state),
            journal,
        )

    @classmethod
    def restore(cls, snapshot: str, config: RunConfig) -> RunMachine:
        """Restores a run that was suspended and continues in the same process: its pending effects stay valid.

        Take ``poll_outputs`` first.
        """
        return cls._of(_restore(snapshot, config.lower()))

    @classmethod
    def revive(
        cls, snapshot: str, config: RunConfig, *, now: datetime | None = None, journal: bool = False
    ) -> RunMachine:
        """Revives a stored run whose process died: effects that had not begun are emitted again, an open stream is
        opened again.

        ``DevicePolicy.killed`` may end the turn instead. Take ``poll_outputs`` first. With ``journal`` all further
        inputs are recorded, in a journal of their own.
        """
        return cls._of(_revive(snapshot, config.lower(), at(now), journal))

    @classmethod
    def revive_from(
        cls,
        checkpoint: str,
        turns: Sequence[TurnRecord],
        turn: str,
        config: RunConfig,
        *,
        now: datetime | None = None,
        journal: bool = False,
    ) -> RunMachine:
        """Revives a stored run whose process died, as ``revive`` does, from a store's data.

        That is the newest ``checkpoint`` of the turn, and the turns of its thread, or only those on the path to it.
        Read all of them at one time: a turn with more blocks than were stored with its checkpoint, or with fewer, is
        refused.
        """
        return cls._of(_revive_from(checkpoint, lower(turns), turn, config.lower(), at(now), journal))

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
        """Starts the turn with what the user says: text and the parts that follow it, or an AG-UI message.

        With neither the turn continues from a history whose last message the model should answer. ``resume`` answers
        the interrupts that an earlier turn ended with, by their ids; ``None`` dismisses one. The options override the
        configuration's for this turn.
        """
        start = lower_start("RunMachine.start", text, run_id, parent_run_id, message, resume, lower_options(options)[0], parts)
        return outputs_of(self._machine.start, start, at(now))

    def tool_finished(self, effect: str, content: str | Parts, *, now: datetime | None = None) -> Outputs:
        """A tool returned a result; ``Tool.run`` returns it in this form."""
        if isinstance(content, Parts):
            return outputs_of(self._machine.tool_finished_parts, effect, list(content), at(now))
        return outputs_of(self._machine.tool_finished, effect, content, at(now))

    def tool_asks(
        self, effect: str, number: int, message: str, schema: Mapping[str, Json], *, now: datetime | None = None
    ) -> Outputs:
        """A running tool asks the user: ``AskUser`` and then ``AnswerTool`` have the id ``ask:HOP:INDEX:NUMBER``.

        ``number`` is the question's number among those of the call, counted from 0 each time that the tool is run. A
        tool that is run again after a crash and asks the same question at the same place gets the earlier answer.
        """
        question = _ffi.Question(message=message, schema=dict(schema))
        return outputs_of(self._machine.tool_asks, effect, number, question, at(now))

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
        """A hook answered: it accepts its subject, with the replacement given here; or it has ``refused``, for this
        reason; or its code has ``failed``, with this message."""
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
        return outputs_of(self._machine.hook_answered, effect, answer, at(now))

    def resume(self, answers: Mapping[str, Json], *, now: datetime | None = None) -> Outputs:
        """The user answered all of the agent's questions, by their ids; ``None`` dismisses one."""
        return outputs_of(self._machine.resume, entries(answers), at(now))

    def steer(
        self,
        text: str | None = None,
        *,
        message_id: str | None = None,
        message: Mapping[str, Json] | None = None,
        now: datetime | None = None,
    ) -> Outputs:
        """The user sends a message during the turn: text, or an AG-UI message.

        The message waits until the next hop begins, and is answered in this turn. If that is not possible,
        ``SteeringRefused`` returns the message, also when the turn has ended meanwhile. Text gets a random
        ``message_id`` if it has none.
        """
        if (text is None) == (message is None):
            raise MisuseError("`steer` takes a text or a message", "give one of them, not both")
        if text is None:
            return outputs_of(self._machine.steer_message, message, at(now))
        return outputs_of(self._machine.steer, message_id or str(uuid.uuid4()), text, at(now))


_new = translates(_ffi.RunMachine)
_restore = translates(_ffi.RunMachine.restore)
_revive = translates(_ffi.RunMachine.revive)
_revive_from = translates(_ffi.RunMachine.revive_from)


def lower_start(
    called: str,
    text: Content | None,
    run_id: str | None,
    parent_run_id: str | None,
    message: Mapping[str, Json] | None,
    resume: Mapping[str, Json] | None,
    options: _ffi.TurnOptions,
    parts: Sequence[Content] = (),
    name: str = "text",
) -> _ffi.Start:
    """Converts the start of a turn to the library's form; ``called`` is the method that got it, and its text as ``name``."""
    where = f"`{name}` of `{called}`"
    words, others = (None, []) if text is None and not parts else said(where, "" if text is None else text, parts)
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
    """Converts answers to interrupts to the library's form."""
    return [
        _ffi.ResumeEntry(
            interrupt_id=interrupt,
            status=_ffi.ResumeStatus.CANCELLED if answer is None else _ffi.ResumeStatus.RESOLVED,
            payload=answer,
        )
        for interrupt, answer in answers.items()
    ]
