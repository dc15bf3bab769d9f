// Generated from bindings/src.

part of '{{ library }}.dart';

{{ head }}
{%- for method in methods if method.is_call() %}

{{ self::doc_lines(&method.json_doc(), None, 2) }}
{{ self.method(method)? }}
{%- endfor %}
}
