import 'dart:async';

import 'json.dart';
import 'media.dart';
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
/// The model is shown what [run] gives: text as it is, a [ContentPart] or [Parts] as what they are, anything else as JSON. What
/// it throws is this tool's own: the model is told, and the turn goes on. Its arguments fit its schema before it is called.
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
  ToolCall(this.invocation, this.cancelled, this._asking);

  final Asking _asking;
  int _questions = 0;

  final ToolInvocation invocation;

  /// Is done when the result is no longer wanted: the turn was cancelled, or the tool took too long.
  final Future<void> cancelled;

  /// The arguments, which fit the tool's schema.
  JsonObject get arguments => invocation.arguments;

  /// Says how far the call has come, from 0 to 1 if that is known, and what it does now: the event [ToolProgress].
  void report(double? fraction, [String? message]) => _asking.report(invocation, fraction, message);

  /// Shows what there is of the result so far, text, [Parts] or JSON, in the place of what was shown before: the event
  /// [ToolPartialResult]. The model is told the result alone. 256 KiB at most.
  void partial(Object? result) => _asking.partial(invocation, result);

  /// Asks the user, by the agent's `answerer`, and waits for the answer, which fits the question's schema. The tool's own
  /// time stands still meanwhile. An idempotent tool that is run again after a crash and asks the same is given the answer of
  /// before.
  Future<UserAnswer> ask(Question question) => _asking.ask(invocation, _questions++, question);
}

/// Where what a tool says and asks goes.
abstract interface class Asking {
  void report(ToolInvocation invocation, double? fraction, String? message);
  void partial(ToolInvocation invocation, Object? result);
  Future<UserAnswer> ask(ToolInvocation invocation, int number, Question question);
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

/// A tool's result that is more than text: texts, [ContentPart]s and AG-UI's parts in JSON, in order.
final class Parts {
  const Parts(this.parts);

  final List<Object> parts;
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
