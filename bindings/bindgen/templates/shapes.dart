// Generated from bindings/src.

import 'compaction.dart';
import 'config.dart';
import 'effects.dart';
import 'events.dart';
import 'json.dart';
import 'outcomes.dart';
import 'threads.dart';
{%- for item in items %}
{% match item %}
{%- when Item::Enum(shape) %}
{{ self::doc_lines(shape.doc, None, 0) }}
enum {{ shape.name }} {
{%- for variant in shape.variants() if json::has(shape.name, variant) %}{% if !loop.first %}
{% endif %}
{{ self::doc_lines(variant.doc, None, 2) }}
  {{ self::value_name(variant.name) }},
{%- endfor %}
}
{%- when Item::Sealed(sealed) %}
{{ self::doc_lines(sealed.shape.doc, None, 0) }}
sealed class {{ sealed.name }} {
  const {{ sealed.name }}({{ sealed.parameters() }});

  factory {{ sealed.name }}.fromJson(JsonObject json) => switch (json.text('type')) {
{%- for variant in sealed.variants() %}
        '{{ json::word(sealed.shape.name, variant) }}' => {{ self::class_name(sealed.shape.name, variant.name) }}.fromJson(json),
{%- endfor %}
{%- if sealed.shape.name == "Event" %}
        final type => AgUiEvent(type, json),
{%- else %}
        final type => throw FormatException('no {{ sealed.shape.name }} is called `$type`'),
{%- endif %}
      };
{%- for field in sealed.shape.common() %}

{{ self::doc_lines(field.doc, None, 2) }}
  final {{ dart.ty(field.ty)? }} {{ json::name(field.name) }};
{%- endfor %}
}
{%- if sealed.shape.name == "Event" %}

/// An update of a `Turn`, as an app shows it: an event of its run. The end of the turn is no update: it is the turn's
/// `result`, or the exception of the stream.
sealed class Update extends RunEvent {
  const Update();
}

/// Any other event of the protocol: where a message begins and ends, a shared state, an activity, what an agent sends of
/// its own.
sealed class AgUiUpdate extends Update {
  const AgUiUpdate();
}
{%- endif %}
{%- when Item::OtherEvents %}
/// Any other event of the protocol, unchanged.
final class AgUiEvent extends AgUiUpdate {
  const AgUiEvent(this.type, this.json);

  final String type;
  final JsonObject json;
}
{%- when Item::Output(class) %}
{{ self::doc_lines(class.doc, None, 0) }}
final class {{ class.name }}{{ class.clauses() }} {
  const {{ class.name }}({{ class.parameters() }});

  factory {{ class.name }}.fromJson(JsonObject json) =>
{%- if class.fields.is_empty() %} const {{ class.name }}();
{%- else %} {{ class.name }}(
{%- for field in class.fields %}
        {% if field.ty.is_optional() %}{{ json::name(field.name) }}: {% endif %}{{ dart.read(field)? }},
{%- endfor %}
      );
{%- endif %}
{%- for field in class.own_fields() %}

{{ dart.field_doc(field.doc, field.ty)? }}
{%- if class.overrides(field) %}
  @override
{%- endif %}
  final {{ dart.ty(field.ty)? }} {{ json::name(field.name) }};
{%- endfor %}
{%- if class.is_written() %}

  /// Converts to JSON, for `fromJson`.
  JsonObject toJson() => given({
{%- for field in class.fields %}
        '{{ json::key(field) }}': {{ dart.write(field)? }},
{%- endfor %}
      });
{%- endif %}
}
{%- when Item::Input(class) %}
{{ self::doc_lines(class.shape.doc, None, 0) }}
final class {{ class.shape.name }} {
  const {{ class.shape.name }}({% for field in class.positional %}this.{{ field.name }}, {% endfor %}{
{%- for field in class.named %}
    {% if field.is_required %}required {% endif %}this.{{ field.name }}
{%- if let Some(default) = field.default %} = {{ default }}{% endif %},
{%- endfor %}
  });
{%- for field in class.all() %}

{{ dart.field_doc(field.doc, field.rust.ty)? }}
  final {{ field.ty }} {{ field.name }};
{%- endfor %}

{{ self::doc_lines(&class.copy_doc(), None, 2) }}
  {{ class.shape.name }} copyWith({
{%- for field in class.all() %}
    {{ field.copy_type() }}? {{ field.name }},
{%- endfor %}
  }) =>
      {{ class.shape.name }}(
{%- for field in class.positional %}
        {{ field.copied() }},
{%- endfor %}
{%- for field in class.named %}
        {{ field.name }}: {{ field.copied() }},
{%- endfor %}
      );
{%- if class.shape.name == "RunConfig" %}

  @override
  String toString() => 'RunConfig($provider $model)';
{%- endif %}

  /// Converts to the library's form.
  JsonObject toJson() => {% if class.omits_null() %}given({% endif %}{
{%- for field in class.all() %}
        '{{ field.key }}': {{ field.json }},
{%- endfor %}
      }{% if class.omits_null() %}){% endif %};
}
{%- endmatch %}
{%- endfor %}
