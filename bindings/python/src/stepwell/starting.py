"""How a run begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._ffi import stepwell_ffi as _ffi
from .errors import MisuseError, translates
from .machine.run import lower_start
from .media import Content, said
from .messages import UserMessage
from .model import Model
from .options import RunOptions, checked, lower_run_options
from .prompt import Prompt
from .turn import Turn

if TYPE_CHECKING:
    from ._engine import Engine
    from .conversation import Conversation
    from .output import TypedOutput
    from .runner import TurnRunner


class Run:
    """The arguments of a run, checked."""

    def __init__(self, called: str, prompt: Prompt, parts: Sequence[Content], options: Mapping[str, Any]) -> None:
        given = dict(options)
        self.called = called
        self.prompt = prompt
        self.parts = parts
        self.deps: object = given.pop("deps", None)
        self.output_type: Any = given.pop("output_type", None)
        self.given = checked(f"`{called}`", RunOptions, given)
        model = self.given.pop("model", None)
        self.model: Model | None = None if model is None else Model.of(model)


def start(engine: Engine, run: Run, *, is_answerable: bool) -> Turn[Any]:
    """Begins a run that nothing is remembered of. What waits for the user is denied if nobody can answer."""
    definition = engine.definition
    typed = definition.type_of(run.output_type)
    options, tools = lower_run_options(run.given, definition.settings, definition.model)
    agent, runner = engine.begin(typed, tools=tools, deps=run.deps)
    begun = translates(agent.start)(_start_of(run, options), is_answerable=is_answerable)
    return Turn(begun, runner, typed, definition)


def send(conversation: Conversation[Any, Any], run: Run) -> Turn[Any]:
    """Begins a run in a conversation."""
    typed, options, there, runner = _begun(conversation, run)
    if isinstance(run.prompt, UserMessage) or run.prompt is None or run.given.keys() & {"run_id", "parent_run_id", "resume"}:
        begun = translates(there.start)(_start_of(run, options))
    else:
        words, others = said(f"`prompt` of `{run.called}`", run.prompt, run.parts)
        begun = translates(there.send)(words, options, parts=others)
    return Turn(begun, runner, typed, conversation._engine.definition)


def branch(conversation: Conversation[Any, Any], parent: str | None, run: Run) -> Turn[Any]:
    """Begins a run that follows another turn than the last."""
    typed, options, there, runner = _begun(conversation, run)
    begun = translates(there.branch)(parent, _start_of(run, options))
    return Turn(begun, runner, typed, conversation._engine.definition)


def _begun(
    conversation: Conversation[Any, Any], run: Run
) -> tuple[TypedOutput | None, _ffi.TurnOptions, _ffi.Conversation, TurnRunner]:
    definition = conversation._engine.definition
    typed = definition.type_of(run.output_type)
    options, tools = lower_run_options(run.given, definition.settings, definition.model)
    there, runner = conversation._begin(typed, tools, run.deps)
    return typed, options, there, runner


def _start_of(run: Run, options: _ffi.TurnOptions) -> _ffi.Start:
    prompt, given = run.prompt, run.given
    message = prompt.to_json() if isinstance(prompt, UserMessage) else None
    if (prompt is None or message is not None) and run.parts:
        raise MisuseError(f"`{run.called}` has parts without a text before them", "put them into the `UserMessage`")
    return lower_start(
        run.called,
        None if isinstance(prompt, UserMessage) else prompt,
        given.get("run_id"),
        given.get("parent_run_id"),
        message,
        given.get("resume"),
        options,
        run.parts,
        "prompt",
    )
