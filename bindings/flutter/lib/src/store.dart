import 'shapes.dart';
import 'threads.dart';

/// The app's own database, as the place where an agent's turns are kept. A store holds threads; a thread holds a tree of
/// turns; a turn holds its blocks in sequence, its status, and the checkpoint that it can be revived from. It is written by one
/// owner at a time.
///
/// Each method is one transaction: it is done as a whole or not at all, and what it has said to be done is still there after
/// the app was killed. A method that cannot do what it is asked to throws the [StoreException] that says why; anything else
/// that it throws is tried again. The records have `toJson` and `fromJson`.
abstract interface class Store {
  /// Begins a turn, and its thread if that is new; its status is `streaming`. Gives its generation, 1.
  ///
  /// `busy` if another turn of the thread is unfinished, `exists` if the thread has a turn of this id, `noTurn` if there is no
  /// such parent.
  Future<int> beginTurn(NewTurn turn);

  /// Makes `owner` the owner of an unfinished turn, if its generation is still `seen`. Gives the new generation, one more, and
  /// the checkpoint to go on from.
  ///
  /// `stale` if somebody else claimed it first, `closed` if it has come to its end, `noTurn`.
  Future<Claimed> claim(TurnKey turn, int seen, String owner);

  /// Stores blocks, status, outcome and checkpoint. Blocks that are stored already must be the same ones, and change nothing: a
  /// batch may come again, alone or as a part of a longer one. The newer checkpoint takes the place of the older; a turn that is
  /// closed keeps none. A batch that closes a turn which has just that end already changes nothing.
  ///
  /// `stale` if `generation` is not the turn's, `gap` if blocks are missing before the first, `conflict` if one is stored with
  /// another content, `closed` if the turn has ended otherwise, `noTurn`.
  Future<void> persist(TurnKey turn, int generation, PersistBatch batch);

  /// The turns that have not come to their end, oldest first.
  Future<List<Unfinished>> unfinished();

  /// A turn with its blocks; nothing if there is none.
  Future<TurnRecord?> turn(TurnKey turn);

  /// All turns of a thread, in the order in which they began; none if there is no such thread.
  Future<List<TurnRecord>> turns(ThreadKey thread);

  /// A thread; nothing if there is none.
  Future<ThreadRecord?> thread(ThreadKey thread);

  /// Deletes a thread with all that it holds; whether there was one. The owner of an unfinished turn of it hears `noTurn` at
  /// its next write.
  Future<bool> deleteThread(ThreadKey thread);
}

/// A turn as its store knows it.
final class StoredTurn {
  const StoredTurn(this.key, this.generation);

  /// Its name.
  final TurnKey key;

  /// What it is written with.
  final int generation;
}

/// Why a store did not do what it was asked to.
enum StoreErrorKind {
  /// The turn has another owner by now: the writer stops, and leaves the turn alone.
  stale,

  /// The thread has an unfinished turn, which must end before another begins.
  busy,

  /// The thread has a turn of this id.
  exists,

  /// The turn has come to its end, which stands.
  closed,

  /// Something before it is missing.
  gap,

  /// The number is taken by another content.
  conflict,

  /// There is no such turn.
  noTurn,

  /// There is no such thread.
  noThread,

  /// The request itself cannot be stored.
  refused,

  /// There is no room left. It is tried again.
  full,

  /// It may be read only.
  readOnly,

  /// It cannot be reached, or is locked by another program. It is tried again; the write may have been done.
  unavailable,

  /// It was made by a later version of the app.
  tooNew,

  /// What it holds cannot be read.
  damaged,

  /// Something else went wrong inside of it. It is tried again.
  other,
}

/// What a store throws. Nothing has changed.
final class StoreException implements Exception {
  const StoreException(this.kind, this.message);

  final StoreErrorKind kind;
  final String message;

  /// Whether the same call may do later.
  bool get isTransient =>
      const {StoreErrorKind.full, StoreErrorKind.unavailable, StoreErrorKind.other}.contains(kind);

  /// Whether the turn is not the writer's any more.
  bool get isLost =>
      const {StoreErrorKind.stale, StoreErrorKind.closed, StoreErrorKind.noTurn}.contains(kind);

  @override
  String toString() => message;
}
