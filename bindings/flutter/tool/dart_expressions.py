"""The expressions of Dart sources: their types, and the arguments and members that these do not have."""

from __future__ import annotations

from dataclasses import replace

from dart_model import TYPES, Class, Param, Params, Type, all_of, first, params_of, text, type_at, type_of, types_in
from dart_patterns import results
from dart_types import BUILTIN, EACH, OF_OBJECT, Types
from tree_sitter import Node

SELECTORS = {"selector", "cascade_section"}
STATIC = {
    ("DateTime", "now"): "DateTime",
    ("DateTime", "fromMillisecondsSinceEpoch"): "DateTime",
    ("int", "parse"): "int",
}


class Expressions(Types):
    """Reads expressions. The other rules say how a switch, a pattern and a statement are read."""

    def visit(self, node: Node, env: dict) -> None:
        raise NotImplementedError

    def visit_all(self, nodes: list[Node], env: dict) -> None:
        raise NotImplementedError

    def switch(self, node: Node, env: dict, context: Type | None) -> None:
        raise NotImplementedError

    def chain(self, nodes: list[Node], env: dict, context: Type | None = None) -> Type | None:
        """An expression: its beginning, and what is selected of it."""
        if not nodes:
            return None
        head, rest = nodes[0], nodes[1:]
        cls = self.scope.classes.get(text(head)) if head.type == "identifier" and text(head) not in env else None
        if cls or (head.type == "identifier" and text(head) in BUILTIN):
            value, rest = self.of_class(text(head), cls, rest, env)
        else:
            value = self.primary(head, env, context)
        cascaded = value
        for selector in rest:
            if selector.type == "cascade_section":
                self.cascade(selector, cascaded, env)
                continue
            value = cascaded = self.select(selector, value, env)
        return value

    def of_class(self, name: str, cls: Class | None, rest: list[Node], env: dict) -> tuple[Type | None, list[Node]]:
        ctor, at = "", 0
        chosen = first(rest[0], "unconditional_assignable_selector") if rest and rest[0].type == "selector" else None
        if chosen and first(chosen, "identifier"):
            ctor, at = text(first(chosen, "identifier")), 1
        arguments = self.arguments(rest[at]) if at < len(rest) else None
        if not cls:
            if (name, ctor) in STATIC:
                return Type("Function", (Type(STATIC[name, ctor]),)), rest[at:]
            if name == "Duration" and not ctor and arguments:
                self.pass_on(arguments, None, env, "")
                return Type("Duration"), rest[1:]
            return None, rest[at:]
        if ctor in cls.statics:
            return cls.statics[ctor], rest[at:]
        if ctor in cls.ctors or (ctor == "new" and "" in cls.ctors):
            if arguments:
                self.construct(cls, ctor, arguments, env, rest[at])
                return Type(cls.name, self.generic(rest[at])), rest[at + 1 :]
            return None, rest[at:]
        if at and cls.kind != "extension" and ctor not in OF_OBJECT:
            self.say(rest[0], f"{name} has no static member or constructor `{ctor}`")
        elif arguments:
            self.say(rest[at], f"{name} has no constructor without a name")
            self.pass_on(arguments, None, env, "")
        return None, rest[at + 1 :]

    @staticmethod
    def generic(selector: Node) -> tuple[Type | None, ...]:
        part = first(first(selector, "argument_part"), "type_arguments")
        return types_in(part) if part else ()

    def construct(self, cls: Class, ctor: str, arguments: Node, env: dict, at: Node) -> None:
        if cls.is_abstract and not ctor and not arguments.parent.type.endswith("initializer"):
            self.say(at, f"{cls.name} is abstract")
        params = self.with_supers(cls, cls.ctors["" if ctor == "new" else ctor])
        self.pass_on(arguments, params, env, cls.name + (f".{ctor}" if ctor else ""))

    def with_supers(self, cls: Class, params: Params) -> Params:
        """The parameters of a constructor, with the types of those that go on to the superclass."""
        up = next((self.scope.classes[each.name] for each in cls.supers if each.name in self.scope.classes), None)
        above = self.with_supers(up, up.ctors[""]) if up and "" in up.ctors else Params()
        of_super = [each for each in params.positional if each.of == "super"]
        positional = tuple(
            replace(each, type=above.positional[of_super.index(each)].type)
            if each in of_super and of_super.index(each) < len(above.positional)
            else each
            for each in params.positional
        )
        types = {each.name: each.type for each in above.named}
        named = tuple(replace(each, type=types.get(each.name)) if each.of == "super" else each for each in params.named)
        return Params(positional, named)

    @staticmethod
    def arguments(selector: Node) -> Node | None:
        return first(first(selector, "argument_part"), "arguments") if selector.type == "selector" else None

    def pass_on(self, arguments: Node, params: Params | None, env: dict, what: str, each: Type | None = None) -> None:
        """Reads arguments, and compares them with the parameters if these are known."""
        given, named = 0, set()
        for argument in arguments.children:
            if argument.type == "argument":
                param = params.positional[given] if params and given < len(params.positional) else None
                given += 1
                value = [child for child in argument.children if child.is_named]
            elif argument.type == "named_argument":
                name = text(first(first(argument, "label"), "identifier"))
                named.add(name)
                param = next((each for each in params.named if each.name == name), None) if params else None
                if params and not param:
                    self.say(argument, f"{what} has no named parameter `{name}`")
                value = [child for child in argument.children if child.is_named and child.type != "label"]
            else:
                continue
            wanted = param.type if param else each
            found = self.chain(value, env, wanted)
            if param and not self.fits(found, wanted) and not self.is_double(value, wanted):
                self.say(
                    argument, f"{what}: `{param.name}` is of type {wanted}, and is given {found}: {text(argument)[:60]}"
                )
        if not params:
            return
        if not params.least <= given <= len(params.positional):
            most = len(params.positional)
            wants = str(most) if most == params.least else f"{params.least} to {most}"
            self.say(arguments, f"{what} takes {wants} positional arguments, and is given {given}")
        for param in params.named:
            if param.is_required and param.name not in named:
                self.say(arguments, f"{what} lacks the required argument `{param.name}`")

    @staticmethod
    def is_double(value: list[Node], wanted: Type | None) -> bool:
        return bool(wanted) and wanted.name == "double" and value[0].type == "decimal_integer_literal"

    def select(self, selector: Node, value: Type | None, env: dict) -> Type | None:
        part = first(selector, "argument_part")
        if part:
            arguments = first(part, "arguments")
            function = self.plain(value)
            is_function = function is not None and function.name == "Function"
            if arguments:
                name = text(selector.prev_named_sibling) if selector.prev_named_sibling else "it"
                self.pass_on(
                    arguments, function.params if is_function else None, env, name.lstrip(".?"), self.each(value)
                )
            result = function.args[0] if is_function and function.args else None
            return None if result and len(result.name) == 1 else result
        chosen = first(selector, "unconditional_assignable_selector", "conditional_assignable_selector")
        if chosen:
            name = first(chosen, "identifier")
            if name:
                return self.chosen(value, name)
            index = first(chosen, "index_selector")
            if index:
                self.visit(index, env)
                of = self.plain(value)
                return of.args[-1] if of and of.name in ("List", "Map") and of.args else None
        if text(selector) == "!":
            return value
        self.visit(selector, env)
        return None

    def chosen(self, value: Type | None, name: Node) -> Type | None:
        of = self.plain(value)
        if of and of.name in ("List", "Iterable", "Set") and len(of.args) == 1 and text(name) in EACH:
            result = of if text(name) == "where" else None
            return Type("Each", (of.args[0], result))
        return self.member(value, text(name), name)

    @staticmethod
    def each(value: Type | None) -> Type | None:
        """The type of a closure that is called with each element."""
        if not value or value.name != "Each":
            return None
        return Type("Function", (None,), params=Params((Param("", value.args[0], True),)))

    def cascade(self, section: Node, value: Type | None, env: dict) -> None:
        kids = [child for child in section.children if child.is_named]
        name = first(kids[0], "identifier") if kids else None
        on = self.member(value, text(name), name) if name else None
        for child in kids[1:]:
            part = child if child.type == "argument_part" else None
            if part and first(part, "arguments"):
                function = self.plain(on)
                known = function.params if function and function.name == "Function" else None
                self.pass_on(first(part, "arguments"), known, env, text(name) if name else "it")
            elif child.type not in ("cascade_selector",):
                self.chain([child], env)

    def primary(self, node: Node, env: dict, context: Type | None) -> Type | None:
        kind = node.type
        if kind == "identifier":
            return self.name(text(node), env)
        if kind == "this":
            return Type(self.inside.name) if self.inside and self.inside.kind != "extension" else None
        if kind in ("const_object_expression", "new_expression"):
            cls = self.scope.classes.get(text(first(node, "type_identifier")))
            ctor = first(node, "identifier")
            arguments = first(node, "arguments")
            if cls and (text(ctor) if ctor else "") in cls.ctors:
                self.construct(cls, text(ctor) if ctor else "", arguments, env, node)
                return Type(cls.name)
            if cls:
                self.say(node, f"{cls.name} has no constructor `{text(ctor) if ctor else ''}`")
            self.pass_on(arguments, None, env, "")
            return Type("Duration") if text(first(node, "type_identifier")) == "Duration" else None
        if kind == "string_literal":
            self.visit(node, env)
            return Type("String")
        if kind in ("decimal_integer_literal", "hex_integer_literal"):
            return Type("int")
        if kind == "decimal_floating_point_literal":
            return Type("double")
        if kind in ("true", "false"):
            return Type("bool")
        if kind == "null_literal":
            return Type("Null")
        if kind == "parenthesized_expression":
            return self.chain([child for child in node.children if child.is_named], env, context)
        if kind == "unary_expression" and node.children[0].type == "await_expression":
            waited = [child for child in node.children[0].children if child.is_named]
            value = self.plain(self.chain(waited, env))
            is_future = value and value.name in ("Future", "FutureOr") and value.args
            return value.args[0] if is_future else value if value and value.name in BUILTIN else None
        if kind == "conditional_expression":
            self.visit_all(node.children[:1], env)
            found = [
                self.chain([child for child in node.children_by_field_name(name) if child.is_named], env, context)
                for name in ("consequence", "alternative")
            ]
            return found[0] if found[0] == found[1] else None
        if kind == "if_null_expression":
            first_type = self.chain([each for each in node.children_by_field_name("first") if each.is_named], env)
            self.chain([each for each in node.children_by_field_name("second") if each.is_named], env, context)
            return None if first_type is None or first_type.is_nullable else first_type
        if kind in ("equality_expression", "relational_expression", "logical_and_expression", "logical_or_expression"):
            self.visit(node, env)
            return Type("bool")
        if kind == "function_expression":
            return self.closure(node, env, context)
        if kind == "switch_expression":
            self.switch(node, env, context)
            return None
        if kind == "list_literal":
            self.visit(node, env)
            return Type("List")
        if kind == "set_or_map_literal":
            self.visit(node, env)
            return None
        if kind == "type_cast_expression":
            self.visit(node, env)
            cast = [child for child in first(node, "type_cast").children if child.is_named]
            at = next((at for at, child in enumerate(cast) if child.type in TYPES), None)
            return type_at(cast, at)[0] if at is not None else None
        if kind == "throw_expression":
            self.visit(node, env)
            return Type("Never")
        self.visit(node, env)
        return None

    def name(self, name: str, env: dict) -> Type | None:
        if name in env:
            return env[name]
        if self.inside:
            if name in self.inside.statics:
                return self.inside.statics[name]
            if self.inside.kind != "extension" and self.inside.name in self.scope.classes:
                found, _ = self.find(Type(self.inside.name), name)
                if found is not False:
                    return found
        return self.scope.names.get(name)

    # Functions

    def closure(self, node: Node, env: dict, context: Type | None) -> Type:
        context = self.plain(context)
        context = context if context and context.name == "Function" else None
        params = params_of(node.child_by_field_name("parameters"))
        inner = dict(env)
        wanted = context.params.positional if context and context.params else ()
        for at, param in enumerate(params.positional):
            inner[param.name] = param.type or (wanted[at].type if at < len(wanted) else None)
        for param in params.named:
            inner[param.name] = param.type
        body = node.child_by_field_name("body")
        self.body(body, inner, context.args[0] if context and context.args else None)
        return Type("Function", (None,), params=None)

    def body(self, body: Node | None, env: dict, result: Type | None) -> None:
        """The body of a function that gives `result`."""
        if not body:
            return
        is_async = first(body, "async") is not None
        outer, self.deferred = self.deferred, None
        result = self.plain(result)
        if result and (result.name == "FutureOr" or (is_async and result.name == "Future")) and result.args:
            inner = self.plain(result.args[0])
            self.deferred = inner if inner and inner.name == "Function" else None
        block = first(body, "block")
        if block:
            self.visit(block, env)
        else:
            value = [child for child in body.children if child.is_named and child.type != "async"]
            self.returned(value, env)
        self.deferred = outer

    def returned(self, value: list[Node], env: dict) -> None:
        if self.deferred:
            for closure in results(value):
                for param in all_of(closure.child_by_field_name("parameters"), "formal_parameter"):
                    if not type_of(param) and len(all_of(param, "identifier")) == 1:
                        wanted = f"{self.deferred.args[0]} Function(…)"
                        why = f"its context is FutureOr<{wanted}>, which is no function type, so `{text(param)}` is dynamic"
                        self.say(closure, f"the returned closure has a parameter without a type: {why}")
        context = self.deferred
        self.chain(value, env, context)
