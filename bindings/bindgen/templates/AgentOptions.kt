// Generated from bindings/src.

package dev.stepwell

{{ edits::IMPORTS }}
/** The options of an [Agent]: its model, and the settings of its turns. */
public abstract class AgentOptions internal constructor(
{%- for field in options if self::is_argument(field) %}
    private val {{ field.name.to_lower_camel_case() }}: {{ self::field_ty(field)? }},
{%- endfor %}
) {
{%- for field in options if !self::is_argument(field) %}
{{ self::doc(field.doc) }}
    public var {{ field.name.to_lower_camel_case() }}: {{ self::field_ty(field)? }} = {{ self::default(field)? }}
{% endfor %}
    internal fun config(): RunConfig =
        RunConfig(
{%- for field in options %}
            {{ field.name.to_lower_camel_case() }} = {{ field.name.to_lower_camel_case() }},
{%- endfor %}
        )
}
