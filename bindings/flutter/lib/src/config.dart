import 'json.dart';
import 'tools.dart';

/// All that a run is to know before it starts. It is no part of a snapshot, so keys never reach the store. What is left
/// out is as Stepwell has it; `null` for a limit or a time is none.
final class RunConfig {
  const RunConfig({
    required this.provider,
    this.model = '',
    this.api,
    this.baseUrl,
    this.key,
    this.headers = const {},
    this.instructions,
    this.tools = const [],
    this.settings = const GenerationSettings(),
    this.limits = const Limits(),
    this.retry = const RetryPolicy(),
    this.timeouts = const Timeouts(),
    this.hostMakesRuns = false,
    this.persistAttempts,
    this.partialArguments = false,
    this.device = const DevicePolicy(),
    this.resumption,
    this.providers = const [],
    this.text = const TextOptions(),
    this.context = const ContextGuard(),
    this.agUi = const AgUiOptions(),
  });

  /// The provider's name, such as `openai` or `openai-compatible`; `ag-ui` for an agent.
  final String provider;

  /// The model's name, as the provider has it.
  final String model;

  /// Which of the provider's APIs; its usual one if left out.
  final String? api;

  /// An address in place of the provider's own; for AG-UI the agent's whole address.
  final String? baseUrl;

  /// The API key. What is shipped with an app can be read by anyone: give it only where the user brings their own.
  final String? key;

  /// Headers to send besides the provider's own.
  final Map<String, String> headers;

  /// The app's own instructions; sent first, and no part of the history.
  final String? instructions;

  /// The tools of a [RunMachine]; an `Agent` takes them with their code.
  final List<ToolDefinition> tools;

  final GenerationSettings settings;
  final Limits limits;
  final RetryPolicy retry;
  final Timeouts timeouts;

  /// Whether the backend makes the ids of runs, for which `CreateRun` asks.
  final bool hostMakesRuns;

  /// With a number, each finished block is given out to be stored, and a write is tried that often.
  final int? persistAttempts;

  /// Whether tool calls' arguments are parsed while they stream, for the event `PartialArguments`.
  final bool partialArguments;

  final DevicePolicy device;

  /// How a stream that breaks off is gone on with. As Stepwell knows the provider if left out.
  final Resumption? resumption;

  /// Providers of the app's own, each as in the file that `stepwell --providers` takes.
  final List<Json> providers;

  final TextOptions text;
  final ContextGuard context;
  final AgUiOptions agUi;

  /// The same with what is given here; what is left out, or `null`, stays.
  RunConfig copyWith({
    String? provider,
    String? model,
    String? api,
    String? baseUrl,
    String? key,
    Map<String, String>? headers,
    String? instructions,
    List<ToolDefinition>? tools,
    GenerationSettings? settings,
    Limits? limits,
    RetryPolicy? retry,
    Timeouts? timeouts,
    bool? hostMakesRuns,
    int? persistAttempts,
    bool? partialArguments,
    DevicePolicy? device,
    Resumption? resumption,
    List<Json>? providers,
    TextOptions? text,
    ContextGuard? context,
    AgUiOptions? agUi,
  }) =>
      RunConfig(
        provider: provider ?? this.provider,
        model: model ?? this.model,
        api: api ?? this.api,
        baseUrl: baseUrl ?? this.baseUrl,
        key: key ?? this.key,
        headers: headers ?? this.headers,
        instructions: instructions ?? this.instructions,
        tools: tools ?? this.tools,
        settings: settings ?? this.settings,
        limits: limits ?? this.limits,
        retry: retry ?? this.retry,
        timeouts: timeouts ?? this.timeouts,
        hostMakesRuns: hostMakesRuns ?? this.hostMakesRuns,
        persistAttempts: persistAttempts ?? this.persistAttempts,
        partialArguments: partialArguments ?? this.partialArguments,
        device: device ?? this.device,
        resumption: resumption ?? this.resumption,
        providers: providers ?? this.providers,
        text: text ?? this.text,
        context: context ?? this.context,
        agUi: agUi ?? this.agUi,
      );

