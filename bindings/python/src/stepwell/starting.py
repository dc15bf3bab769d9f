"""How a run begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._engine import Thread
from .errors import MisuseError, translates
from .machine.run import lower_start
from .media import Content, said
from .messages import UserMessage
from .model import Model
from .options import RunOptions, checked, lower_run_options
from .prompt import Prompt
from .turn import Turn


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


def begin(thread: Thread, run: Run, *, is_branch: bool = False, parent: str | None = None) -> Turn[Any]:
    """Begins a run on a thread."""
    definition = thread.engine.definition
    typed = definition.type_of(run.output_type)
    options, tools = lower_run_options(run.given, definition.settings, definition.model)
    agent, runner = thread.engine.begin(thread.handle, typed, tools, run.deps)
    prompt, given = run.prompt, run.given
    where = f"`prompt` of `{run.called}`"
    is_plain = prompt is not None and not isinstance(prompt, UserMessage)
    if is_plain and not is_branch and not given.keys() & {"run_id", "parent_run_id", "resume"}:
        words, others = said(where, prompt, run.parts)  # type: ignore[arg-type]
        begun = translates(agent.start_turn)(words, options, parts=others)
        return Turn(begun, runner, typed, thread)
    if not is_plain and run.parts:
        raise MisuseError(f"`{run.called}` has parts without a text before them", "put them into the `UserMessage`")
    message = prompt.to_json() if isinstance(prompt, UserMessage) else None
    start = lower_start(
        run.called,
        None if isinstance(prompt, UserMessage) else prompt,
        given.get("run_id"),
        given.get("parent_run_id"),
        message,
        given.get("resume"),
        options,
        run.parts,
    )
    begun = translates(agent.branch)(parent, start) if is_branch else translates(agent.start)(start)
    return Turn(begun, runner, typed, thread)
