import 'dart:async';
import 'dart:convert';
import 'dart:typed_data';

import 'package:http/http.dart' as http;

import 'effects.dart';
import 'machine.dart';
import 'native.dart';

/// The streams that a turn has open.
final class Transport {
  Transport(this._client, this._take);

  /// The most bytes that are read of an answer that is no stream.
  static const _mostOfARefusal = 64 * 1024;

  final http.Client _client;
  final void Function(Outputs Function() input) _take;
  final _open = <String, _Stream>{};
  bool _isPaused = false;

  /// Sends the request and passes its answer to the machine.
  Future<void> open(String id, HttpRequest request, RunMachine machine) async {
    final stream = _open[id] = _Stream();
    // An answer to a stream that was closed meanwhile is dropped.
    void take(Outputs Function() input) {
      if (identical(_open[id], stream)) _take(input);
    }

    void over(Outputs Function() input) {
      if (!identical(_open[id], stream)) return;
      _open.remove(id);
      _take(input);
    }

    // The outputs at hand are carried out first.
    await null;
    if (!identical(_open[id], stream)) return;
    final http.StreamedResponse response;
    try {
      final sent = http.AbortableRequest(request.method, request.url, abortTrigger: stream.aborted.future)
        // A redirect would take the key and the conversation elsewhere.
        ..followRedirects = false
        ..headers['user-agent'] = 'stepwell/$stepwellVersion (Dart)'
        ..headers.addAll(request.headers)
        ..bodyBytes = request.body;
      response = await _client.send(sent);
    } catch (error) {
      return over(() => machine.connectionFailed(id, '$error'));
    }
    if (!identical(_open[id], stream)) return;
    if (response.statusCode < 200 || response.statusCode >= 300) {
      final body = await _beginning(response.stream);
      stream.stop();
      final after = _retryAfter(response.headers['retry-after']);
      return over(() => machine.refused(id, response.statusCode, body, retryAfter: after));
    }
    take(() => machine.opened(id, contentType: response.headers['content-type']));
    if (!identical(_open[id], stream)) return stream.stop();
    final subscription = response.stream.listen(
      (bytes) => take(() => machine.receive(id, bytes is Uint8List ? bytes : Uint8List.fromList(bytes))),
      onError: (Object error) => over(() => machine.lost(id, '$error')),
      onDone: () => over(() => machine.ended(id)),
      cancelOnError: true,
    );
    stream.subscription = subscription;
    if (_isPaused) subscription.pause();
  }

  /// Sends the request. How it ends changes nothing.
  Future<void> send(HttpRequest request) async {
    try {
      final sent = http.Request(request.method, request.url)
        ..followRedirects = false
        ..headers['user-agent'] = 'stepwell/$stepwellVersion (Dart)'
        ..headers.addAll(request.headers)
        ..bodyBytes = request.body;
      await (await _client.send(sent)).stream.drain<void>();
    } catch (_) {
      // The turn is over, or has left the answer.
    }
  }

  /// Closes one stream, if it is open.
  void stop(String id) => _open.remove(id)?.stop();

  /// Closes all streams.
  void close() {
    final streams = _open.values.toList();
    _open.clear();
    for (final stream in streams) {
      stream.stop();
    }
  }

  /// Reads nothing until [resume].
  void pause() {
    _isPaused = true;
    for (final stream in _open.values) {
      stream.subscription?.pause();
    }
  }

  /// Continues reading.
  void resume() {
    if (!_isPaused) return;
    _isPaused = false;
    for (final stream in _open.values) {
      stream.subscription?.resume();
    }
  }

  static Future<String> _beginning(Stream<List<int>> body) async {
    final bytes = BytesBuilder(copy: false);
    try {
      await for (final piece in body) {
        bytes.add(piece);
        if (bytes.length >= _mostOfARefusal) break;
      }
    } catch (_) {
      // What came of it has to do.
    }
    return utf8.decode(bytes.takeBytes(), allowMalformed: true);
  }

  /// Reads seconds. A date, which is allowed too, is left to the machine's own pauses.
  static Duration? _retryAfter(String? header) {
    final seconds = int.tryParse(header?.trim() ?? '');
    return seconds == null || seconds < 0 ? null : Duration(seconds: seconds);
  }
}

final class _Stream {
  final aborted = Completer<void>();
  StreamSubscription<List<int>>? subscription;

  void stop() {
    if (!aborted.isCompleted) aborted.complete();
    unawaited(subscription?.cancel());
  }
}
