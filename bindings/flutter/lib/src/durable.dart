import 'dart:async';
import 'dart:convert';

import 'errors.dart';
import 'json.dart';
import 'machine.dart';
import 'session.dart';
import 'shapes.dart';
import 'store.dart';
import 'threads.dart';

/// A conversation, what requests no longer carry of it, and the stored turn with which it ends.
typedef Known = ({List<JsonObject> messages, Object? sharedState, JsonObject? compaction, String? turn});

/// Takes the warnings for a turn that waits for its store, and holds whether the turn is still wanted.
final class Waiting {
  Waiting(this.warn, this.trouble);

  final void Function(String message) warn;

  /// Reports what delays the writes now, if anything does.
  final void Function(StoreException? error) trouble;
  final _over = Completer<void>();

  bool get isOver => _over.isCompleted;

  /// Completes when the turn is abandoned.
  Future<void> get over => _over.future;

  /// Cuts the pauses short.
  void giveUp() {
    if (!isOver) _over.complete();
  }
}

/// The store of an agent, and the owner's name in it.
final class Durable {
  Durable(this.store, this.owner, this._config, {required this.waits});

  /// The time limit of one call.
  static const _longestCall = Duration(seconds: 30);

  /// The owners that have a turn under way here, and how many.
  static final _here = <String, int>{};

  final Store store;
  final String owner;
  final bool waits;
  final RunConfig _config;

  /// Registers a turn of the owner as under way, until [leave].
  void attend() => _here.update(owner, (turns) => turns + 1, ifAbsent: () => 1);

  void leave() {
    final turns = (_here[owner] ?? 1) - 1;
    if (turns == 0) {
      _here.remove(owner);
    } else {
      _here[owner] = turns;
    }
  }

  /// Makes one call, with a time limit.
  Future<T> once<T>(Future<T> Function() call) async {
    const late = StoreException(StoreErrorCode.unavailable, 'no answer in 30 s');
    try {
      return await call().timeout(_longestCall, onTimeout: () => throw late);
    } on StoreException {
      rethrow;
    } catch (error) {
      throw StoreException(StoreErrorCode.other, '$error');
    }
  }

  Duration _delay(int failures) {
    final RetryPolicy(:firstDelay, :maxDelay) = _config.retry;
    final doubled = firstDelay * (1 << (failures - 1).clamp(0, 20));
    return doubled < maxDelay ? doubled : maxDelay;
  }

  /// The pause after this number of failures.
  Future<void> pause(int failures, Completer<void> over) async {
    if (failures == 0 || over.isCompleted) return;
    await Future.any([Future<void>.delayed(_delay(failures)), over.future]);
  }

  /// The problem in words, for the app.
  String waitingFor(StoreException error, int failures) {
    final seconds = (_delay(failures).inMilliseconds / 1000).toStringAsFixed(1);
    return 'the turn waits for its store, and tries again in $seconds s: $error';
  }

  /// Tries until the call succeeds, cannot succeed, or has used up its attempts.
  Future<T> _call<T>(Future<T> Function() call, Waiting waiting) async {
    for (var failures = 1;; failures++) {
      try {
        return await once(call);
      } on StoreException catch (error) {
        if (!error.isTransient || failures >= (_config.persistAttempts ?? 1) || waiting.isOver) rethrow;
        waiting.warn(waitingFor(error, failures));
        await pause(failures, waiting._over);
        if (waiting.isOver) rethrow;
      }
    }
  }

  /// The store's data before a new turn: after the thread's last one, or after `from`. An unfinished turn of the thread
  /// is stopped first.
  Future<Known> before(ThreadKey thread, ({String? parent})? from, Known Function() known, Waiting waiting) async {
    final record = await _call(() => store.thread(thread), waiting);
    if (record == null) {
      final (:messages, :sharedState, :compaction, turn: _) = known();
      return (messages: messages, sharedState: sharedState, compaction: compaction, turn: from?.parent);
    }
    final unfinished = record.unfinished;
    final stopped = unfinished == null ? null : await _stop(unfinished, waiting);
    final parent = from == null ? record.latest : from.parent;
    if (parent == null) {
      return (messages: const <JsonObject>[], sharedState: const <String, Object?>{}, compaction: null, turn: null);
    }
    if (stopped?.turn == parent) return stopped!;
    if (unfinished == null && known().turn == parent) return known();
    return _conversation(thread, parent, waiting);
  }

  /// The conversation up to a stored turn.
  Future<Known> _conversation(ThreadKey thread, String turn, Waiting waiting) async {
    final turns = await _call(() => store.turns(thread), waiting);
    return _conversationOf(turns, turn);
  }