  Json toJson() => given({
        'provider': provider,
        'model': model,
        'api': api,
        'baseUrl': baseUrl,
        'key': key,
        'headers': headers,
        'instructions': instructions,
        'tools': [for (final tool in tools) tool.toJson()],
        'settings': settings.toJson(),
        'limits': limits.toJson(),
        'retry': retry.toJson(),
        'timeouts': timeouts.toJson(),
        'runIds': hostMakesRuns ? 'host' : null,
        'persistAttempts': persistAttempts,
        'partialArguments': partialArguments,
        'device': device.toJson(),
        'resumption': resumption?.name,
        'providers': providers,
        'text': text.toJson(),
        'context': context.toJson(),
        'agUi': agUi.toJson(),
      });

  @override
  String toString() => 'RunConfig($provider $model)';
}

/// How the model is to answer. What is left out is as the provider has it.
final class GenerationSettings {
  const GenerationSettings({
    this.temperature,
    this.maxOutputTokens,
    this.toolChoice,
    this.parallelToolCalls,
    this.responseSchema,
    this.reasoning,
    this.cachePrompt = false,
    this.extra = const {},
    this.context = const [],
  });

  final double? temperature;
  final int? maxOutputTokens;

  /// `auto`, `never`, `required`, or the name of a tool.
  final String? toolChoice;
  final bool? parallelToolCalls;

  /// The answer is JSON of this schema.
  final ResponseSchema? responseSchema;
  final ReasoningEffort? reasoning;

  /// Whether the prompt is marked for the provider's cache, for the providers that want marks.
  final bool cachePrompt;

  /// Fields for the request's body in the provider's own words; they win over Stepwell's. Tools that the provider runs
  /// itself (`tools`) stand beside the app's.
  final Json extra;

  /// What an AG-UI agent is to know beside the conversation. Other APIs are not sent it.
  final List<ContextEntry> context;

  Object? get _choice => switch (toolChoice) {
        null || 'auto' || 'never' || 'required' => toolChoice,
        final name => {'name': name},
      };

  Json toJson() => given({
        'temperature': temperature,
        'maxOutputTokens': maxOutputTokens,
        'toolChoice': _choice,
        'parallelToolCalls': parallelToolCalls,
        'responseFormat': responseSchema?.toJson(),
        'reasoning': reasoning?.name,
        'cachePrompt': cachePrompt,
        'extra': extra,
        'context': [for (final entry in context) entry.toJson()],
      });
}

/// Something that an AG-UI agent is to know: AG-UI's `Context`.
final class ContextEntry {
  const ContextEntry({required this.description, required this.value});

  /// What it is.
  final String description;

  /// What it says.
  final String value;

  Json toJson() => {'description': description, 'value': value};
}

/// A JSON Schema for the model's answer.
final class ResponseSchema {
  const ResponseSchema(this.name, this.schema, {this.strict = true});

  /// Letters, digits, `_` and `-`.
  final String name;
  final Json schema;

  /// Whether the provider must hold the model to it, where it can be asked to.
  final bool strict;

  Json toJson() => {'name': name, 'schema': schema, 'strict': strict};
}

/// How much the model thinks before it answers.
enum ReasoningEffort { off, low, medium, high }

/// How a stream that breaks off is gone on with.
enum Resumption { never, lastEventId, replay, snapshot }

/// How far a run may go. Where a limit may be `null`, there is none then.
final class Limits {
  const Limits({
    this.maxToolRounds = 10,
    this.continueAfterTools = true,
    this.maxToolCalls,
    this.maxTokens,
    this.maxDuration,
    this.maxParallelTools = 8,
    this.repeats = const RepeatLimit(),
    this.atLimit = LimitPolicy.complete,
    this.maxAnswerBytes = 33554432,
    this.maxAnswerCalls = 1000,
    this.maxLineBytes = 10485760,
    this.maxEventBytes = 10485760,
  });

  /// The most rounds of tools in a turn.
  final int maxToolRounds;

  /// Whether the model goes on with the results of its tools.
  final bool continueAfterTools;

