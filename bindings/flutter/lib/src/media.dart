import 'dart:convert';
import 'dart:io';

import 'errors.dart';
import 'json.dart';
import 'session.dart';

/// A part of a user's message, or of a tool's result: [image], [audio], [video], [document] and [file] make one.
final class ContentPart {
  const ContentPart(this.json);

  /// The part in AG-UI's form.
  final JsonObject json;
}

/// A picture, for `Agent.run` or as a tool's result. `source` is a path or an address (`https://…`, `data:…`), a [Uri], a
/// [File], or bytes, which may have a `name`.
///
/// A file is read at once; the provider fetches what is at an address. The media type is `mediaType`, or is detected
/// from the first bytes, and failing that from the name. Throws a `StepwellException` for a source that is missing,
/// empty, of no known type or no picture, and for an address that cannot be fetched.
ContentPart image(Object source, {String? mediaType, String? name}) => _made('image', source, mediaType, name);

/// Sound; see [image].
ContentPart audio(Object source, {String? mediaType, String? name}) => _made('audio', source, mediaType, name);

/// A video; see [image].
ContentPart video(Object source, {String? mediaType, String? name}) => _made('video', source, mediaType, name);

/// A document: a PDF file, a text, or any other type that the provider reads; see [image].
ContentPart document(Object source, {String? mediaType, String? name}) => _made('document', source, mediaType, name);

/// A file in a provider's store, by its id there. `provider` names the owner of the id, so that no other provider is
/// asked for the file, and `mediaType` its type: `image/png` makes it a picture; without a type it is a document.
ContentPart file(String id, {String? provider, String? mediaType}) =>
    ContentPart(mediaPart({'file': id, 'provider': provider, 'mediaType': mediaType}));

/// AG-UI's parts for texts, [ContentPart]s and parts in JSON. With parts, an empty text is left out.
List<JsonObject> partsOf(Iterable<Object> contents) => [
      for (final content in contents)
        if (content != '')
          switch (content) {
            final String text => {'type': 'text', 'text': text},
            ContentPart(:final json) => json,
            final JsonObject json => json,
            _ => throw _unfit(content),
          },
    ];

/// A text with parts after it, as the content of a message.
Object contentOf(String text, List<Object> parts) => parts.isEmpty ? text : partsOf([text, ...parts]);

ContentPart _made(String kind, Object source, String? mediaType, String? name) {
  final given = {'kind': kind, 'mediaType': mediaType, 'name': name};
  return ContentPart(mediaPart(switch (source) {
    final List<int> bytes => {...given, 'data': base64Encode(bytes)},
    final File file => _read(file, given),
    final Uri uri when uri.isScheme('file') => _read(File.fromUri(uri), given),
    final Uri uri => {...given, 'url': '$uri'},
    final String text when _hasScheme.hasMatch(text) =>
      text.startsWith('file:') ? _read(File.fromUri(Uri.parse(text)), given) : {...given, 'url': text},
    final String path => _read(File(path), given),
    _ => throw _unfit(source),
  }));
}

final _hasScheme = RegExp(r'^([a-z][a-z\d+.-]+://|data:)', caseSensitive: false);

JsonObject _read(File file, JsonObject given) {
  try {
    final bytes = file.readAsBytesSync();
    return {...given, 'data': base64Encode(bytes), 'name': given['name'] ?? file.uri.pathSegments.last};
  } on FileSystemException catch (error) {
    throw MisuseException(
      '`${file.path}` cannot be read: ${error.osError?.message ?? error.message}',
      'look whether it is there, and a file',
      code: MisuseCode.invalidArgument,
    );
  }
}

StepwellException _unfit(Object given) => MisuseException(
      'a part cannot be made of a ${given.runtimeType}',
      'give a text, a path, an address, bytes, or what `image` and the like make',
      code: MisuseCode.invalidArgument,
    );
