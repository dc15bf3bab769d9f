import 'json.dart';
import 'outcomes.dart';
import 'turn_exceptions.dart';

/// A turn that is over.
final class Finished {
  const Finished(this.outcome, this.text, this.messages, this.usage, this.hops, {this.output});

  final Outcome outcome;

  /// All that the model said in the turn.
  final String text;

  /// The conversation after the turn: AG-UI messages.
  final List<JsonObject> messages;

  /// What the turn cost, over all its hops.
  final TokenUsage usage;

  /// How many streams the turn took.
  final int hops;

  /// The typed answer; null if none was asked for, or the turn has not succeeded.
  final Object? output;

  /// Returns itself, if the answer is complete; otherwise throws the [TurnException] of the kind.
  Finished get whole => switch (outcome.problem) {
        null => this,
        final problem? => throw TurnException.of(problem, this),
      };
}