  /// The conversation of a thread as the store has it, and its last turn, if that is over; null if the store has no
  /// more than `known`, or no such thread.
  Future<Known?> load(ThreadKey thread, String? known) async {
    final record = await once(() => store.thread(thread));
    final turn = record?.latest;
    final isOver = record?.unfinished == null;
    if (turn == null || (isOver && turn == known)) return null;
    final (:messages, :sharedState, :compaction, turn: _) =
        _conversationOf(await once(() => store.turns(thread)), turn);
    return (messages: messages, sharedState: sharedState, compaction: compaction, turn: isOver ? turn : null);
  }

  Known _conversationOf(List<TurnRecord> turns, String turn) {
    try {
      final (:messages, :sharedState, :compaction) = conversationOf(turns, turn);
      return (messages: messages, sharedState: sharedState, compaction: compaction, turn: turn);
    } on StepwellException catch (error) {
      throw StoreException(StoreErrorCode.damaged, error.message);
    }
  }

  /// Stores that a turn begins, and returns its generation.
  Future<int> begin(NewTurn turn, Waiting waiting) async {
    var tries = 0;
    try {
      return await _call(() {
        tries += 1;
        return store.beginTurn(turn);
      }, waiting);
    } on StoreException catch (error) {
      if (error.code != StoreErrorCode.exists || tries == 1) rethrow;
      // An earlier try succeeded, but its answer was lost.
      final claimed = await claim(turn.key, waiting, isOwn: true);
      if (claimed == null) rethrow;
      return claimed.generation;
    }
  }

  /// Claims a turn, if it is unfinished: with `isOwn` only if it belongs to this owner.
  Future<Claimed?> claim(TurnKey key, Waiting waiting, {bool isOwn = false}) => _call(() async {
        final unfinished = (await store.thread(key.thread))?.unfinished;
        if (unfinished == null || unfinished.key.turn != key.turn) return null;
        if (isOwn && unfinished.owner != owner) return null;
        return _claimed(unfinished);
      }, waiting);

  /// Null for a turn that has ended.
  Future<Claimed?> _claimed(Unfinished unfinished) async {
    try {
      return await store.claim(unfinished.key, unfinished.generation, owner);
    } on StoreException catch (error) {
      if (error.code == StoreErrorCode.closed) return null;
      rethrow;
    }
  }

  /// Claims all turns that no process drives any more, except those that are left out.
  Future<List<(TurnKey, Claimed)>> orphans(bool Function(ThreadKey thread) isUnderWay) async {
    final claimed = <(TurnKey, Claimed)>[];
    for (final turn in await once(store.unfinished)) {
      final isAnothers = turn.owner != owner && _here.containsKey(turn.owner);
      if (isAnothers || isUnderWay(turn.key.thread)) continue;
      try {
        final own = await once(() => _claimed(turn));
        if (own != null) claimed.add((turn.key, own));
      } on StoreException catch (error) {
        // Another owner was quicker.
        if (!error.isLost) rethrow;
      }
    }
    return claimed;
  }

  /// What the unfinished turn of a thread waits for, as it is stored.
  Future<List<Pending>> pending(ThreadKey thread) async {
    final unfinished = (await once(() => store.thread(thread)))?.unfinished;
    final turn = unfinished == null ? null : await once(() => store.turn(unfinished.key));
    return turn == null ? const [] : pendingOf(turn);
  }

  /// Claims the unfinished turn of a thread, in which something waits under this id, from an owner that is gone.
  Future<(TurnKey, Claimed)> takeOver(ThreadKey thread, String id) async {
    final unfinished = (await once(() => store.thread(thread)))?.unfinished;
    final waits = await pending(thread);
    if (unfinished == null || !waits.any((each) => each.id == id)) throw nothingWaits;
    if (unfinished.owner != owner && _here.containsKey(unfinished.owner)) {
      throw const StoreException(StoreErrorCode.unavailable, 'another agent drives the turn: reply by its conversation');
    }
    final claimed = await once(() => _claimed(unfinished));
    if (claimed == null) throw nothingWaits;
    return (unfinished.key, claimed);
  }

