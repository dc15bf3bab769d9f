/// The state of a chat screen, as a `ChangeNotifier` of Flutter. The rest of the package is pure Dart.
library;

export 'src/chat_session.dart';
