/// The loop between a user, a language model and the app's tools.
///
/// ```dart
/// final agent = Agent(Model.openai('gpt-5-mini', apiKey: key), tools: [secretNumber]);
/// try {
///   await for (final text in agent.stream("What is Alice's secret number?").textStream) stdout.write(text);
/// } on StepwellException catch (error) {
///   stderr.writeln(error);
/// }
/// ```
///
/// There are two APIs on one machine: [Agent] does the network IO itself, [RunMachine] leaves all of it to the app.
library;

export 'src/agent.dart' show Agent, Conversation, JournalSink, Recovered, Turn;
export 'src/approval.dart';
export 'src/chat_reducer.dart';
export 'src/chat_state.dart';
export 'src/compaction.dart' hide summarizedBy;
export 'src/config.dart' show ResponseFormat;
export 'src/context.dart';
export 'src/credentials.dart' hide NoInstructions, instructions;
export 'src/effects.dart';
export 'src/errors.dart' hide nothingWaits;
export 'src/events.dart';
export 'src/hooks.dart' hide runHook;
export 'src/json.dart' show JsonObject;
export 'src/machine.dart';
export 'src/media.dart' hide contentOf, partsOf;
export 'src/model.dart';
export 'src/native.dart' show stepwellVersion;
export 'src/options.dart';
export 'src/outcomes.dart';
export 'src/registry.dart';
export 'src/result.dart' show TurnResult;
export 'src/session.dart' show Transcript, conversationOf, pendingOf;
export 'src/shapes.dart';
export 'src/sqlite_store.dart';
export 'src/start.dart';
export 'src/store.dart';
export 'src/threads.dart';
export 'src/tools.dart';
export 'src/turn_exceptions.dart';
