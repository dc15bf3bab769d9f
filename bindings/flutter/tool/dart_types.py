"""What the types of Dart sources have, and what fits them. What is not known for certain passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dart_model import Class, Scope, Type
from tree_sitter import Node

BUILTIN = {
    "int",
    "double",
    "num",
    "String",
    "bool",
    "DateTime",
    "Duration",
    "List",
    "Map",
    "Set",
    "Iterable",
    "Uint8List",
}
SUPERS = {
    "int": {"num"},
    "double": {"num"},
    "List": {"Iterable"},
    "Set": {"Iterable"},
    "Uint8List": {"List", "Iterable"},
}
ANY = {"dynamic", "Object", "void"}
ELEMENTS = {
    "first",
    "last",
    "single",
    "firstOrNull",
    "lastOrNull",
    "singleOrNull",
    "elementAt",
    "removeLast",
    "removeAt",
}
SAME = {"where", "toList", "take", "skip", "reversed", "toSet"}
EACH = {"where", "map", "any", "every", "forEach", "firstWhere", "lastWhere", "singleWhere", "removeWhere", "expand"}
OF_OBJECT = {"hashCode", "runtimeType", "toString", "noSuchMethod"}
#: External types that add nothing to a class.
EMPTY = {"Exception", "Object", "Error", "Comparable"}
KNOWN = {
    ("DateTime", "millisecondsSinceEpoch"): Type("int"),
    ("DateTime", "difference"): Type("Function", (Type("Duration"),)),
    ("Duration", "inMilliseconds"): Type("int"),
    ("String", "length"): Type("int"),
    ("List", "length"): Type("int"),
    ("Map", "length"): Type("int"),
}


class Types:
    """What one file's names mean, and what is wrong with it so far."""

    def __init__(self, file: Path, root: Node, scope: Scope) -> None:
        self.file, self.root, self.scope = file, root, scope
        self.found: list[tuple[int, str]] = []
        self.inside: Class | None = None
        #: Where the function that is read returns a function into a `FutureOr`: its type.
        self.deferred: Type | None = None

    def say(self, node: Node, what: str) -> None:
        self.found.append((node.start_point[0] + 1, what))

    # Types

    def plain(self, of: Type | None) -> Type | None:
        """What an alias stands for."""
        while of and of.name in self.scope.aliases:
            alias = self.scope.aliases[of.name]
            of = replace(alias, is_nullable=alias.is_nullable or of.is_nullable) if alias else None
        return of

    def supers(self, name: str) -> set[str]:
        """The names of all supertypes of one of our classes."""
        found, queue = set(), [name]
        while queue:
            for each in self.scope.classes[at].supers if (at := queue.pop()) in self.scope.classes else ():
                if each.name not in found:
                    found.add(each.name)
                    queue.append(each.name)
        return found

    def below(self, name: str) -> set[str]:
        return {each for each in self.scope.classes if name in self.supers(each)}

    def fits(self, given: Type | None, wanted: Type | None) -> bool:
        given, wanted = self.plain(given), self.plain(wanted)
        if not given or not wanted or wanted.name in ANY or given.name in ("Never", *ANY):
            return True
        if given.name == "Null":
            return wanted.is_nullable or wanted.name == "FutureOr" or self.is_foreign(wanted.name)
        if wanted.name == "FutureOr":
            return given.name in ("Future", "FutureOr") or self.fits(given, wanted.args[0] if wanted.args else None)
        if given.name == wanted.name or wanted.name in SUPERS.get(given.name, ()):
            return True
        if self.is_foreign(given.name) or self.is_foreign(wanted.name):
            return True
        return wanted.name in self.supers(given.name)

    def is_foreign(self, name: str) -> bool:
        return name not in BUILTIN and name not in self.scope.classes and name not in ("Future", "Stream", "Function")

    def member(self, of: Type | None, name: str, at: Node) -> Type | None:
        of = self.plain(of)
        if not of:
            return None
        if of.name == "Record":
            if name not in dict(of.fields) and not name.startswith("$") and name not in OF_OBJECT:
                self.say(at, f"the record has no field `{name}`")
            return dict(of.fields).get(name)
        element = of.args[0] if of.name in ("List", "Iterable", "Set") and len(of.args) == 1 else None
        if element and name in ELEMENTS:
            return Type("Function", (element,)) if name in ("elementAt", "removeLast", "removeAt") else element
        if element and name in SAME:
            return of if name == "reversed" else Type("Function", (of,))
        if (of.name, name) in KNOWN:
            return KNOWN[of.name, name]
        if of.name not in self.scope.classes:
            return None
        found, is_whole = self.find(of, name)
        if found is not False:
            return found
        if is_whole and name not in OF_OBJECT:
            self.say(at, f"{of.name} has no member `{name}`")
        return None

    def find(self, of: Type, name: str) -> tuple[Type | None | bool, bool]:
        """A member's type, `False` if there is none; and whether all supertypes are ours."""
        cls, is_whole = self.scope.classes[of.name], True
        given = dict(zip(cls.type_params, of.args if len(of.args) == len(cls.type_params) else [None] * 9))
        if name in cls.members:
            return self.put(cls.members[name], given), True
        for on, extension in self.scope.extensions:
            if on == of.name and name in extension.members:
                return extension.members[name], True
        for up in cls.supers:
            if up.name in self.scope.classes:
                found, below_whole = self.find(up, name)
                if found is not False:
                    return self.put(found, given), True
                is_whole = is_whole and below_whole
            else:
                is_whole = is_whole and up.name in EMPTY
        return False, is_whole

    def put(self, of: Type | None, given: dict[str, Type | None]) -> Type | None:
        """A type with type parameters replaced; nothing where one is not known."""
        if not of:
            return None
        if of.name in given:
            return given[of.name]
        if len(of.name) == 1:
            return None
        return replace(of, args=tuple(self.put(arg, given) for arg in of.args))
