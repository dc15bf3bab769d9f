part of 'agent.dart';

/// The state that all threads of an agent share.
final class _Shared {
  _Shared(
    this.config,
    this.tools, {
    required this.approver,
    required this.answerer,
    required this.trimContext,
    required this.outputDecoder,
    required this.runSource,
    required this.credentials,
    required this.hooks,
    required this.instructionsFrom,
    required this.client,
    required this.ownsClient,
    required this.journal,
    required this.durable,
    required this.registry,
  });

  final RunConfig config;
  final Map<String, Tool> tools;
  final Approver? approver;
  final Answerer? answerer;
  final Trimmer? trimContext;
  final OutputDecoder? outputDecoder;
  final RunSource? runSource;
  final CredentialSource? credentials;
  final List<Hook> hooks;
  final InstructionsSource? instructionsFrom;
  final http.Client client;
  final JournalSink? journal;
  final Durable? durable;
  final bool ownsClient;
  final RunRegistry registry;
  final threads = <ThreadKey, _Thread>{};
  bool isInBackground = false;
  bool isOffline = false;

  _Thread thread(ThreadKey key, {List<JsonObject> messages = const [], Object? state}) =>
      threads.putIfAbsent(key, () => _Thread(key, messages, state ?? const <String, Object?>{}));

  void tellAll(Outputs Function(RunMachine machine) input) {
    for (final thread in threads.values.toList()) {
      thread.current?._tell(input);
    }
  }
}

/// One conversation.
final class _Thread {
  _Thread(this.key, this.messages, this.state);

  final ThreadKey key;
  List<JsonObject> messages;
  Object? state;

  /// The stored turn with which the conversation ends.
  String? last;
  Turn? current;
}
