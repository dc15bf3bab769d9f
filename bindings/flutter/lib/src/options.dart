import 'approval.dart';
import 'credentials.dart';
import 'json.dart';
import 'model.dart';
import 'shapes.dart';
import 'tools.dart';

/// The type of an answer: its JSON Schema is sent to the model, and `fromJson` reads the answer. An answer that does not
/// fit the schema, or at which `fromJson` throws, goes back to the model with the reason.
///
/// ```dart
/// final trip = Output('Trip', {
///   'type': 'object',
///   'properties': {'city': {'type': 'string'}, 'days': {'type': 'integer'}},
///   'required': ['city', 'days'],
/// }, Trip.fromJson);
/// final Trip(:city, :days) = (await agent.runAs('Three days in Norway: where?', trip)).output;
/// ```
final class Output<T> {
  const Output(this.name, this.schema, this.fromJson, {this.description, this.mode, this.retries});

  /// The name of the type, which the model sees: letters, digits, `_` and `-`.
  final String name;

  /// The JSON Schema of the type.
  final JsonObject schema;

  /// Reads the answer.
  final T Function(JsonObject value) fromJson;

  /// A description for the model, in addition to the schema.
  final String? description;

  /// How the model is held to the type; as its provider can if null.
  final OutputMode? mode;

  /// How often the model is asked again after an answer that does not fit; 2 if null.
  final int? retries;
}

/// How one run differs from its agent; an option that is left out is as in the agent. The options of a stored turn are
/// stored with it, except for the model, the headers, and all that is code.
final class RunOptions {
  const RunOptions({
    this.model,
    this.instructions,
    this.settings,
    this.limits,
    this.toolNames,
    this.tools = const [],
    this.user,
    this.headers = const {},
    this.wholeHistory = false,
    this.approver,
    this.answerer,
    this.whenBusy,
    this.deps,
  });

  /// The model that is asked instead of the agent's.
  final Model? model;

  /// The app's instructions, instead of the agent's.
  final String? instructions;

  /// The settings for the model's answers; they override those of the agent.
  final GenerationSettings? settings;

  /// The limits of the turn, which replace all of the agent's limits.
  final Limits? limits;

  /// Which of the agent's tools are on offer, by name; all of them if null.
  final List<String>? toolNames;

  /// Tools of this run only. A tool replaces the agent's tool of the same name.
  final List<Tool> tools;

  /// The end user that the turn is for, as `GenerationSettings.user`.
  final String? user;

  /// Additional headers, which replace the model's headers of the same names.
  final Map<String, String> headers;

  /// Whether the turn begins from the complete conversation, and not from the compacted one that earlier turns left.
  final bool wholeHistory;

  /// Asks the user to approve tools, instead of the agent's.
  final Approver? approver;

  /// Asks the user the questions of running tools, instead of the agent's.
  final Answerer? answerer;

  /// What happens if another turn of the conversation is under way.
  final WhenBusy? whenBusy;

  /// The value for the tools of the run, which their code finds in [ToolCall.deps].
  final Object? deps;

  /// The options in the form of a [RunMachine]'s.
  TurnOptions get turn => TurnOptions(
        instructions: instructions,
        settings: settings,
        limits: limits,
        toolNames: toolNames,
        tools: [for (final tool in tools) tool.definition],
        user: user,
        headers: headers,
        wholeHistory: wholeHistory,
      );
}
