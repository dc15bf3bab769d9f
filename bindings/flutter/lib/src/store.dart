import 'errors.dart';
import 'shapes.dart';
import 'threads.dart';

/// The app's own database, as the store of an agent's turns. A store holds threads; a thread holds a tree of turns; a
/// turn holds its blocks in sequence, its status, and the checkpoint to revive it from. A turn has one writing owner at
/// a time.
///
/// Each method is one transaction: it is done completely or not at all, and what the method has confirmed survives the
/// death of the app. A method that fails throws the [StoreException] that gives the reason; after any other exception
/// the call is retried. The records have `toJson` and `fromJson`.
abstract interface class Store {
  /// Begins a turn, and its thread if that is new; the turn's status is `streaming`. Returns the turn's generation, 1.
  ///
  /// `busy` if another turn of the thread is unfinished, `exists` if the thread has a turn of this id, `noTurn` if there is no
  /// such parent.
  Future<int> beginTurn(NewTurn turn);

  /// Makes `owner` the owner of an unfinished turn, if its generation is still `seen`. Returns the new generation, one
  /// higher, and the checkpoint to continue from.
  ///
  /// `stale` if another owner claimed the turn first, `closed` if the turn is over, `noTurn`.
  Future<Claimed> claim(TurnKey turn, int seen, String owner);

  /// Stores blocks, status, outcome and checkpoint. Blocks that are stored already must be the same, and change
  /// nothing: a batch may be sent again, alone or as a part of a longer one. The newer checkpoint replaces the older; a
  /// closed turn has none. A batch that ends before what is stored is an earlier one that arrives late: it changes
  /// nothing. Nor does a batch that closes a turn with the end that the turn already has.
  ///
  /// `stale` if `generation` is not the turn's, `gap` if blocks are missing before the first, `conflict` if one is stored with
  /// another content, `closed` if the turn has ended otherwise, `noTurn`.
  Future<void> persist(TurnKey turn, int generation, PersistBatch batch);

  /// Returns the unfinished turns, oldest first.
  Future<List<Unfinished>> unfinished();

  /// Returns a turn with its blocks; null if there is no such turn.
  Future<TurnRecord?> turn(TurnKey turn);

  /// Returns all turns of a thread, in the order in which they began; none if there is no such thread.
  Future<List<TurnRecord>> turns(ThreadKey thread);

  /// Returns a thread; null if there is no such thread.
  Future<ThreadRecord?> thread(ThreadKey thread);

  /// Deletes a thread with all that it holds, and returns whether there was one. The owner of an unfinished turn of the
  /// thread gets `noTurn` at the next write.
  Future<bool> deleteThread(ThreadKey thread);
}

/// A turn as its store knows it.
final class StoredTurn {
  const StoredTurn(this.key, this.generation);

  /// The key of the turn.
  final TurnKey key;

  /// The generation that the turn is written with.
  final int generation;
}

/// Why a store refused a request or failed.
enum StoreErrorCode {
  /// The turn has another owner by now: the writer should stop, and leave the turn alone.
  stale,

  /// The thread has an unfinished turn, which must end before another begins.
  busy,

  /// The thread has a turn of this id.
  exists,

  /// The turn is over, and its end is final.
  closed,

  /// Blocks before this one are missing.
  gap,

  /// The number belongs to another content.
  conflict,

  /// There is no such turn.
  noTurn,

  /// There is no such thread.
  noThread,

  /// The request itself cannot be stored.
  refused,

  /// There is no room left. The call is retried.
  full,

  /// The store is read-only.
  readOnly,

  /// The store cannot be reached, or is locked by another program. The call is retried; the write may have been done.
  unavailable,

  /// The store was made by a later version of the app.
  tooNew,

  /// The store's data cannot be read.
  damaged,

  /// Another failure of the store. The call is retried.
  other,
}

/// The exception of a store. Nothing has changed.
final class StoreException extends StepwellException {
  const StoreException(this.code, String message, [ErrorDetails details = StepwellException.none])
      : super(message, 'check the store', details);

  /// Why the store refused the request, or failed.
  final StoreErrorCode code;

  @override
  ErrorKind get kind => ErrorKind.store;

  @override
  bool get retryable => isTransient;

  /// Whether the same call may succeed later.
  bool get isTransient =>
      const {StoreErrorCode.full, StoreErrorCode.unavailable, StoreErrorCode.other}.contains(code);

  /// Whether the writer no longer owns the turn.
  bool get isLost => const {StoreErrorCode.stale, StoreErrorCode.closed, StoreErrorCode.noTurn}.contains(code);
}
