// Generated from bindings/src.

package dev.stepwell

{{ edits::IMPORTS }}
/** The options of an [Agent], besides its model: the settings of its turns. */
public abstract class AgentOptions<out B> internal constructor() {
{%- for field in options if !self::is_of_model(field) %}
{{ self::doc(field.doc) }}
    public var {{ field.name.to_lower_camel_case() }}: {{ self::field_ty(field)? }} = {{ self::default(field)? }}

    /** Sets `{{ field.name.to_lower_camel_case() }}`; for Java. */
    public fun {{ field.name.to_lower_camel_case() }}(value: {{ self::field_ty(field)? }}): B {
        {{ field.name.to_lower_camel_case() }} = value
        return self()
    }
{% if let Some(record) = self::block(field) %}
    /** Changes `{{ field.name.to_lower_camel_case() }}`: what the block does not set stays. */
    public fun {{ field.name.to_lower_camel_case() }}(set: {{ record }}Builder.() -> Unit) {
        {{ field.name.to_lower_camel_case() }} = {{ record }}Builder({{ field.name.to_lower_camel_case() }}).apply(set).build()
    }
{% endif %}
{%- endfor %}
    @Suppress("UNCHECKED_CAST")
    private fun self(): B = this as B

    /** The configuration, without the key. */
    internal fun config(of: Model): RunConfig =
        RunConfig(
            provider = of.provider,
            model = of.name,
            api = of.api,
            baseUrl = of.baseUrl,
            headers = of.headers,
            providers = of.customProviders,
{%- for field in options if !self::is_of_model(field) %}
            {{ field.name.to_lower_camel_case() }} = {{ field.name.to_lower_camel_case() }},
{%- endfor %}
        )
}
