"""The options of one turn that differ from its agent's."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .._ffi import stepwell_ffi as _ffi
from ..arguments import check
from ..config import GenerationSettings, Limits, OutputType
from ..errors import MisuseError
from ..tools import Tool, as_tool
from .._settings import lower_tool

if sys.version_info >= (3, 11):
    from typing import Unpack as Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:

    class Unpack:
        """A substitute for the hint of that name, which this Python lacks."""

        def __class_getitem__(cls, options: object) -> object:
            return Any


class TurnOptions(TypedDict, total=False):
    """The options of one turn that differ from its agent's; an option that is left out is as in the agent.

    The options are stored with the turn, and a revived turn continues with them, except for two things. The headers may
    be secret and are not stored, and calls of the turn's own tools are answered as those of a tool without code.
    """

    instructions: str
    """The app's instructions, instead of the agent's."""
    settings: GenerationSettings
    """The settings for the model's answers; they override those of the agent."""
    limits: Limits
    """The limits of the turn, which replace all of the agent's limits."""
    tool_names: Sequence[str]
    """Which of the agent's tools are on offer, by name."""
    tools: Sequence[Tool[..., Any] | Callable[..., Any]]
    """Tools of this turn only. A tool replaces the agent's tool of the same name."""
    user: str
    """The end user that the turn is for, as ``GenerationSettings.user``."""
    output: OutputType
    """The type of the answer, instead of the agent's: by a JSON Schema. ``output_type`` takes a type of the app."""
    whole_history: bool
    """Whether the turn begins from the complete conversation, and not from the compacted one that earlier turns left."""
    when_busy: Literal["fail", "cancel"]
    """What happens if another turn of the thread is under way, instead of what the agent does: the turn fails at once
    with ``BusyError``, or the other turn is cancelled."""
    headers: Mapping[str, str]
    """Additional headers, which replace the agent's of the same names. They are not stored."""


def lower_options(options: TurnOptions) -> tuple[_ffi.TurnOptions, tuple[Tool[..., Any], ...]]:
    """Converts the options to the library's form, and returns the turn's own tools."""
    hints = typing.get_type_hints(TurnOptions)
    for name, value in options.items():
        if name not in hints:
            known = ", ".join(f"`{each}`" for each in hints)
            raise MisuseError(f"a turn has no option `{name}`", f"give one of {known}")
        check(f"`{name}` of a turn", value, hints[name])
    tools = tuple(as_tool(tool) for tool in options.get("tools", ()))
    settings, limits, output = options.get("settings"), options.get("limits"), options.get("output")
    names, when_busy = options.get("tool_names"), options.get("when_busy")
    return _ffi.TurnOptions(
        instructions=options.get("instructions"),
        settings=None if settings is None else settings.lower(),
        limits=None if limits is None else limits.lower(),
        tool_names=None if names is None else list(names),
        tools=[lower_tool(tool) for tool in tools],
        user=options.get("user"),
        output=None if output is None else output.lower(),
        whole_history=options.get("whole_history", False),
        when_busy=None if when_busy is None else getattr(_ffi.WhenBusy, when_busy.upper()),
        headers=dict(options.get("headers", {})),
    ), tools
