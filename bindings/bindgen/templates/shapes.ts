// Generated from bindings/src.
//
// An option that is left out has its default; `null`, where a type has it, means none: no limit, no wait.

import type { Json, Message, Part } from "./types.js";
{%- for item in items %}
{% match item %}
{%- when Item::Interface(shape) %}
{{ self::comment(shape.doc, None, 0) }}
export interface {{ shape.name }} {
{{- self.fields(shape, shape.record_fields(), 2)? }}
{%- if self::is_open(shape) %}
  [field: string]: unknown;
{%- endif %}
}
{%- when Item::RunEvent(doc) %}
{{ self::comment(doc, None, 0) }}
export type RunEvent = AgUiEvent | TurnEvent;
{%- when Item::Union(one) %}
{{ self::comment(one.doc, None, 0) }}
export type {{ one.name }} =
{%- if let Some(common) = one.common %} {{ common }} & ({% endif %}
{%- for variant in one.variants %}
{{ self::comment(variant.doc, Some(one.shape), 2) }}
  | {% if let Some(text) = self::variant_type(one.shape, variant) %}{{ text }}{% else %}{
{%- if let Some(tag) = json::tag(one.shape.name) %}
      {{ tag }}: "{{ json::word(one.shape.name, variant) }}";
{%- endif %}
{{- self.fields(one.shape, variant.fields, 6)? }}
    }
{%- endif %}
{%- endfor %}
{%- if one.common.is_some() %}
);{% else %};{% endif %}
{%- endmatch %}
{%- endfor %}
