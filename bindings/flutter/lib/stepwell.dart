/// The loop between a user, a language model and the app's tools.
///
/// ```dart
/// final agent = Agent(RunConfig(provider: 'openai', model: 'gpt-4o-mini', key: key), tools: [secretNumber]);
/// await for (final event in agent.send("What is Alice's secret number?").events) {
///   if (event case TextMessageContent(:final delta)) stdout.write(delta);
///   // A wrong key, say, is told with the last event.
///   if (event case TurnCompleted(outcome: Outcome(:final problem?))) stdout.writeln(problem.message);
/// }
/// ```
///
/// There are two APIs on one machine: [Agent] does the network IO itself, [RunMachine] leaves all of it to the app.
library;

export 'src/agent.dart' show Agent, JournalSink, Recovered, Turn;
export 'src/approval.dart';
export 'src/config.dart' show ResponseFormat;
export 'src/context.dart';
export 'src/credentials.dart' hide NoInstructions, instructions;
export 'src/effects.dart';
export 'src/errors.dart';
export 'src/events.dart';
export 'src/finished.dart';
export 'src/hooks.dart' hide runHook;
export 'src/json.dart' show JsonObject;
export 'src/machine.dart';
export 'src/media.dart' hide contentOf, partsOf;
export 'src/native.dart' show stepwellVersion;
export 'src/outcomes.dart';
export 'src/registry.dart';
export 'src/session.dart' show Conversation, conversationOf;
export 'src/shapes.dart';
export 'src/start.dart';
export 'src/store.dart';
export 'src/threads.dart';
export 'src/tools.dart';
export 'src/turn_exceptions.dart';
