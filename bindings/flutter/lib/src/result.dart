import 'json.dart';
import 'outcomes.dart';

/// A turn that is over: its answer, and the conversation after it.
final class TurnResult<T> {
  const TurnResult(
    this.output, {
    required this.text,
    required this.fullText,
    required this.messages,
    required this.usage,
    required this.stopReason,
    required this.hops,
  });

  /// The answer, as a value of the type that was asked for; the text if none was.
  final T output;

  /// The text of the model's last message.
  final String text;

  /// All the text that was shown in the turn.
  final String fullText;

  /// The conversation after the turn: AG-UI messages, oldest first.
  final List<JsonObject> messages;

  /// What the turn used, over all its hops.
  final TokenUsage usage;

  /// Why the turn ended: `success` for a complete answer; otherwise how the model's answer stopped short (`length`,
  /// `contentFilter`, …), or the end of the turn: `limitReached`, `cancelled`, `truncated`, `failed`.
  final String stopReason;

  /// How many requests to the model the turn took.
  final int hops;

  /// What the turn cost, in US dollars; null if no price is known.
  double? get cost => usage.cost;
}

/// The end of a turn, as its machine has it.
final class Ended {
  const Ended(this.outcome, this.fullText, this.messages, this.usage, this.hops, {this.output});

  final Outcome outcome;
  final String fullText;
  final List<JsonObject> messages;
  final TokenUsage usage;
  final int hops;

  /// The typed answer, not decoded.
  final Object? output;

  /// The text of the model's last message since the user's last one.
  String get text {
    for (final message in messages.reversed) {
      final content = message['content'];
      if (message['role'] == 'user') break;
      if (message['role'] == 'assistant' && content is String && content.isNotEmpty) return content;
    }
    return '';
  }

  String get _stopReason => switch (outcome) {
        IncompleteOutcome(:final reason) => reason,
        SuccessOutcome() => 'success',
        CancelledOutcome() => 'cancelled',
        TruncatedOutcome() => 'truncated',
        LimitReachedOutcome() => 'limitReached',
        FailedOutcome() => 'failed',
      };

  /// The result with this output.
  TurnResult<T> result<T>(T output) => TurnResult(
        output,
        text: text,
        fullText: fullText,
        messages: messages,
        usage: usage,
        stopReason: _stopReason,
        hops: hops,
      );
}
