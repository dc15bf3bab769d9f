"""Types and declarations of Dart sources, as tree-sitter parses them."""

from __future__ import annotations

from collections import ChainMap
from dataclasses import dataclass, field, replace
from pathlib import Path

import tree_sitter_dart
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_dart.language()))
#: The types whose names begin a type in the syntax tree.
TYPES = {"type_identifier", "function_type", "record_type", "void_type"}


@dataclass(frozen=True)
class Type:
    """A type; a function has parameters, and its result as the argument. `None` stands for a type that is not known."""

    name: str
    args: tuple[Type | None, ...] = ()
    is_nullable: bool = False
    params: Params | None = None
    #: The fields of a record that have names.
    fields: tuple[tuple[str, Type | None], ...] = ()

    def __str__(self) -> str:
        if self.name == "Function":
            return f"{self.args[0] or 'dynamic'} Function(…)"
        args = f"<{', '.join(str(arg or 'dynamic') for arg in self.args)}>" if self.args else ""
        return self.name + args + ("?" if self.is_nullable else "")


@dataclass(frozen=True)
class Param:
    name: str
    type: Type | None
    is_required: bool
    #: "this" or "super" where the type is that of the field or of the superclass's parameter.
    of: str = ""


@dataclass(frozen=True)
class Params:
    positional: tuple[Param, ...] = ()
    named: tuple[Param, ...] = ()

    @property
    def least(self) -> int:
        return sum(param.is_required for param in self.positional)


@dataclass
class Class:
    name: str
    kind: str
    is_sealed: bool = False
    is_abstract: bool = False
    type_params: list[str] = field(default_factory=list)
    supers: list[Type] = field(default_factory=list)
    members: dict[str, Type | None] = field(default_factory=dict)
    statics: dict[str, Type | None] = field(default_factory=dict)
    ctors: dict[str, Params] = field(default_factory=dict)
    constants: list[str] = field(default_factory=list)


def text(node: Node) -> str:
    return (node.text or b"").decode()


def walk(node: Node):
    yield node
    for child in node.children:
        yield from walk(child)


def all_of(node: Node, kind: str) -> list[Node]:
    return [child for child in node.children if child.type == kind]


def first(node: Node | None, *kinds: str) -> Node | None:
    return next((child for child in node.children if child.type in kinds), None) if node else None


def type_at(nodes: list[Node], at: int = 0) -> tuple[Type | None, int]:
    """The type that begins at a node, and where it ends."""
    node = nodes[at]
    if node.type == "void_type":
        made = Type("void")
    elif node.type == "function_type":
        kids = [child for child in node.children if child.is_named]
        result = type_at(kids)[0] if kids[0].type in TYPES else None
        made = Type("Function", (result,), params=type_params_of(first(node, "parameter_type_list")))
    elif node.type == "record_type":
        found = [named_type(each) for each in walk(node) if each.type == "typed_identifier" and is_own(each, node)]
        made = Type("Record", fields=tuple(found))
    else:
        made = Type(text(node))
        # A library's prefix is before its name.
        while at + 1 < len(nodes) and nodes[at + 1].type == "type_identifier":
            at += 1
            made = Type(f"{made.name}.{text(nodes[at])}")
        if at + 1 < len(nodes) and nodes[at + 1].type == "type_arguments":
            at += 1
            made = replace(made, args=types_in(nodes[at]))
    if at + 1 < len(nodes) and nodes[at + 1].type == "nullable_type":
        at += 1
        made = replace(made, is_nullable=True)
    if node.type == "function_type" and text(node).endswith("?"):
        made = replace(made, is_nullable=True)
    return (None if made.name == "dynamic" else made), at + 1


def is_own(node: Node, record: Node) -> bool:
    """Whether a field is the record's own, not one of a record or a function within."""
    up = node.parent
    while up and up.id != record.id:
        if up.type in ("record_type", "function_type"):
            return False
        up = up.parent
    return True


