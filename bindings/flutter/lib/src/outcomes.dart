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

  /// What kept the turn from a whole answer; nothing if the answer is whole.
  final Problem? problem;

  /// As the library has it.
  JsonObject toJson();
}

/// As it should.
final class SuccessOutcome extends Outcome {
  const SuccessOutcome();

  @override
  JsonObject toJson() => const {'outcome': 'success'};
}

/// The user stopped it.
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

/// The model stopped before its answer was whole. What it said stands.
final class IncompleteOutcome extends Outcome {
  const IncompleteOutcome(this.reason, this.message, {super.problem});

  /// Why: `length`, `contentFilter`, `refusal` or `limit`.
  final String reason;

  /// The same in words.
  final String message;

  @override
  JsonObject toJson() => {'outcome': 'incomplete', 'reason': reason, 'message': message};
}

/// One of the run's limits was reached.
final class LimitReachedOutcome extends Outcome {
  const LimitReachedOutcome(this.limit, this.message, {this.details = const {}, super.problem});

  /// Which: `maxToolRounds`, `maxTokens`, …
  final String limit;

  /// The same in words.
  final String message;

  /// All that is known of it.
  final JsonObject details;

  @override
  JsonObject toJson() => {'outcome': 'limitReached', 'limit': details, 'message': message};
}

/// It failed.
final class FailedOutcome extends Outcome {
  const FailedOutcome(this.failure, this.message, {required this.transient, this.details = const {}, super.problem});

  /// The kind of failure, such as `api` or `connection`.
  final String failure;

  /// The same in words.
  final String message;

  /// Whether the same may go well another time.
  final bool transient;

  /// All that is known of it.
  final JsonObject details;

  @override
  JsonObject toJson() => {'outcome': 'failed', 'failure': details, 'message': message, 'transient': transient};
}

/// How many tokens a turn used, and what they cost, over all its hops. An absent count is unknown, not zero.
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

  /// What they cost, in US dollars: as the provider says it, else by the model's price.
  final double? cost;

  /// Every count, as AG-UI names them.
  final JsonObject all;
}
