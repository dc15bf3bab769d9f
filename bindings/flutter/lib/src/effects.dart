import 'dart:convert';
import 'dart:typed_data';

import 'json.dart';
import 'outcomes.dart';

/// Something that the app is to do. It stays pending under its id until it is answered.
sealed class Effect {
  const Effect(this.id);

  factory Effect.fromJson(Json json) {
    final id = json.text('id');
    ToolInvocation invocation() => ToolInvocation.fromJson(json.object('invocation'));
    return switch (json.text('type')) {
      'createRun' => CreateRun(id, json.text('threadId'), json.maybeText('parentRunId')),
      'openStream' => OpenStream(id, HttpRequest.fromJson(json.object('request'))),
      'closeStream' => CloseStream(id),
      'askApproval' => AskApproval(id, invocation()),
      'runTool' => RunTool(id, invocation()),
      'cancelTool' => CancelTool(id),
      'persist' => Persist(
          id,
          turn: json.text('turn'),
          status: named(TurnStatus.values, json.text('status'), TurnStatus.streaming),
          blocks: [for (final block in json.objects('blocks')) Block.fromJson(block)],
          snapshot: json.text('snapshot'),
          outcome: json['outcome'] == null ? null : Outcome.fromJson(json.object('outcome')),
        ),
      'trimContext' => TrimContext(
          id,
          tokens: json.number('tokens'),
          window: json.number('window'),
          messages: [
            for (final message in json.objects('messages')) (message.text('messageId'), message.number('tokens')),
          ],
        ),
      _ => UnknownEffect(id, json),
    };
  }

  final String id;
}

/// Create a run at the backend, then answer with `runCreated` or `runNotCreated`.
final class CreateRun extends Effect {
  const CreateRun(super.id, this.threadId, this.parentRunId);

  final String threadId;
  final String? parentRunId;
}

/// Send the request; answer with `opened` and then the body's bytes and its end, or with `refused` or
/// `connectionFailed`.
final class OpenStream extends Effect {
  const OpenStream(super.id, this.request);

  final HttpRequest request;
}

/// Close the stream of this id, if it is open. Needs no answer.
final class CloseStream extends Effect {
  const CloseStream(super.id);
}

/// Ask the user; answer with `approve` or `deny`.
final class AskApproval extends Effect {
  const AskApproval(super.id, this.invocation);

  final ToolInvocation invocation;
}

/// Run the tool; answer with `toolFinished` or `toolFailed`, at once or after a `toolDeferred`.
final class RunTool extends Effect {
  const RunTool(super.id, this.invocation);

  final ToolInvocation invocation;
}

/// Stop the tool, or stop asking, under this id. Needs no answer; a late one is dropped.
final class CancelTool extends Effect {
  const CancelTool(super.id);
}

/// Store the blocks and the snapshot in one transaction; answer with `persisted` or `persistFailed`.
final class Persist extends Effect {
  const Persist(
    super.id, {
    required this.turn,
    required this.status,
    required this.blocks,
    required this.snapshot,
    this.outcome,
  });

  /// The run id of its first hop.
  final String turn;
  final TurnStatus status;
  final List<Block> blocks;
  final String snapshot;

  /// How the turn ended, with its last write.
  final Outcome? outcome;
}

/// Say which messages the next request is to carry; answer with `contextTrimmed` or `contextNotTrimmed`.
final class TrimContext extends Effect {
  const TrimContext(super.id, {required this.tokens, required this.window, required this.messages});

  /// How many tokens the request would take.
  final int tokens;

  /// How many it may take.
  final int window;

  /// The id of each message of the request, oldest first, and its tokens by an estimate.
  final List<(String, int)> messages;
}

/// One that this version of the plugin does not know.
final class UnknownEffect extends Effect {
  const UnknownEffect(super.id, this.json);

  final Json json;
}

/// Where a stored turn stands.
enum TurnStatus { streaming, complete, failed, cancelled }

/// One finished piece of a turn.
final class Block {
  const Block(this.sequence, this.hop, this.content);

  factory Block.fromJson(Json json) => Block(json.number('sequence'), json.number('hop'), json.object('content'));

  /// Its number in the turn: 0, 1, 2 … without a gap.
  final int sequence;
  final int hop;

  /// What it holds: an object with its `type`.
  final Json content;
}

/// A request for the app to send. One of the headers may hold the API key: do not log them.
final class HttpRequest {
  const HttpRequest(this.method, this.url, this.headers, this.body);

  factory HttpRequest.fromJson(Json json) => HttpRequest(
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

/// A call that is to be run, checked against its tool's schema.
final class ToolInvocation {
  const ToolInvocation(this.call, this.toolCallId, this.name, this.arguments, this.rawArguments);

  factory ToolInvocation.fromJson(Json json) => ToolInvocation(
        CallKey.fromJson(json.object('call')),
        json.text('toolCallId'),
        json.text('name'),
        json.object('arguments'),
        json.text('rawArguments'),
      );

  /// Its place in the run.
  final CallKey call;

  /// The provider's id for it.
  final String toolCallId;

  /// The tool.
  final String name;

  /// The arguments, which fit the tool's schema.
  final Json arguments;

  /// The arguments just as the model wrote them.
  final String rawArguments;
}

/// A tool call's place: the hop that asked for it and its position among that hop's calls, both from 0.
final class CallKey {
  const CallKey(this.hop, this.index);

  factory CallKey.fromJson(Json json) => CallKey(json.number('hop'), json.number('index'));

  final int hop;
  final int index;

  Json toJson() => {'hop': hop, 'index': index};

  @override
  bool operator ==(Object other) => other is CallKey && other.hop == hop && other.index == index;

  @override
  int get hashCode => Object.hash(hop, index);

  @override
  String toString() => '$hop:$index';
}