def named_type(node: Node) -> tuple[str, Type | None]:
    kids = [child for child in node.children if child.is_named]
    return text(kids[-1]), type_at(kids)[0]


def types_in(node: Node) -> tuple[Type | None, ...]:
    kids, at, found = [child for child in node.children if child.is_named], 0, []
    while at < len(kids):
        if kids[at].type in TYPES:
            made, at = type_at(kids, at)
            found.append(made)
        else:
            at += 1
    return tuple(found)


def type_of(node: Node) -> Type | None:
    """The type that a declaration begins with, if it says one."""
    kids = [child for child in node.children if child.is_named]
    at = next((at for at, child in enumerate(kids) if child.type in TYPES), None)
    name = next((at for at, child in enumerate(kids) if child.type == "identifier"), len(kids))
    return type_at(kids, at)[0] if at is not None and at < name else None


def type_params_of(node: Node | None) -> Params:
    """The parameters of a function's type."""
    positional, named = [], []
    for each in walk(node) if node else ():
        if each.type not in ("normal_parameter_type", "named_parameter_type") or not is_own(each, node):
            continue
        inner = first(each, "typed_identifier") or each
        kids = [child for child in inner.children if child.is_named and child.type != "required"]
        name = text(kids[-1]) if kids and kids[-1].type == "identifier" else ""
        made = type_at(kids)[0] if kids and kids[0].type in TYPES else None
        if each.type == "named_parameter_type":
            named.append(Param(name, made, "required" in text(each).split()))
        else:
            positional.append(Param(name, made, True))
    return Params(tuple(positional), tuple(named))


def params_of(node: Node | None) -> Params:
    """The parameters of a `formal_parameter_list`."""
    positional, named = [], []
    for child in node.children if node else ():
        if child.type == "formal_parameter":
            positional.append(param_of(child, True))
        elif child.type == "optional_formal_parameters":
            is_named = text(child).startswith("{")
            is_required = False
            for inner in child.children:
                is_required = is_required or text(inner) == "required"
                if inner.type == "formal_parameter":
                    (named if is_named else positional).append(param_of(inner, is_required))
                    is_required = False
    return Params(tuple(positional), tuple(named))


def param_of(node: Node, is_required: bool) -> Param:
    inner = first(node, "constructor_param", "super_formal_parameter")
    if inner:
        of = "this" if inner.type == "constructor_param" else "super"
        return Param(text(all_of(inner, "identifier")[-1]), type_of(inner), is_required, of)
    return Param(text(all_of(node, "identifier")[-1]), type_of(node), is_required)


def function_of(signature: Node) -> tuple[str, Type]:
    name = signature.child_by_field_name("name") or first(signature, "identifier")
    params = params_of(first(signature, "formal_parameter_list"))
    return text(name), Type("Function", (type_of(signature),), params=params)


class Scope:
    """What one file sees: its own declarations, and those of the package."""

    def __init__(self, package: Scope | None = None) -> None:
        above = package or self
        self.own_classes: dict[str, Class] = {}
        self.own_names: dict[str, Type | None] = {}
        self.own_aliases: dict[str, Type | None] = {}
        self.classes = ChainMap(self.own_classes, above.own_classes)
        self.names = ChainMap(self.own_names, above.own_names)
        self.aliases = ChainMap(self.own_aliases, above.own_aliases)
        self.extensions: list[tuple[str, Class]] = package.extensions if package else []

    def read(self, root: Node) -> None:
        for node in root.children:
            self.declare(node)

    def declare(self, node: Node) -> None:
        if node.type == "type_alias":
            kids = [child for child in node.children if child.is_named and child.type != "type_parameters"]
            if len(kids) > 1:
                self.own_aliases[text(kids[0])] = type_at(kids, 1)[0]
        elif node.type in ("class_definition", "enum_declaration", "mixin_declaration"):
            made = class_of(node)
            self.own_classes[made.name] = made
        elif node.type == "extension_declaration":
            made = class_of(node)
            on = node.child_by_field_name("class")
            self.extensions.append((text(on) if on else "", made))
        elif node.type == "function_signature":
            name, made = function_of(node)
            self.own_names[name] = made
        elif node.type == "getter_signature":
            self.own_names[text(node.child_by_field_name("name"))] = type_of(node)
        elif node.type in ("static_final_declaration_list", "initialized_identifier_list"):
            before, kids = node.prev_named_sibling, []
            while before and (before.type in TYPES or before.type in ("type_arguments", "nullable_type")):
                kids.insert(0, before)
                before = before.prev_named_sibling
            for each in node.children:
                if each.is_named:
                    self.own_names[text(each.children[0])] = type_at(kids)[0] if kids else None


