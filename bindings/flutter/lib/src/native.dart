import 'dart:convert';
import 'dart:ffi';
import 'dart:io';
import 'dart:typed_data';

import 'package:ffi/ffi.dart';

import 'errors.dart';
import 'json.dart';

/// `StepwellText` of `stepwell.h`: a text that the library returned, to be freed.
final class NativeText extends Struct {
  external Pointer<Uint8> data;

  @Size()
  external int length;
}

/// `StepwellMachine` of `stepwell.h`.
final class NativeMachine extends Opaque {}

/// `StepwellRegistry` of `stepwell.h`.
final class NativeRegistry extends Opaque {}

/// `StepwellChat` of `stepwell.h`.
final class NativeChat extends Opaque {}

/// The functions of `stepwell.h`.
final class Native {
  Native(DynamicLibrary library)
      : version = library.lookupFunction<NativeText Function(), NativeText Function()>('stepwell_version'),
        freeText = library.lookupFunction<Void Function(NativeText), void Function(NativeText)>('stepwell_text_free'),
        makeMachine = library.lookupFunction<
            Pointer<NativeMachine> Function(Pointer<Uint8>, Size, Pointer<NativeText>),
            Pointer<NativeMachine> Function(Pointer<Uint8>, int, Pointer<NativeText>)>('stepwell_machine_make'),
        freeMachine = library.lookup('stepwell_machine_free'),
        call = library.lookupFunction<
            NativeText Function(Pointer<NativeMachine>, Pointer<Uint8>, Size, Uint64),
            NativeText Function(Pointer<NativeMachine>, Pointer<Uint8>, int, int)>('stepwell_machine_call'),
        receive = library.lookupFunction<
            NativeText Function(Pointer<NativeMachine>, Pointer<Uint8>, Size, Pointer<Uint8>, Size, Uint64),
            NativeText Function(
                Pointer<NativeMachine>, Pointer<Uint8>, int, Pointer<Uint8>, int, int)>('stepwell_machine_receive'),
        poll = library.lookupFunction<NativeText Function(Pointer<NativeMachine>),
            NativeText Function(Pointer<NativeMachine>)>('stepwell_machine_poll'),
        ask = library.lookupFunction<NativeText Function(Pointer<NativeMachine>, Pointer<Uint8>, Size),
            NativeText Function(Pointer<NativeMachine>, Pointer<Uint8>, int)>('stepwell_machine_ask'),
        endJournal = library.lookupFunction<NativeText Function(Pointer<NativeMachine>),
            NativeText Function(Pointer<NativeMachine>)>('stepwell_machine_end_journal'),
        makeRegistry = library.lookupFunction<
            Pointer<NativeRegistry> Function(Pointer<Uint8>, Size, Pointer<NativeText>),
            Pointer<NativeRegistry> Function(Pointer<Uint8>, int, Pointer<NativeText>)>('stepwell_registry_make'),
        freeRegistry = library.lookup('stepwell_registry_free'),
        callRegistry = library.lookupFunction<NativeText Function(Pointer<NativeRegistry>, Pointer<Uint8>, Size),
            NativeText Function(Pointer<NativeRegistry>, Pointer<Uint8>, int)>('stepwell_registry_call'),
        makeChat = library.lookupFunction<
            Pointer<NativeChat> Function(Pointer<Uint8>, Size, Pointer<NativeText>),
            Pointer<NativeChat> Function(Pointer<Uint8>, int, Pointer<NativeText>)>('stepwell_chat_make'),
        freeChat = library.lookup('stepwell_chat_free'),
        callChat = library.lookupFunction<
            NativeText Function(Pointer<NativeChat>, Pointer<Uint8>, Size, Uint64),
            NativeText Function(Pointer<NativeChat>, Pointer<Uint8>, int, int)>('stepwell_chat_call'),
        callSession = library.lookupFunction<NativeText Function(Pointer<Uint8>, Size),
            NativeText Function(Pointer<Uint8>, int)>('stepwell_session_call');

  /// The library of the plugin; tests name another one by `--dart-define=STEPWELL_LIBRARY=PATH`.
  static final Native instance = Native(_open());

  final NativeText Function() version;
  final void Function(NativeText) freeText;
  final Pointer<NativeMachine> Function(Pointer<Uint8>, int, Pointer<NativeText>) makeMachine;
  final Pointer<NativeFunction<Void Function(Pointer<NativeMachine>)>> freeMachine;
  final NativeText Function(Pointer<NativeMachine>, Pointer<Uint8>, int, int) call;
  final NativeText Function(Pointer<NativeMachine>, Pointer<Uint8>, int, Pointer<Uint8>, int, int) receive;
  final NativeText Function(Pointer<NativeMachine>) poll;
  final NativeText Function(Pointer<NativeMachine>, Pointer<Uint8>, int) ask;
  final NativeText Function(Pointer<NativeMachine>) endJournal;
  final Pointer<NativeRegistry> Function(Pointer<Uint8>, int, Pointer<NativeText>) makeRegistry;
  final Pointer<NativeFunction<Void Function(Pointer<NativeRegistry>)>> freeRegistry;
  final NativeText Function(Pointer<NativeRegistry>, Pointer<Uint8>, int) callRegistry;
  final Pointer<NativeChat> Function(Pointer<Uint8>, int, Pointer<NativeText>) makeChat;
  final Pointer<NativeFunction<Void Function(Pointer<NativeChat>)>> freeChat;
  final NativeText Function(Pointer<NativeChat>, Pointer<Uint8>, int, int) callChat;
  final NativeText Function(Pointer<Uint8>, int) callSession;

  static DynamicLibrary _open() {
    const named = String.fromEnvironment('STEPWELL_LIBRARY');
    if (named.isNotEmpty) return DynamicLibrary.open(named);
    if (Platform.isIOS || Platform.isMacOS) return DynamicLibrary.open('StepwellC.framework/StepwellC');
    if (Platform.isAndroid || Platform.isLinux) return DynamicLibrary.open('libstepwell_c.so');
    throw UnsupportedError('Stepwell has no library for ${Platform.operatingSystem}');
  }

  /// The text of a call, which is freed.
  String taken(NativeText text) {
    try {
      return utf8.decode(text.data.asTypedList(text.length));
    } finally {
      freeText(text);
    }
  }

  /// Creates an object of the library, or throws the reason of its refusal.
  Pointer<T> made<T extends NativeType>(Pointer<T> Function(Pointer<NativeText> refusal) make) {
    final refusal = calloc<NativeText>();
    try {
      final made = make(refusal);
      if (made != nullptr) return made;
      throw MisuseException.fromJson((jsonDecode(taken(refusal.ref)) as JsonObject).object('refused'));
    } finally {
      calloc.free(refusal);
    }
  }

  /// Returns the result of a call, or throws the reason of its refusal.
  JsonObject answered(NativeText text) {
    final answer = jsonDecode(taken(text)) as JsonObject;
    if (answer.containsKey('refused')) throw MisuseException.fromJson(answer.object('refused'));
    return answer;
  }

  /// Lends `bytes` to native code for the time of a call.
  static T lent<T>(Uint8List bytes, T Function(Pointer<Uint8> data, int length) use) {
    // An empty list would be no memory at all.
    final data = malloc<Uint8>(bytes.isEmpty ? 1 : bytes.length);
    try {
      data.asTypedList(bytes.length).setAll(0, bytes);
      return use(data, bytes.length);
    } finally {
      malloc.free(data);
    }
  }
}

/// The version of the library, such as `0.1.0`.
String get stepwellVersion => Native.instance.taken(Native.instance.version());
