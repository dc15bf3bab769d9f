"""Generated from bindings/src."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import ClassVar

from . import stepwell_ffi as _ffi
from .._record import Json, Record, lifts, record
{%- if let Some(mixins) = self.mixins() %}
from .._methods import {{ mixins }}
{%- endif %}
{%- for (module, classes) in imports %}
from .{{ module }} import {{ self::comma_separated(classes) }}
{%- endfor %}

__all__ = [
{%- for class in self.class_names() %}
    "{{ class }}",
{%- endfor %}
]
{%- for item in items %}

{% match item %}
{%- when Item::Enum(shape) %}
class {{ self::class_name(shape.name, "") }}(str, enum.Enum):
{{ self::docstring(4, shape.doc, None) }}
{% for variant in shape.variants() %}
    {{ variant.name.to_shouty_snake_case() }} = "{{ self::word(shape, variant) }}"
{{ self::docstring(4, variant.doc, None) }}
{%- endfor %}
{%- when Item::Class(class) %}
@record
class {{ class.name }}({{ class.bases() }}):
{{ self::docstring(4, class.doc, None) }}
{%- if let Some(hidden) = class.hidden() %}

    _hidden: ClassVar[frozenset[str]] = frozenset({{ hidden }})
{%- endif %}
{% for field in class.fields %}
    {{ field.name }}: {{ self.ty(field.ty) }}{{ class.default(*loop.index0) }}
{{ self.field_doc(field) }}
{%- endfor %}
{%- endmatch %}
{%- endfor %}

{% for (theirs, ours) in lifted %}
lifts(_ffi.{{ theirs }}, {{ ours }})
{%- endfor %}
