import 'json.dart';
import 'outcomes.dart';
import 'turn_exceptions.dart';

/// A turn that is over.
final class Finished {
  const Finished(this.outcome, this.text, this.messages, this.usage, this.hops, {this.output});

  final Outcome outcome;

  /// All that the model said in it.
  final String text;

  /// The conversation after it: AG-UI messages.
  final List<JsonObject> messages;

  /// What it cost, over all its hops.
  final TokenUsage usage;

  /// How many streams it took.
  final int hops;

  /// The typed answer; null if there was to be none, or the turn has not ended well.
  final Object? output;

  /// Itself, if the answer is whole; else throws the [TurnException] of the kind.
  Finished get whole => switch (outcome.problem) {
        null => this,
        final problem? => throw TurnException.of(problem, this),
      };
}