def class_of(node: Node) -> Class:
    name = node.child_by_field_name("name") or first(node, "identifier")
    made = Class(text(name) if name else "", node.type.partition("_")[0])
    made.is_sealed = first(node, "sealed") is not None
    made.is_abstract = made.is_sealed or first(node, "abstract") is not None
    generic = first(node, "type_parameters")
    made.type_params = [text(each.children[0]) for each in generic.children if each.is_named] if generic else []
    for child in node.children:
        if child.type in ("superclass", "interfaces", "mixins"):
            made.supers += [each for each in types_in(child) if each]
            for mixins in all_of(child, "mixins"):
                made.supers += [each for each in types_in(mixins) if each]
        elif child.type == "type_identifier" and made.kind == "mixin":
            made.supers.append(Type(text(child)))
    body = node.child_by_field_name("body") or first(node, "class_body", "enum_body", "extension_body")
    for child in body.children if body else ():
        if child.type == "enum_constant":
            constant = text(child.child_by_field_name("name"))
            made.constants.append(constant)
            made.statics[constant] = Type(made.name)
        elif child.type in ("declaration", "method_signature"):
            member(made, child)
    if made.kind == "enum":
        made.statics["values"] = Type("List", (Type(made.name),))
        made.members.update({"name": Type("String"), "index": Type("int")})
    elif made.kind == "class" and not made.ctors:
        made.ctors[""] = Params()
    # A parameter that sets a field has its type.
    for ctor, params in made.ctors.items():
        typed = [
            [replace(p, type=made.members.get(p.name)) if p.of == "this" and not p.type else p for p in group]
            for group in (params.positional, params.named)
        ]
        made.ctors[ctor] = Params(tuple(typed[0]), tuple(typed[1]))
    return made


def member(made: Class, node: Node) -> None:
    into = made.statics if first(node, "static") or text(node).startswith("static ") else made.members
    for child in node.children:
        if child.type.endswith("constructor_signature"):
            names = [text(each) for each in child.children if each.type == "identifier"]
            params = params_of(child.child_by_field_name("parameters") or first(child, "formal_parameter_list"))
            made.ctors[names[1] if len(names) > 1 else ""] = params
        elif child.type == "function_signature":
            name, function = function_of(child)
            into[name] = function
        elif child.type == "getter_signature":
            into[text(child.child_by_field_name("name"))] = type_of(child)
        elif child.type == "setter_signature":
            into.setdefault(text(child.child_by_field_name("name")), None)
        elif child.type in ("initialized_identifier_list", "static_final_declaration_list"):
            kids = [each for each in node.children if each.is_named]
            at = next((at for at, each in enumerate(kids) if each.type in TYPES), None)
            for each in child.children:
                if each.is_named:
                    into[text(each.children[0])] = type_at(kids, at)[0] if at is not None else None


def read(files: dict[Path, str], package: Path) -> dict[Path, tuple[Node, Scope]]:
    """The trees of the files; those of the package see one another, the others see it and themselves."""
    shared = Scope()
    read = {}
    for file, source in files.items():
        root = PARSER.parse(source.encode()).root_node
        scope = Scope(shared)
        scope.read(root)
        if package in file.parents:
            shared.read(root)
        read[file] = (root, scope)
    return read
