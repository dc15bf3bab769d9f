// Generated from bindings/src.

package dev.stepwell

{{ super::edits::IMPORTS }}import kotlin.time.toKotlinDuration
{%- for (name, fields) in records %}

/** Makes a [{{ name }}], for Java. Settings that are not set have their defaults. */
public class {{ name }}Builder(
{%- for field in *fields if field.default.is_none() %}
{%- let name = field.name.to_lower_camel_case() %}
{%- let (ty, _) = self::parameter(field, name)? %}{{ name }}: {{ ty }}{% if !loop.last %}, {% endif %}
{%- endfor %}) {
    private var made: {{ name }} = {{ name }}(
{%- for field in *fields if field.default.is_none() %}
{%- let name = field.name.to_lower_camel_case() %}
{%- let (_, value) = self::parameter(field, name)? %}{{ name }} = {{ value }}{% if !loop.last %}, {% endif %}
{%- endfor %})
{% for field in *fields if field.default.is_some() %}
{%- let (ty, value) = self::parameter(field, "value")? %}
{{ super::doc(field.doc) }}
    public fun {{ field.name.to_lower_camel_case() }}(value: {{ ty }}): {{ name }}Builder = apply {
        made = made.copy({{ field.name.to_lower_camel_case() }} = {{ value }})
    }
{% endfor %}
    /** Returns the settings. */
    public fun build(): {{ name }} = made
}
{%- endfor %}
