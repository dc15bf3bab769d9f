"""What one turn has otherwise than the others of its agent."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ._ffi import stepwell_ffi as _ffi
from .arguments import check
from .config import GenerationSettings, Limits, OutputType
from .errors import InvalidArgumentError
from .tools import Tool, as_tool
from ._settings import lower_tool

if sys.version_info >= (3, 11):
    from typing import Unpack as Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:

    class Unpack:
        """Stands for the hint of that name, which this Python has not."""

        def __class_getitem__(cls, options: object) -> object:
            return Any


class TurnOptions(TypedDict, total=False):
    """What one turn has otherwise than its agent; what is left out is as there.

    It is stored with the turn, so that one which comes back goes on with it: but for the headers, which may be secret and are
    gone then, and the code of its tools, whose calls are answered as those of a tool without code.
    """

    instructions: str
    """The app's instructions, in the place of the agent's."""
    settings: GenerationSettings
    """How the model is to answer: what is given here goes before what the agent has."""
    limits: Limits
    """How far the turn may go: all of it, in the place of the agent's limits."""
    tool_names: Sequence[str]
    """Which of the agent's tools are on offer, by name."""
    tools: Sequence[Tool[..., Any] | Callable[..., Any]]
    """Tools of this turn's own. One takes the place of the agent's tool of its name."""
    user: str
    """The end user that the turn is for, as ``GenerationSettings.user``."""
    output: OutputType
    """What the answer is to be, in the place of the agent's: by a JSON Schema. ``output_type`` takes a type of the app's."""
    when_busy: Literal["fail", "cancel"]
    """What happens if another turn of the thread is under way, in the place of the agent's: the turn fails at once with
    ``BusyError``, or the other turn is cancelled."""
    headers: Mapping[str, str]
    """Headers to send besides, in the place of the agent's of their names. They are not stored."""


def lower_options(options: TurnOptions) -> tuple[_ffi.TurnOptions, tuple[Tool[..., Any], ...]]:
    """The options as the library takes them, and the tools that are the turn's own."""
    hints = typing.get_type_hints(TurnOptions)
    for name, value in options.items():
        if name not in hints:
            known = ", ".join(f"`{each}`" for each in hints)
            raise InvalidArgumentError(f"a turn has no option `{name}`", f"give one of {known}")
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
        when_busy=None if when_busy is None else getattr(_ffi.WhenBusy, when_busy.upper()),
        headers=dict(options.get("headers", {})),
    ), tools
