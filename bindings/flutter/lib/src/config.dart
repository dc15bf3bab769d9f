import 'json.dart';

/// The form of the answer.
final class ResponseFormat {
  const ResponseFormat._(this._json);

  /// JSON with a schema. The name has letters, digits, `_` and `-`. With `strict` the provider must hold the model to
  /// the schema, if it can.
  ResponseFormat.schema(String name, JsonObject schema, {bool strict = true})
      : this._({'name': name, 'schema': schema, 'strict': strict});

  /// Text.
  static const text = ResponseFormat._('text');

  /// Some JSON object.
  static const json = ResponseFormat._('json');

  final Object _json;

  Object toJson() => _json;
}

/// A choice of tools in the library's form.
Object? choiceAsJson(String? choice) => switch (choice) {
      null || 'auto' || 'never' || 'required' => choice,
      final name => {'name': name},
    };
