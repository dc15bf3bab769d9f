"""The rules find a seeded fault of each kind, and nothing where there is none."""

import sys
from pathlib import Path

from dart_rules import findings

PACKAGE = """
typedef Answer = Outputs Function(RunMachine machine);
typedef Known = ({List<String> messages, String? turn});
final class Outputs { const Outputs(); }
final class RunMachine {
  RunMachine(this.config, {required this.id, this.late});
  RunMachine.revive(String snapshot, [int now = 0]) : this(const Config('m'), id: snapshot);
  final Config config;
  final String id;
  final DateTime? late;
  Outputs toolFinished(String id, Object content, {int? nowMs}) => const Outputs();
}
final class Config {
  const Config(this.model, {this.rounds = 10, this.silence});
  final String model;
  final int rounds;
  final Duration? silence;
  Config copyWith({String? model, int? rounds, Duration? Function()? silence}) => this;
}
sealed class Event { const Event(); }
final class Text extends Event { const Text(this.delta); final String delta; }
sealed class Call extends Event { const Call(this.id); final String id; }
final class Began extends Call { const Began(super.id, this.at); final DateTime at; }
final class Over extends Call { const Over(super.id); }
enum Kind {
  left('l'),
  right('r');

  const Kind(this.letter);
  final String letter;
}
abstract interface class Store { Future<List<Call>> calls(); }
"""

#: What is wrong, and what is said of it.
FAULTS = {
    "too few arguments": ("final a = Began('a');", "Began takes 2 positional arguments, and is given 1"),
    "too many arguments": (
        "f() { RunMachine.revive('a', 1, 2); }",
        "takes 1 to 2 positional arguments, and is given 3",
    ),
    "too many for a method": (
        "f(RunMachine m) => m.toolFinished('a', 'b', 3);",
        "takes 2 positional arguments, and is given 3",
    ),
    "an unknown named argument": ("final a = const Config('m', round: 3);", "no named parameter `round`"),
    "a required argument left out": ("f(Config c) => RunMachine(c);", "lacks the required argument `id`"),
    "a constructor that is not there": ("f() => RunMachine.restore('a');", "no static member or constructor `restore`"),
    "an int for a DateTime": (
        "f() { final now = DateTime.now().millisecondsSinceEpoch; return Began('a', now); }",
        "`at` is of type DateTime, and is given int",
    ),
    "an int by a function": (
        "int now() => 1; final a = Began('a', now());",
        "`at` is of type DateTime, and is given int",
    ),
    "a DateTime of a member for an int": (
        "f(Began b) => const Config('m').copyWith(rounds: b.at);",
        "`rounds` is of type int?, and is given DateTime",
    ),
    "a closure for a value": (
        "f(Config c) => c.copyWith(rounds: () => 3);",
        "`rounds` is of type int?, and is given dynamic Function",
    ),
    "null for a value": ("f() => Text(null);", "`delta` is of type String, and is given Null"),
    "a value of another class": (
        "f(Config c) => RunMachine(const Text('a'), id: 'b');",
        "`config` is of type Config, and is given Text",
    ),
    "a variable of another type": ("f(Began b) { final int at = b.at; }", "`at` is of type int, and is given DateTime"),
    "a member that is not there": ("f(Began b) => b.atMs;", "Began has no member `atMs`"),
    "the same of an inherited one": (
        "final class Mine extends Call { const Mine(super.id); int get x => this.late; }",
        "Mine has no member `late`",
    ),
    "the same after an await": ("f(Store s) async { (await s.calls()).first.name; }", "Call has no member `name`"),
    "the same in a loop": ("f(List<Began> all) { for (final each in all) each.when(); }", "Began has no member `when`"),
    "the same in a closure": ("f(List<Began> all) => all.any((each) => each.done);", "Began has no member `done`"),
    "the same of text within text": ("f(Began b) => '${b.atMs}';", "Began has no member `atMs`"),
    "the same in a cascade": ("f(Began b) => b..start();", "Began has no member `start`"),
    "the same in a pattern": ("f(Event e) { if (e case Began(:final atMs)) atMs; }", "Began has no member `atMs`"),
    "the same in a declaration": ("f(Began b) { final Began(:id, :atMs) = b; }", "Began has no member `atMs`"),
    "a field that a record has not": ("f(Known k) => k.message;", "the record has no field `message`"),
    "a constant that an enum has not": ("f() => Kind.middle;", "Kind has no static member or constructor `middle`"),
    "a closure returned from async": (
        "Future<Answer> f() async { return (machine) => machine.toolFinished('a', 'b'); }",
        "a parameter without a type",
    ),
    "the same by an arrow": ("Future<Answer> f() async => (machine) => const Outputs();", "a parameter without a type"),
    "the same by a switch": (
        "Future<Answer> f(bool b) async { return switch (b) { true => (m) => const Outputs(), false => g }; }",
        "a parameter without a type",
    ),
    "the same by a condition": (
        "Future<Answer> f(bool b) async { return b ? g : (m) => const Outputs(); }",
        "a parameter without a type",
    ),
    "the same of a method": (
        "class A { Future<Outputs Function(RunMachine)> f() async { return (m) => h(m); } }",
        "a parameter without a type",
    ),
    "a class left out of a switch": (
        "f(Event e) { switch (e) { case Text(): g(); case Began(): g(); } }",
        "the switch over Event leaves out Over",
    ),
    "the same of an expression": (
        "f(Event e) => switch (e) { Text() => 1, Call(id: 'a') => 2 };",
        "leaves out Began, Over",
    ),
    "the same with a guard": (
        "f(Event e) => switch (e) { Text() => 1, Call() when g() => 2 };",
        "leaves out Began, Over",
    ),
    "a constant left out of a switch": (
        "f(Kind k) => switch (k) { Kind.left => 1 };",
        "the switch over Kind leaves out right",
    ),
    "an abstract class made": ("f() => Event();", "Event is abstract"),
}

