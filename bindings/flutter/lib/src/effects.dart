import 'dart:convert';
import 'dart:typed_data';

import 'json.dart';

/// A request for the app to send. One of the headers may hold the API key: do not log them.
final class HttpRequest {
  const HttpRequest(this.method, this.url, this.headers, this.body);

  factory HttpRequest.fromJson(JsonObject json) => HttpRequest(
        json.text('method'),
        Uri.parse(json.text('url')),
        {
          for (final header in (json['headers'] as List<Object?>? ?? const []).cast<List<Object?>>())
            header[0]! as String: header[1]! as String,
        },
        utf8.encode(json.text('body')),
      );

  final String method;
  final Uri url;
  final Map<String, String> headers;
  final Uint8List body;

  @override
  String toString() => '$method $url, ${body.length} bytes';
}

/// The position of a tool call: the hop that asked for the call, and the index among that hop's calls, both from 0.
final class CallKey {
  const CallKey(this.hop, this.index);

  factory CallKey.fromJson(JsonObject json) => CallKey(json.number('hop'), json.number('index'));

  final int hop;
  final int index;

  JsonObject toJson() => {'hop': hop, 'index': index};

  @override
  bool operator ==(Object other) => other is CallKey && other.hop == hop && other.index == index;

  @override
  int get hashCode => Object.hash(hop, index);

  @override
  String toString() => '$hop:$index';
}
