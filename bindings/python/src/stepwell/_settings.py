"""The parts of the configuration that have another form here than in the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._record import Json
from .arguments import checks_fields
from .tools import Tool, as_tool


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
