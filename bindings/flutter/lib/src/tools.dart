import 'dart:async';

import 'json.dart';
import 'shapes.dart';

/// A tool of an `Agent`, with its code.
///
/// ```dart
/// final secretNumber = Tool(
///   'get_secret_number',
///   'The secret number of a person.',
///   properties: {'name': Schema.text('Whose number.')},
///   run: (call) async => numbers[call.arguments['name']] ?? (throw ToolException('nobody knows')),
/// );
/// ```
///
/// The model is shown what [run] gives: text as it is, [Parts] as they are, anything else as JSON. What it throws is this tool's own: the
/// model is told, and the turn goes on. Its arguments fit its schema before it is called.
final class Tool {
  Tool(
    String name,
    String description, {
    Map<String, JsonObject> properties = const {},
    List<String> optional = const [],
    JsonObject? parameters,
    bool requiresApproval = false,
    bool idempotent = false,
    bool repeatable = false,
    Duration? timeout,
    required this.run,
  }) : definition = ToolDefinition(
          name,
          description,
          parameters: parameters ?? Schema.object(properties, optional: optional),
          requiresApproval: requiresApproval,
          idempotent: idempotent,
          repeatable: repeatable,
          timeout: timeout,
        );

  final ToolDefinition definition;
  final FutureOr<Object?> Function(ToolCall call) run;
}

/// A call of a tool.
final class ToolCall {
  ToolCall(this.invocation, this.cancelled);

  final ToolInvocation invocation;

  /// Is done when the result is no longer wanted: the turn was cancelled, or the tool took too long.
  final Future<void> cancelled;

  /// The arguments, which fit the tool's schema.
  JsonObject get arguments => invocation.arguments;
}

/// What a tool throws to tell the model why it could not do its work.
final class ToolException implements Exception {
  const ToolException(this.message);

  /// For the model to read.
  final String message;

  @override
  String toString() => message;
}

/// What a tool throws that has begun something whose result comes later, in minutes or days, by `Turn.finishCall`.
final class Deferred implements Exception {
  const Deferred();
}

/// A tool's result that is more than text: AG-UI content parts, such as pictures.
final class Parts {
  const Parts(this.parts);

  final List<JsonObject> parts;
}

/// The JSON Schemas of arguments.
abstract final class Schema {
  static JsonObject text(String description, {List<String>? oneOf}) =>
      given({'type': 'string', 'description': description, 'enum': oneOf});

  static JsonObject integer(String description) => {'type': 'integer', 'description': description};

  static JsonObject number(String description) => {'type': 'number', 'description': description};

  static JsonObject boolean(String description) => {'type': 'boolean', 'description': description};

  static JsonObject listOf(JsonObject items, String description) => {'type': 'array', 'items': items, 'description': description};

  /// An object with these properties, all but those of [optional] required.
  static JsonObject object(Map<String, JsonObject> properties, {List<String> optional = const []}) => {
        'type': 'object',
        'properties': properties,
        'required': [
          for (final name in properties.keys)
            if (!optional.contains(name)) name,
        ],
      };
}