  /// The run of a claimed turn. Throws a [StepwellException] if it cannot be read.
  Future<RunMachine> revived(
    TurnKey key,
    Claimed claimed,
    RunConfig config,
    Waiting waiting, {
    bool journal = false,
  }) async {
    final checkpoint = claimed.checkpoint ?? '';
    final turns = await _call(() => store.turns(key.thread), waiting);
    try {
      return RunMachine.reviveFrom(checkpoint, turns, key.turn, config, journal: journal);
    } on StepwellException {
      // A turn that was begun without the store has the app's own data, until its first write.
      if (_isWhole(checkpoint)) return RunMachine.revive(checkpoint, config, journal: journal);
      rethrow;
    }
  }

  /// Whether a text is the snapshot of a complete run, and no checkpoint.
  static bool _isWhole(String text) {
    try {
      final json = jsonDecode(text);
      return json is Map && !json.containsKey('basis');
    } on FormatException {
      return false;
    }
  }

  /// Claims a turn, so that its owner can write no more, and ends it as cancelled. Returns the conversation after it,
  /// if its run could be read.
  Future<Known?> _stop(Unfinished unfinished, Waiting waiting) async {
    final key = unfinished.key;
    final claimed = await claim(key, waiting);
    // The turn may have ended in the meantime.
    if (claimed == null) return null;
    Future<void> write(PersistBatch batch) =>
        _call(() => store.persist(key, claimed.generation, batch), waiting);
    final config = _config.copyWith(device: _config.device.copyWith(killed: KilledPolicy.cancel));
    RunMachine? machine;
    try {
      machine = await revived(key, claimed, config, waiting);
    } on StepwellException {
      // The turn's run cannot be read: its stored data stays.
    }
    try {
      var isClosed = false;
      var outputs = machine?.pollOutputs();
      while (machine != null && outputs != null) {
        final effect = outputs.effects.whereType<Persist>().lastOrNull;
        if (effect == null) break;
        await write(_batchOf(effect));
        isClosed = isClosed || effect.status != TurnStatus.streaming;
        outputs = machine.persisted(effect.id);
      }
      if (machine != null && isClosed) {
        return (
          messages: machine.messages,
          sharedState: machine.sharedState,
          compaction: machine.compaction,
          turn: key.turn,
        );
      }
      final stored = await _call(() => store.turn(key), waiting);
      final first = stored?.blocks.length ?? 0;
      const outcome = {'outcome': 'cancelled'};
      await write(PersistBatch(first, const [], TurnStatus.cancelled, '', 0, const [], DateTime.now(), outcome: outcome));
      return null;
    } finally {
      machine?.close();
    }
  }

  static PersistBatch _batchOf(Persist effect) => PersistBatch(
        // A write is named by the number of its first block.
        int.parse(effect.id.substring(effect.id.indexOf(':') + 1)),
        effect.blocks,
        effect.status,
        effect.checkpoint,
        // An app keeps no log of events.
        0,
        const [],
        DateTime.now(),
        outcome: effect.outcome?.toJson(),
      );
}

/// The right to write a turn.
final class Writer {
  Writer(this._durable, this.stored, this._turn, this._stop);

  final Durable _durable;
  final StoredTurn stored;
  final Waiting _turn;

  /// Stops the turn.
  final void Function() _stop;
  final _givenUp = Completer<void>();

  /// The number of temporary failures of the write under way.
  int _failures = 0;

  /// The turn has another owner: nothing is written any more.
  bool _isLost = false;

  /// Cuts the pauses of writes short: a write that fails has failed.
  void giveUp() {
    if (!_givenUp.isCompleted) _givenUp.complete();
  }

  /// Carries out a write; returns the machine's input. The machine emits the write again as often as it should be
  /// tried.
  Future<Outputs Function(RunMachine machine)> write(Persist effect) async {
    Outputs Function(RunMachine) failed(String message) =>
        (machine) => machine.persistFailed(effect.id, message);
    if (_isLost) return failed('another host goes on with the turn, or it was deleted');
    while (true) {
      await _durable.pause(_failures, _givenUp);
      try {
        final batch = Durable._batchOf(effect);
        await _durable.once(() => _durable.store.persist(stored.key, stored.generation, batch));
        _failures = 0;
        _turn.trouble(null);
        return (RunMachine machine) => machine.persisted(effect.id);
      } on StoreException catch (error) {
        if (error.isLost) {
          _isLost = true;
          _turn.warn('the turn stops here: $error');
          _stop();
        } else if (error.isTransient || (_durable.waits && error.code == StoreErrorCode.readOnly)) {
          _failures += 1;
          _turn.trouble(error);
          if (!_durable.waits || _failures == 1) _turn.warn(_durable.waitingFor(error, _failures));
          if (_durable.waits && !_givenUp.isCompleted) continue;
        }
        return failed(error.message);
      }
    }
  }
}
