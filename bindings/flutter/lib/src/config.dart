import 'json.dart';

/// What form the answer has.
final class ResponseFormat {
  const ResponseFormat._(this._json);

  /// JSON of a schema. Its name is of letters, digits, `_` and `-`. A strict one the provider must hold the model to,
  /// where it can be asked to.
  ResponseFormat.schema(String name, JsonObject schema, {bool strict = true})
      : this._({'name': name, 'schema': schema, 'strict': strict});

  /// Text.
  static const text = ResponseFormat._('text');

  /// Some JSON object.
  static const json = ResponseFormat._('json');

  final Object _json;

  Object toJson() => _json;
}

/// A choice of tools as the library takes it.
Object? choiceAsJson(String? choice) => switch (choice) {
      null || 'auto' || 'never' || 'required' => choice,
      final name => {'name': name},
    };