  /// The most tool calls in a turn.
  final int? maxToolCalls;

  /// The most tokens of a turn, as the provider counts them.
  final int? maxTokens;

  /// The longest that a turn may take and still begin a round of tools.
  final Duration? maxDuration;

  /// The most tools of a round that run side by side.
  final int maxParallelTools;

  /// When a model that asks for the same again and again is told, and when it is stopped.
  final RepeatLimit repeats;

  /// What happens when the model asks for tools beyond one of these limits.
  final LimitPolicy atLimit;

  /// The most bytes of one answer: its text, reasoning, arguments, results, activities and shared state, with 256 for
  /// each message and call. An answer that goes beyond is stopped at once, and the turn fails.
  final int maxAnswerBytes;

  /// The most calls that one answer may leave without a result.
  final int maxAnswerCalls;

  /// The longest line of a stream, in bytes.
  final int maxLineBytes;

  /// The most data of one event of a stream, in bytes.
  final int maxEventBytes;

  Json toJson() => {
        'maxToolRounds': maxToolRounds,
        'continueAfterTools': continueAfterTools,
        'maxToolCalls': maxToolCalls,
        'maxTokens': maxTokens,
        'maxDurationMs': maxDuration?.inMilliseconds,
        'maxParallelTools': maxParallelTools,
        'repeats': repeats.toJson(),
        'atLimit': atLimit.name,
        'maxAnswerBytes': maxAnswerBytes,
        'maxAnswerCalls': maxAnswerCalls,
        'maxLineBytes': maxLineBytes,
        'maxEventBytes': maxEventBytes,
      };
}

/// How often the model may ask for the same tool with the same arguments; `null` is without end.
final class RepeatLimit {
  const RepeatLimit({this.tellAfter = 3, this.stopAfter = 5});

  /// So often it is run. A further call is not: the model is told instead.
  final int? tellAfter;

  /// So often it may be asked for. After that the turn stops.
  final int? stopAfter;

  Json toJson() => {'tellAfter': tellAfter, 'stopAfter': stopAfter};
}

/// What happens at a limit.
enum LimitPolicy { fail, complete, sumUp }

/// When a request that failed is tried again.
final class RetryPolicy {
  const RetryPolicy({
    this.attempts = 4,
    this.firstDelay = const Duration(milliseconds: 500),
    this.maxDelay = const Duration(milliseconds: 8000),
    this.maxRetryAfter = const Duration(milliseconds: 120000),
    this.jitter = 0.2,
    this.seed = 0,
  });

  /// The most tries for one hop, the first included.
  final int attempts;

  /// The pause after the first failure; it doubles with each further one.
  final Duration firstDelay;

  /// The longest pause.
  final Duration maxDelay;

  /// The longest `Retry-After` that is waited for; the run fails if the provider asks for more.
  final Duration maxRetryAfter;

  /// By how much a pause may be shorter or longer, as a part of it.
  final double jitter;

  /// Makes the jitter differ between apps.
  final int seed;

  Json toJson() => {
        'attempts': attempts,
        'firstDelayMs': firstDelay.inMilliseconds,
        'maxDelayMs': maxDelay.inMilliseconds,
        'maxRetryAfterMs': maxRetryAfter.inMilliseconds,
        'jitter': jitter,
        'seed': seed,
      };
}

/// How long things may take; `null` is without end.
final class Timeouts {
  const Timeouts({
    this.silence = const Duration(milliseconds: 120000),
    this.tool = const Duration(milliseconds: 300000),
    this.turn,
    this.approval,
    this.deferred,
    this.closing = const Duration(milliseconds: 2000),
  });

  /// How long the model may be silent.
  final Duration? silence;

  /// How long a tool may take, if it does not say so itself.
  final Duration? tool;

  /// How long a whole turn may take.
  final Duration? turn;

  /// How long the user may take to allow a call. Then it is not run, and the model is told.
  final Duration? approval;

  /// How long the result of a deferred call may take.
  final Duration? deferred;

  /// How long the stream of an answer that is over may stay open, for what the answer cost, say.
  final Duration? closing;

