// Generated from bindings/src.

package dev.stepwell
{%- for field in shape.common() %}

/** {{ STYLE.text(field.doc, None) }} */
public val {{ shape.name }}.{{ field.name.to_lower_camel_case() }}: {{ self::field_ty(field)? }}
    get() = when (this) {
{%- for variant in shape.variants() %}
        is {{ shape.name }}.{{ variant.name }} -> {{ field.name.to_lower_camel_case() }}
{%- endfor %}
    }
{%- endfor %}
