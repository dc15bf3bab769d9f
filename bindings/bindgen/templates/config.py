"""Generated from bindings/src."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from .._record import Json
from .._settings import (
    DropResults,
    JsonSchema,
    Summary,
    lower_providers,
    lower_response_format,
    lower_tool,
    lower_tool_choice,
    lower_ways,
)
from ..arguments import checks_fields
from ..tools import Tool
from . import stepwell_ffi as _ffi

__all__ = [
{%- for name in names %}
    "{{ name }}",
{%- endfor %}
]
{%- for (shape, fields) in classes %}


@dataclass(frozen=True, kw_only=True)
@checks_fields
class {{ shape.name }}:
{{ super::docstring(4, shape.doc, None) }}
{% for field in *fields %}
    {{ self::declared(shapes, shape.name, field)? }}
{{ self.field_doc(shape.name, field)? }}
{%- endfor %}

    def lower(self) -> _ffi.{{ shape.name }}:
        """The library's form."""
        return _ffi.{{ shape.name }}(
{%- for field in *fields %}
            {{ field.name }}={{ self::lowered(shapes, shape.name, field)? }},
{%- endfor %}
        )
{%- endfor %}