  Json toJson() => {
        'silenceMs': silence?.inMilliseconds,
        'toolMs': tool?.inMilliseconds,
        'turnMs': turn?.inMilliseconds,
        'approvalMs': approval?.inMilliseconds,
        'deferredMs': deferred?.inMilliseconds,
        'closingMs': closing?.inMilliseconds,
      };
}

/// What happens to a run when something happens to the device.
final class DevicePolicy {
  const DevicePolicy({
    this.background = BackgroundPolicy.pauseClocks,
    this.offline = const Duration(milliseconds: 300000),
    this.networkChange = NetworkChangePolicy.keep,
    this.killed = KilledPolicy.goOn,
  });

  final BackgroundPolicy background;

  /// How long requests wait for a network; with `null` they are sent all the same, and fail.
  final Duration? offline;
  final NetworkChangePolicy networkChange;

  /// What a run does whose app was killed.
  final KilledPolicy killed;

  Json toJson() => {
        'background': background == BackgroundPolicy.goOn ? 'continue' : background.name,
        'offlineMs': offline?.inMilliseconds,
        'networkChange': networkChange.name,
        'killed': killed == KilledPolicy.goOn ? 'continue' : killed.name,
      };
}

/// What a run does in the background.
enum BackgroundPolicy { goOn, pauseClocks, cancel }

/// What a run does when the network changes.
enum NetworkChangePolicy { keep, reopen }

/// What a run does after its app was killed.
enum KilledPolicy { goOn, cancel }

/// How the model's text is shown. The history stays as the model wrote it.
final class TextOptions {
  const TextOptions({this.breakAfterTools = true, this.dropBlank = false});

  /// A line break goes before the first text after tool calls.
  final bool breakAfterTools;

  /// A message is shown from its first character on that is no blank.
  final bool dropBlank;

  Json toJson() => {'breakAfterTools': breakAfterTools, 'dropBlank': dropBlank};
}

/// What happens when the conversation fills the model's context window.
final class ContextGuard {
  const ContextGuard({this.window, this.warnAt = 0.8, this.atLimit = ContextPolicy.fail});

  /// The most tokens that the model takes; what Stepwell knows of it if `null`.
  final int? window;

  /// From which part of the window on it is said; never if `null`.
  final double? warnAt;
  final ContextPolicy atLimit;

  Json toJson() => {'window': window, 'warnAt': warnAt, 'atLimit': atLimit.name};
}

/// What happens to a request that does not fit.
enum ContextPolicy { send, fail, trim }

/// How an AG-UI agent differs from what is expected of one. What is left out is as Stepwell knows the provider.
final class AgUiOptions {
  const AgUiOptions({this.encoding, this.isBefore10, this.keepsUnknown, this.verification, this.extraRules});

  /// The encodings of the event stream that it is offered; JSON alone if nothing is known. What it answers with decides.
  final AgUiEncoding? encoding;

  /// Whether it is from before AG-UI 1.0, and stumbles over a `protocolVersion`: none is sent then.
  final bool? isBefore10;

  /// Whether the app is handed events and fields that AG-UI 1.0 does not know; the protocol has them dropped.
  final bool? keepsUnknown;

  /// What becomes of events that break the order that the protocol allows; `protocol` if nothing is known.
  final Verification? verification;

  /// What becomes of breaches of the rules that the reference client does not check; `warn` if nothing is known.
  final ExtraRules? extraRules;

  Json toJson() => given({
        'encoding': encoding?.name,
        'isBefore10': isBefore10,
        'keepsUnknown': keepsUnknown,
        'verification': verification?.name,
        'extraRules': extraRules?.name,
      });
}

/// The encodings of an event stream that an AG-UI agent is offered, the first one first.
enum AgUiEncoding { json, jsonFirst, protobufFirst }

/// How strictly the order of an AG-UI agent's events is held to.
enum Verification { protocol, lenient }

/// What becomes of breaches of the rules that AG-UI's text has and the reference client does not check.
enum ExtraRules { off, warn, fatal }
