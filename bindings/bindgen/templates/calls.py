"""Generated from bindings/src."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from . import stepwell_ffi as _ffi
from .._calls import answer_of, at, outputs_of
from .._record import Json, lower
from ..arguments import names_arguments
from ..stores import thread_key
{%- for (module, names) in imports %}
from .{{ module }} import {{ self::comma_separated(names) }}
{%- endfor %}

__all__ = [{% for (class, _) in classes %}"{{ class.name }}"{% if !loop.last %}, {% endif %}{% endfor %}]
{%- for (class, methods) in classes %}


@names_arguments
class {{ class.name }}:
{{ super::docstring(4, class.doc, None) }}

    {{ class.inner }}: _ffi.{{ class.inner_class }}
{%- for method in methods %}
{% if self::is_property(method) %}
    @property
{%- endif %}
{{ self::head(method) }}
{{ super::docstring(8, &self::doc(method), None) }}
{%- if self::is_outputs(method) %}
        return outputs_of({{ class.call(method) }})
{%- else if method.returns.is_none() %}
        answer_of({{ class.call(method) }})
{%- else %}
        answer: {{ self::returned(method) }} = answer_of({{ class.call(method) }})
        return answer
{%- endif %}
{%- endfor %}
{%- endfor %}
