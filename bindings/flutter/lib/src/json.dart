/// A JSON object.
typedef JsonObject = Map<String, Object?>;

/// Reads fields that the library always sets; an app's JSON is checked elsewhere.
extension Fields on JsonObject {
  String text(String name) => this[name] as String? ?? '';
  String? maybeText(String name) => this[name] as String?;
  int number(String name) => (this[name] as num?)?.toInt() ?? 0;
  int? maybeNumber(String name) => (this[name] as num?)?.toInt();
  JsonObject object(String name) => this[name] as JsonObject? ?? const {};
  List<JsonObject> objects(String name) => (this[name] as List<Object?>? ?? const []).cast<JsonObject>();
  List<String> texts(String name) => (this[name] as List<Object?>? ?? const []).cast<String>();
}

/// Returns the object without the fields that are null.
JsonObject given(JsonObject fields) => {
      for (final MapEntry(:key, :value) in fields.entries)
        if (value != null) key: value,
    };
