import 'machine.dart';
import 'outcomes.dart';
import 'shapes.dart';

/// The most models that are remembered; of more, the first one is forgotten.
const _most = 1024;

/// When the rest of each model ends: models that have failed a short time ago, of which
/// turns with a fallback ask others first.
final _rests = <String, DateTime>{};

/// The names and the place of a model.
typedef _Named = ({String provider, String model, String? baseUrl});

/// The models that a turn may ask, by their numbers.
List<_Named> _modelsOf(RunConfig config) => [
      (provider: config.provider, model: config.model, baseUrl: config.baseUrl),
      for (final FallbackModel(:provider, :model, :baseUrl) in config.fallback.models)
        (provider: provider, model: model, baseUrl: baseUrl),
    ];

String _keyOf(_Named place) => '${place.provider}\n${place.baseUrl}\n${place.model}';

/// The number of a model; -1 if there is none of these names.
int numberOf(RunConfig config, ModelName? named) => _modelsOf(config)
    .indexWhere((place) => place.provider == named?.provider && place.model == named?.model);

/// Tells a run that is to begin which of its models rest.
void tellRests(RunConfig config, RunMachine machine) {
  if (config.fallback.models.isEmpty) return;
  final now = DateTime.now();
  for (final (number, place) in _modelsOf(config).indexed) {
    final until = _rests[_keyOf(place)];
    if (until != null && until.isAfter(now)) machine.modelResting(number, until);
  }
}

/// Notes that the turn's model has failed, or was replaced after a failure.
void noteFailure(RunConfig config, ModelName? named) {
  final number = numberOf(config, named);
  if (config.fallback.models.isEmpty || number < 0) return;
  final rest = config.fallback.rest ?? const Duration(minutes: 1);
  final key = _keyOf(_modelsOf(config)[number]);
  _rests.remove(key);
  _rests[key] = DateTime.now().add(rest);
  if (_rests.length > _most) _rests.remove(_rests.keys.first);
}

/// Notes how a turn ended that asked this model last.
void noteEnd(RunConfig config, ModelName? named, Outcome outcome) {
  final number = numberOf(config, named);
  if (outcome is SuccessOutcome && number >= 0) _rests.remove(_keyOf(_modelsOf(config)[number]));
  // The deadline of a turn is no model's fault.
  final isTurns = outcome is FailedOutcome && outcome.failure == 'timedOut' && outcome.details['deadline'] == 'turn';
  if (!isTurns && config.fallback.after.contains(outcome.problem?.kind)) noteFailure(config, named);
}
