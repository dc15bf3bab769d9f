"""What of the configuration has another form here than in the library."""

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
    """The form of an answer that is JSON of a schema."""

    name: str
    """What the form is called: letters, digits, ``_`` and ``-``."""
    schema: Mapping[str, Json]
    """The JSON Schema."""
    strict: bool = True
    """Whether the provider must hold the model to it, where it can be asked to."""


def lower_tool(function: Tool[..., Any] | Callable[..., Any]) -> _ffi.ToolDefinition:
    """A tool without its code."""
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
    """A choice by name; nothing for the usual one."""
    if isinstance(choice, Tool):
        return _ffi.ToolChoice.NAMED(choice.name)
    return None if choice == "auto" else getattr(_ffi.ToolChoice, choice.upper())()


def lower_response_format(form: str | JsonSchema) -> Any:
    """The form of an answer; nothing for the usual one."""
    if isinstance(form, JsonSchema):
        return _ffi.ResponseFormat.SCHEMA(form.name, dict(form.schema), form.strict)
    return None if form == "text" else getattr(_ffi.ResponseFormat, form.upper())()


def lower_providers(providers: Sequence[Mapping[str, Json]]) -> Json:
    """Providers of the app's own, as the file of `stepwell --providers` has them."""
    return {"providers": [dict(each) for each in providers]} if providers else None
