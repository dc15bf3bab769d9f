import 'json.dart';
import 'shapes.dart';

/// How a turn ended.
sealed class Outcome {
  const Outcome({this.problem});

  factory Outcome.fromJson(Json json) {
    final problem = json['problem'] == null ? null : Problem.fromJson(json.object('problem'));
    return switch (json.text('outcome')) {
      'success' => const Success(),
      'cancelled' => Cancelled(problem: problem),
      'truncated' => Truncated(problem: problem),
      'incomplete' => Incomplete(json.text('reason'), json.text('message'), problem: problem),
      'limitReached' => LimitReached(json.object('limit').text('kind'), json.text('message'), problem: problem),
      _ => Failed(
          json.object('failure').text('failure'),
          json.text('message'),
          transient: json['transient'] == true,
          details: json.object('failure'),
          problem: problem,
        ),
    };
  }

  /// What kept the turn from a whole answer; nothing if the answer is whole.
  final Problem? problem;
}

/// As it should.
final class Success extends Outcome {
  const Success();
}

/// The user stopped it.
final class Cancelled extends Outcome {
  const Cancelled({super.problem});
}

/// The model's answer was cut off.
final class Truncated extends Outcome {
  const Truncated({super.problem});
}

/// The model stopped before its answer was whole. What it said stands.
final class Incomplete extends Outcome {
  const Incomplete(this.reason, this.message, {super.problem});

  /// Why: `length`, `contentFilter`, `refusal` or `limit`.
  final String reason;

  /// The same in words.
  final String message;
}

/// One of the run's limits was reached.
final class LimitReached extends Outcome {
  const LimitReached(this.limit, this.message, {super.problem});

  /// Which: `maxToolRounds`, `maxTokens`, …
  final String limit;

  /// The same in words.
  final String message;
}

/// It failed.
final class Failed extends Outcome {
  const Failed(this.failure, this.message, {required this.transient, this.details = const {}, super.problem});

  /// The kind of failure, such as `api` or `connection`.
  final String failure;

  /// The same in words.
  final String message;

  /// Whether the same may go well another time.
  final bool transient;

  /// All that is known of it.
  final Json details;
}

/// How many tokens a turn used, over all its hops. An absent count is unknown, not zero.
final class TokenUsage {
  const TokenUsage({this.inputTokens, this.outputTokens, this.totalTokens, this.all = const {}});

  factory TokenUsage.fromJson(Json json) => TokenUsage(
        inputTokens: json.maybeNumber('inputTokens'),
        outputTokens: json.maybeNumber('outputTokens'),
        totalTokens: json.maybeNumber('totalTokens'),
        all: json,
      );

  final int? inputTokens;
  final int? outputTokens;
  final int? totalTokens;

  /// Every count, as AG-UI names them.
  final Json all;
}
