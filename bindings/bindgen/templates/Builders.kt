// Generated from bindings/src.

package dev.stepwell

{{ super::edits::IMPORTS }}import kotlin.time.toKotlinDuration
{%- for (record, fields) in records %}

/** Makes a [{{ record }}]. Settings that are not set have their defaults. Java sets each with the method of its name. */
@StepwellDsl
public class {{ record }}Builder internal constructor(private var made: {{ record }}) {
    /** Begins with the defaults. */
    public constructor(
{%- for field in *fields if field.default.is_none() %}
{%- let name = field.name.to_lower_camel_case() %}
{%- let (ty, _) = self::parameter(field, name)? %}{{ name }}: {{ ty }}{% if !loop.last %}, {% endif %}
{%- endfor %}) : this({{ record }}(
{%- for field in *fields if field.default.is_none() %}
{%- let name = field.name.to_lower_camel_case() %}
{%- let (_, value) = self::parameter(field, name)? %}{{ name }} = {{ value }}{% if !loop.last %}, {% endif %}
{%- endfor %}))
{% for field in *fields if field.default.is_some() %}
{%- let name = field.name.to_lower_camel_case() %}
{%- let (ty, value) = self::parameter(field, "value")? %}
{{ super::doc(field.doc) }}
    public var {{ name }}: {{ self::field_ty(field)? }}
        get() = made.{{ name }}
        set(value) {
            made = made.copy({{ name }} = value{{ self::check(field) }})
        }

{{ super::doc(field.doc) }}
    public fun {{ name }}(value: {{ ty }}): {{ record }}Builder = apply { this.{{ name }} = {{ value }} }
{% endfor %}
    /** Returns the settings. */
    public fun build(): {{ record }} = made
}
{%- endfor %}
