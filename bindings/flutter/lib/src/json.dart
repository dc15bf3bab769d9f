/// A JSON object.
typedef Json = Map<String, Object?>;

/// Reads fields that the library always gives; what an app wrote is checked elsewhere.
extension Fields on Json {
  String text(String name) => this[name] as String? ?? '';
  String? maybeText(String name) => this[name] as String?;
  int number(String name) => (this[name] as num?)?.toInt() ?? 0;
  int? maybeNumber(String name) => (this[name] as num?)?.toInt();
  Json object(String name) => this[name] as Json? ?? const {};
  List<Json> objects(String name) => (this[name] as List<Object?>? ?? const []).cast<Json>();
  List<String> texts(String name) => (this[name] as List<Object?>? ?? const []).cast<String>();
}

/// Without the fields that are null.
Json given(Json fields) => {
      for (final MapEntry(:key, :value) in fields.entries)
        if (value != null) key: value,
    };
