import 'json.dart';
import 'shapes.dart';

/// How a turn ended.
sealed class Outcome {
  const Outcome({this.problem});

  factory Outcome.fromJson(JsonObject json) {
    final problem = json['problem'] == null ? null : Problem.fromJson(json.object('problem'));
    return switch (json.text('outcome')) {
      'success' => const SuccessOutcome(),
      'cancelled' => CancelledOutcome(problem: problem),
      'truncated' => TruncatedOutcome(problem: problem),
      'incomplete' => IncompleteOutcome(json.text('reason'), json.text('message'), problem: problem),
      'limitReached' => LimitReachedOutcome(
          json.object('limit').text('kind'),
          json.text('message'),
          details: json.object('limit'),
          problem: problem,
        ),
      _ => FailedOutcome(
          json.object('failure').text('failure'),
          json.text('message'),
          transient: json['transient'] == true,
          details: json.object('failure'),
          problem: problem,
        ),
    };
  }

  /// What kept the turn from a complete answer; null if the answer is complete.
  final Problem? problem;

  /// The outcome in the library's form.
  JsonObject toJson();
}

/// The turn succeeded.
final class SuccessOutcome extends Outcome {
  const SuccessOutcome();

  @override
  JsonObject toJson() => const {'outcome': 'success'};
}

/// The user stopped the turn.
final class CancelledOutcome extends Outcome {
  const CancelledOutcome({super.problem});

  @override
  JsonObject toJson() => const {'outcome': 'cancelled'};
}

/// The model's answer was cut off.
final class TruncatedOutcome extends Outcome {
  const TruncatedOutcome({super.problem});

  @override
  JsonObject toJson() => const {'outcome': 'truncated'};
}

/// The model stopped before its answer was complete. What it said is kept.
final class IncompleteOutcome extends Outcome {
  const IncompleteOutcome(this.reason, this.message, {super.problem});

  /// The reason: `length`, `contentFilter`, `refusal` or `limit`.
  final String reason;

  /// The reason in words.
  final String message;

  @override
  JsonObject toJson() => {'outcome': 'incomplete', 'reason': reason, 'message': message};
}

/// One of the run's limits was reached.
final class LimitReachedOutcome extends Outcome {
  const LimitReachedOutcome(this.limit, this.message, {this.details = const {}, super.problem});

  /// The limit: `maxToolRounds`, `maxTokens`, …
  final String limit;

  /// The limit in words.
  final String message;

  /// All fields of the limit.
  final JsonObject details;

  @override
  JsonObject toJson() => {'outcome': 'limitReached', 'limit': details, 'message': message};
}

/// The turn failed.
final class FailedOutcome extends Outcome {
  const FailedOutcome(this.failure, this.message, {required this.transient, this.details = const {}, super.problem});

  /// The kind of failure, such as `api` or `connection`.
  final String failure;

  /// The failure in words.
  final String message;

  /// Whether a later attempt may succeed.
  final bool transient;

  /// All fields of the failure.
  final JsonObject details;

  @override
  JsonObject toJson() => {'outcome': 'failed', 'failure': details, 'message': message, 'transient': transient};
}

/// The tokens that a turn used, and their cost, over all its hops. An absent count is unknown, not zero.
final class TokenUsage {
  const TokenUsage({this.inputTokens, this.outputTokens, this.totalTokens, this.cost, this.all = const {}});

  factory TokenUsage.fromJson(JsonObject json) => TokenUsage(
        inputTokens: json.maybeNumber('inputTokens'),
        outputTokens: json.maybeNumber('outputTokens'),
        totalTokens: json.maybeNumber('totalTokens'),
        cost: (json['cost'] as num?)?.toDouble(),
        all: json,
      );

  final int? inputTokens;
  final int? outputTokens;
  final int? totalTokens;

  /// The cost, in US dollars: as the provider reports it, otherwise by the model's price.
  final double? cost;

  /// Every count, by AG-UI's names.
  final JsonObject all;
}
