"""The parts of the configuration that have another form here than in the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._ffi import stepwell_ffi as _ffi
from ._record import Json
from .arguments import checks_fields
from .tools import Tool, as_tool

if TYPE_CHECKING:
    from ._ffi.config import FallbackModel


@dataclass(frozen=True, kw_only=True)
@checks_fields
class JsonSchema:
    """The form of an answer that is JSON with a schema."""

    name: str
    """The name of the form: letters, digits, ``_`` and ``-``."""
    schema: Mapping[str, Json]
    """The JSON Schema."""
    strict: bool = True
    """Whether the provider must hold the model to the schema, if the provider can."""


@dataclass(frozen=True, kw_only=True)
@checks_fields
class DropResults:
    """A way of compaction: the results of old tool calls are replaced by a short marker. The calls stay, and so do the
    results that the model has not seen."""

    keep: int
    """The number of newest results that stay."""

    def lower(self) -> Any:
        """The library's form."""
        return _ffi.CompactionWay.DROP_RESULTS(self.keep)


@dataclass(frozen=True, kw_only=True)
@checks_fields
class Summary:
    """A way of compaction: a model writes a summary of the older messages, which are then left out.

    Its request is retried as any other, and is part of the turn's cost; hooks do not see it. If no summary comes, the turn
    continues without one."""

    instructions: str | None = None
    """The instructions for the model, instead of Stepwell's."""
    keep: float = 0.25
    """The part of the context that the newest messages may fill, which stay as they are."""
    model: FallbackModel | None = None
    """The model that writes the summaries of a ``RunMachine``; the machine's own if left out. An ``Agent`` takes it as its
    ``summary_model``."""

    def lower(self) -> Any:
        """The library's form."""
        return _ffi.CompactionWay.SUMMARY(None if self.model is None else self.model.lower(), self.instructions, self.keep)


def lower_ways(ways: Sequence[DropResults | Summary | str]) -> list[Any]:
    """Converts ways of compaction."""
    return [getattr(_ffi.CompactionWay, way.upper())() if isinstance(way, str) else way.lower() for way in ways]


def lower_tool(function: Tool[..., Any] | Callable[..., Any]) -> _ffi.ToolDefinition:
    """Converts a tool without its code."""
    tool = as_tool(function)
    return _ffi.ToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters=tool.parameters,
        requires_approval=tool.requires_approval,
        idempotent=tool.idempotent,
        repeatable=tool.repeatable,
        timeout=tool.timeout,
    )


def lower_tool_choice(choice: str | Tool[..., Any]) -> Any:
    """Converts a choice by name; nothing for the usual one."""
    if isinstance(choice, Tool):
        return _ffi.ToolChoice.NAMED(choice.name)
    return None if choice == "auto" else getattr(_ffi.ToolChoice, choice.upper())()


def lower_response_format(form: str | JsonSchema) -> Any:
    """Converts the form of an answer; nothing for the usual one."""
    if isinstance(form, JsonSchema):
        return _ffi.ResponseFormat.SCHEMA(form.name, dict(form.schema), form.strict)
    return None if form == "text" else getattr(_ffi.ResponseFormat, form.upper())()


def lower_providers(providers: Sequence[Mapping[str, Json]]) -> Json:
    """Converts custom providers, in the form of the file of `stepwell --providers`."""
    return {"providers": [dict(each) for each in providers]} if providers else None
