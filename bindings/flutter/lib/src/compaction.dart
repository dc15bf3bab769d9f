import 'json.dart';
import 'shapes.dart';

/// A way to make a conversation shorter, for [CompactionPolicy].
sealed class CompactionWay {
  const CompactionWay();

  /// The results of old tool calls are replaced by a short marker, but for the newest `keep`. The calls stay, and so do
  /// the results that the model has not seen.
  const factory CompactionWay.dropResults({required int keep}) = DropResults;

  /// A model writes a summary of the older messages, which are then left out: the agent's `summaryModel`, or its own. Its
  /// request is retried as any other, and is part of the turn's cost; hooks do not see it. If no summary comes, the turn
  /// continues without one. `instructions` are for that model, instead of Stepwell's; `keep` is the part of the context
  /// that the newest messages may fill, which stay as they are.
  const factory CompactionWay.summary({String? instructions, double keep, FallbackModel? model}) = Summary;

  /// The provider compacts the conversation itself, with the request that exceeds the limit: Anthropic and OpenAI's
  /// Responses (and Azure's) can. The ways after this one are used if the model's provider cannot, or the request would not
  /// fit at all.
  const factory CompactionWay.provider() = CompactedByProvider;

  /// The app chooses what to leave out: an agent's `trimContext`, or the answer to the effect `TrimContext`.
  const factory CompactionWay.host() = CompactedByHost;

  JsonObject toJson();
}

/// The results of old tool calls are dropped.
final class DropResults extends CompactionWay {
  const DropResults({required this.keep});

  /// The number of newest results that stay.
  final int keep;

  @override
  JsonObject toJson() => {'type': 'dropResults', 'keep': keep};
}

/// A model writes a summary.
final class Summary extends CompactionWay {
  const Summary({this.instructions, this.keep = 0.25, this.model});

  /// The instructions for the model, instead of Stepwell's.
  final String? instructions;

  /// The part of the context that the newest messages may fill, which stay as they are.
  final double keep;

  /// The model of a [RunConfig]; its own if null. An `Agent` takes it as its `summaryModel`.
  final FallbackModel? model;

  @override
  JsonObject toJson() => given({
        'type': 'summary',
        'instructions': instructions,
        'keep': keep,
        'model': model?.toJson(),
      });
}

/// The provider compacts the conversation.
final class CompactedByProvider extends CompactionWay {
  const CompactedByProvider();

  @override
  JsonObject toJson() => const {'type': 'provider'};
}

/// The app chooses.
final class CompactedByHost extends CompactionWay {
  const CompactedByHost();

  @override
  JsonObject toJson() => const {'type': 'host'};
}

/// The policy with this model for its summaries, which are the last way if they are none yet.
CompactionPolicy summarizedBy(FallbackModel? model, CompactionPolicy policy) {
  if (model == null) return policy;
  final ways = [...policy.ways];
  final number = ways.indexWhere((way) => way is Summary);
  if (number < 0) return policy.copyWith(ways: [...ways, Summary(model: model)]);
  final Summary(:instructions, :keep) = ways[number] as Summary;
  ways[number] = Summary(instructions: instructions, keep: keep, model: model);
  return policy.copyWith(ways: ways);
}
