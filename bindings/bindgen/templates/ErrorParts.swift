// Generated from bindings/src.
{%- for error in errors %}

extension {{ error.name }} {
    /// The values of every case.
    var parts: ({% for field in error.common() %}{{ field.name.to_lower_camel_case() }}: {{ self::ty(field.raw_ty)? }}{% if !loop.last %}, {% endif %}{% endfor %}) {
        switch self {
        case
{%- for variant in error.variants() %}
            .{{ variant.name }}({% call names(error, "let ") %}{% endcall %}){% if loop.last %}:{% else %},{% endif %}
{%- endfor %}
            ({% call names(error, "") %}{% endcall %})
        }
    }
}
{%- endfor %}
{%- macro names(error, prefix) %}
{%- for field in error.common() %}{{ prefix }}{{ field.name.to_lower_camel_case() }}{% if !loop.last %}, {% endif %}{% endfor %}
{%- endmacro %}
