import 'json.dart';

/// A JSON Schema for the model's answer.
final class ResponseSchema {
  const ResponseSchema(this.name, this.schema, {this.strict = true});

  /// Letters, digits, `_` and `-`.
  final String name;
  final Json schema;

  /// Whether the provider must hold the model to it, where it can be asked to.
  final bool strict;

  Json toJson() => {'name': name, 'schema': schema, 'strict': strict};
}

/// A choice of tools as the library takes it.
Object? choiceAsJson(String? choice) => switch (choice) {
      null || 'auto' || 'never' || 'required' => choice,
      final name => {'name': name},
    };