FINE = """
import 'other.dart';
Future<Answer> typed(bool b) async {
  if (b) return (RunMachine machine) => machine.toolFinished('a', 'b', nowMs: 3);
  Outputs plain(RunMachine machine) => const Outputs();
  return plain;
}
Answer sync() => (machine) => machine.toolFinished('a', 'b');
int switched(Event event) {
  if (event is! Call) return 0;
  print(event.id);
  return switch (event) { Began(:final at) => at.millisecondsSinceEpoch, Over() => 2 };
}
void all(Event event, Kind kind, bool? known) {
  switch (event) {
    case Text(:final delta):
      print(delta);
    case final Call call when call.id.isEmpty:
      print(call.id);
    case Call():
      break;
  }
  switch (kind) {
    case Kind.left || Kind.right:
      print(kind.letter + kind.name);
  }
  final it = switch (known) { true => 1, false => 2, null => 3 };
  final copy = const Config('m').copyWith(silence: () => null, rounds: it);
  final (:messages, :turn) = (messages: <String>[], turn: null);
  print('${copy.model} $messages $turn ${Kind.values.length}');
}
final class Foreign extends Widget { int get more => whatever + this.something; }
"""


def said(source: str) -> list[str]:
    package = Path("lib")
    return findings({package / "package.dart": PACKAGE, Path("test/some.dart"): source}, package)


def main() -> int:
    wrong = []
    for name, (source, expected) in FAULTS.items():
        found = said(source)
        if len(found) != 1 or expected not in found[0] or not found[0].startswith("test/some.dart:1: "):
            wrong.append(f"{name}: expected `{expected}`, found {found}")
    wrong += [f"nothing is wrong there: {found}" for found in said(FINE)]
    print("\n".join(wrong) or f"{len(FAULTS)} seeded faults of Dart are found")
    return bool(wrong)


sys.exit(main())
