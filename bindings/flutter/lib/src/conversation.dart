part of 'agent.dart';

/// What is remembered of turns with an agent: `agent.conversation(id: …)` returns it. Letting go of it frees it, and what
/// its store has of it stays there.
final class Conversation {
  Conversation._(this._shared, this._thread);

  final _Shared _shared;
  final _Thread _thread;

  /// The conversation's id.
  String get id => _thread.key.thread;

  /// The conversation's id, with its room and server.
  ThreadKey get key => _thread.key;

  /// The conversation after its last turn: AG-UI messages, oldest first. Of a stored one, [load] it first.
  List<JsonObject> get messages => _thread.messages;

  /// The state shared with an AG-UI agent, after the last turn.
  Object? get sharedState => _thread.state;

  /// Sends a message to the model, and returns the result of the turn. If another turn of the conversation is under way,
  /// it throws a [BusyException] at once, unless `whenBusy` of the agent or of the options is another [WhenBusy]. Throws
  /// another [StepwellException] if the answer is incomplete. `parts` follow the text, as in [Agent.run].
  Future<TurnResult<String>> send(
    String text, {
    List<Object> parts = const [],
    RunOptions options = const RunOptions(),
  }) async =>
      stream(text, parts: parts, options: options).result;

  /// Sends a message as [send] does; the answer is a value of a type.
  Future<TurnResult<T>> sendAs<T>(
    String text,
    Output<T> output, {
    List<Object> parts = const [],
    RunOptions options = const RunOptions(),
  }) async =>
      streamAs(text, output, parts: parts, options: options).result;

  /// Sends a message to the model, and returns the turn, whose updates are to be read.
  Turn<String> stream(String text, {List<Object> parts = const [], RunOptions options = const RunOptions()}) =>
      start(Start(newId(), text: text, parts: parts), options: options);

  /// Sends a message as [stream] does; the answer is a value of a type.
  Turn<T> streamAs<T>(
    String text,
    Output<T> output, {
    List<Object> parts = const [],
    RunOptions options = const RunOptions(),
  }) =>
      _shared.start(_thread, Start(newId(), text: text, parts: parts), options, output);

  /// Starts a turn with ids and a message that the app makes.
  Turn<String> start(Start start, {RunOptions options = const RunOptions()}) =>
      _shared.start(_thread, start, options, null);

  /// Sends another message instead of the one that a stored turn began with: a new branch, from the conversation before
  /// that turn, which stays. Needs a store.
  Turn<String> resend(
    String turn,
    String text, {
    List<Object> parts = const [],
    RunOptions options = const RunOptions(),
  }) {
    final durable = _requireStore();
    return _shared.start(_thread, Start(newId(), text: text, parts: parts), options, null, from: () async {
      final earlier = await durable.once(() => durable.store.turn(TurnKey(_thread.key, turn)));
      if (earlier == null) {
        throw StoreException(StoreErrorCode.noTurn, 'the store has no turn `$turn` in this thread');
      }
      return (parent: earlier.parent);
    });
  }

  /// Begins a turn that follows the stored turn `parent` instead of the last one, or a first one without `parent`. The
  /// turns that followed `parent` before stay in the store as another branch. Needs a store.
  Turn<String> branch(String? parent, Start start, {RunOptions options = const RunOptions()}) {
    _requireStore();
    return _shared.start(_thread, start, options, null, from: () async => (parent: parent));
  }

  Durable _requireStore() =>
      _thread.durable ??
      (throw const MisuseException(
        'the conversation has no store to take the earlier turn from',
        'give the agent, or the conversation, a `store`',
      ));

  /// Continues a turn of this conversation, of [Turn.rested] or [Turn.suspend], in this process or a later one. With a
  /// store it continues from the store's data of the turn, which is at least as new.
  Turn<String> revive(String snapshot, {RunOptions options = const RunOptions()}) =>
      _shared.revive(_thread, snapshot, options, null);

  /// Continues a turn as [revive] does, whose answer is a value of a type.
  Turn<T> reviveAs<T>(String snapshot, Output<T> output, {RunOptions options = const RunOptions()}) =>
      _shared.revive(_thread, snapshot, options, output);

  /// The definitions of the agent's tools.
  List<ToolDefinition> get tools => _shared.config.tools;

  /// Returns the stored turns, for a `ChatReducer`; none without a store. Throws the store's [StoreException].
  Future<List<TurnRecord>> storedTurns() async {
    final durable = _thread.durable;
    return durable == null ? const [] : await durable.once(() => durable.store.turns(key));
  }

  /// Gives the conversation's turn a reply by one of the methods of [Turn]. Returns a turn that a dead process left and that
  /// continues here, whose updates are to be read.
  Future<Turn<Object?>?> reply(
    String id,
    void Function(Turn<Object?> turn) reply, {
    RunOptions options = const RunOptions(),
  }) =>
      _shared.reply(_thread, id, options, reply);

  /// Returns what the conversation's turn waits for: of the turn under way, or as the store has it of a turn that a dead
  /// process left. Empty if there is no such turn. Throws the store's [StoreException].
  Future<List<Pending>> pending() async {
    if (_thread.live case final turn?) return turn.pending;
    return await _thread.durable?.pending(key) ?? const [];
  }

  /// Lets the call run that waits for approval under this id, with other `arguments` than the model's if they are given. A
  /// turn that a dead process left continues here, to its end, with `options`: those of code, such as `deps`.
  ///
  /// Throws a [MisuseException] if nothing waits under the id, or the arguments do not fit the tool; then nothing changes.
  /// Throws a [StoreException] if the store cannot be reached, or another agent drives the turn. The same holds for the
  /// following methods.
  Future<void> approve(String id, {JsonObject? arguments, RunOptions options = const RunOptions()}) =>
      _shared.reply(_thread, id, options, (turn) => turn.approve(id, arguments: arguments));

  /// Denies the call, or declines the question, that waits under this id. The model, or the tool, gets the reason.
  Future<void> deny(String id, {String? reason, RunOptions options = const RunOptions()}) =>
      _shared.reply(_thread, id, options, (turn) => turn.deny(id, reason: reason));

  /// Answers the question of a running tool that waits under this id.
  Future<void> answer(String id, Object? value, {RunOptions options = const RunOptions()}) =>
      _shared.reply(_thread, id, options, (turn) => turn.answer(id, value));

  /// Supplies the result of a deferred tool call, by the provider's id for it.
  Future<void> resolveCall(String toolCallId, Object? result, {RunOptions options = const RunOptions()}) =>
      _shared.reply(_thread, toolCallId, options, (turn) => turn.resolveCall(toolCallId, result));

  /// Returns the conversation as its store has it: AG-UI messages, oldest first, which are [messages] from then on.
  /// Throws its [StoreException].
  Future<List<JsonObject>> load() async {
    final thread = _thread;
    final last = thread.last;
    final loaded = await thread.durable?.load(thread.key, last);
    if (loaded == null) return thread.messages;
    // The conversation of a turn since then is newer.
    if (loaded.turn case final turn? when thread.last == last) {
      thread.messages = loaded.messages;
      thread.state = loaded.sharedState;
      thread.compaction = loaded.compaction;
      thread.last = turn;
    }
    return loaded.messages;
  }

  /// Cancels the turn that is under way, and those that wait for it.
  void cancel() => _thread.cancel();

  /// Cancels the turns that have not ended, forgets the conversation, and deletes it from its store. Returns whether the
  /// store had it. Throws its [StoreException].
  Future<bool> delete() async {
    _thread.forget();
    final durable = _thread.durable;
    return durable != null && await durable.once(() => durable.store.deleteThread(key));
  }
}
