"""What a Dart compiler refuses and reading can find: wrong arguments, members that no class of ours has, closures whose
parameters get no type, switches that leave a case out. What is not known for certain passes."""

from __future__ import annotations

from pathlib import Path

from dart_expressions import SELECTORS, Expressions
from dart_model import TYPES, Class, Params, Type, all_of, first, function_of, params_of, read, text, type_at, type_of
from dart_patterns import fields, is_bound
from tree_sitter import Node


class Reader(Expressions):
    """Reads one file."""

    def pattern(self, node: Node, of: Type | None, env: dict) -> None:
        """Reads a pattern, and binds its names."""
        if node.type == "object_pattern":
            kids = [child for child in node.children if child.is_named]
            name = text(kids[0]) if kids and kids[0].type in TYPES else ""
            made = Type(name) if name in self.scope.classes else None
            generic = self.plain(of)
            if made and generic and generic.name == name:
                made = generic
            for field, sub in fields(node):
                self.pattern(sub, self.member(made, field, node), env) if sub else None
        elif node.type == "record_pattern":
            for field, sub in fields(node):
                known = self.plain(of)
                is_record = known is not None and known.name == "Record" and field
                self.pattern(sub, self.member(known, field, node) if is_record else None, env) if sub else None
        elif node.type == "variable_pattern":
            names = all_of(node, "identifier")
            if names:
                env[text(names[-1])] = type_of(node) or of
        elif node.type == "constant_pattern":
            name = first(node, "identifier")
            if name and len(node.named_children) == 1 and is_bound(node):
                env[text(name)] = of
            elif node.named_children and node.named_children[0].type == "qualified":
                parts = [text(child) for child in node.named_children[0].named_children]
                cls = self.scope.classes.get(parts[0])
                if cls and len(parts) == 2 and parts[1] not in cls.statics:
                    self.say(node, f"{parts[0]} has no constant `{parts[1]}`")
        else:
            for child in node.children:
                if child.type.endswith("_pattern"):
                    self.pattern(child, of if node.type == "null_check_pattern" else None, env)

    def switch(self, node: Node, env: dict, context: Type | None) -> None:
        condition = node.child_by_field_name("condition")
        on = [child for child in condition.children if child.is_named]
        value = self.plain(self.chain(on, env))
        variable = text(on[0]) if len(on) == 1 and on[0].type == "identifier" else None
        covered, is_open = set(), False
        is_expression = node.type == "switch_expression"
        block = node if is_expression else node.child_by_field_name("body")
        for case in block.children:
            if case.type == "switch_statement_default":
                is_open = True
            if case.type not in ("switch_expression_case", "switch_statement_case"):
                if case.is_named and case.id != condition.id:
                    self.visit(case, env)
                continue
            inner = dict(env)
            patterns = [child for child in case.children if child.type.endswith("_pattern")]
            has_guard = any(child.type == "when" or text(child) == "when" for child in case.children)
            if variable and len(patterns) == 1 and patterns[0].type == "object_pattern":
                inner[variable] = Type(text(patterns[0].named_children[0]))
            elif variable and patterns and patterns[0].type != "constant_pattern":
                inner[variable] = None
            for pattern in patterns:
                self.pattern(pattern, value, inner)
                if not has_guard:
                    what = self.covers(pattern, value)
                    covered |= what
                    is_open = is_open or "_" in what
            rest = [child for child in case.children if child.is_named and child not in patterns]
            if is_expression:
                at = next((at for at, child in enumerate(case.children) if child.type == "=>"), 0)
                guard = [child for child in case.children[:at] if child.is_named and child not in patterns]
                self.visit_all(guard, inner)
                self.chain([child for child in case.children[at:] if child.is_named], inner, context)
            else:
                self.visit_all(rest, inner)
        if not is_open:
            self.exhausts(node, value, covered, is_expression)

    def covers(self, pattern: Node, of: Type | None) -> set[str]:
        """The classes and constants that a pattern takes whatever they hold; `_` takes all."""
        if pattern.type == "object_pattern":
            takes_all = all(sub is not None and "_" in self.covers(sub, None) for _, sub in fields(pattern))
            return {text(pattern.named_children[0])} if takes_all else set()
        if pattern.type == "variable_pattern":
            named = type_of(pattern)
            return {named.name} if named else {"_"}
        if pattern.type == "constant_pattern":
            if text(pattern) == "_" or is_bound(pattern):
                return {"_"}
            return {text(pattern).split(".")[-1]}
        return set()

    def exhausts(self, node: Node, of: Type | None, covered: set[str], is_expression: bool) -> None:
        name = of.name if of else None
        if not name:
            # The cases tell what is switched over.
            parents = [self.sealed(each) for each in covered if each in self.scope.classes]
            known = set(parents) - {None}
            name = known.pop() if is_expression and len(known) == 1 and None not in parents else None
        cls = self.scope.classes.get(name or "")
        if cls and cls.kind == "enum":
            lacking = sorted(set(cls.constants) - covered)
        elif cls and cls.is_sealed:
            lacking = sorted(each for each in self.leaves(name) if not ({each} | self.supers(each)) & covered)
        elif name == "bool":
            lacking = sorted({"true", "false"} - covered)
        else:
            return
        if of and of.is_nullable and "null" not in covered:
            lacking.append("null")
        if lacking:
            self.say(node, f"the switch over {name} leaves out {', '.join(lacking)}")

    def sealed(self, name: str) -> str | None:
        return next((each for each in [name, *sorted(self.supers(name))] if self.is_sealed(each)), None)

    def is_sealed(self, name: str) -> bool:
        return name in self.scope.classes and self.scope.classes[name].is_sealed

    def leaves(self, name: str) -> set[str]:
        return {each for each in self.below(name) if not self.is_sealed(each)}

    # Statements

    def visit_all(self, nodes: list[Node], env: dict) -> None:
        """Reads nodes one after the other; selectors belong to what is before them."""
        at = 0
        while at < len(nodes):
            run = [nodes[at]]
            at += 1
            while at < len(nodes) and nodes[at].type in SELECTORS:
                run.append(nodes[at])
                at += 1
            self.statement(run, env)

    def visit(self, node: Node, env: dict) -> None:
        self.visit_all([child for child in node.children if child.is_named], env)

    def statement(self, run: list[Node], env: dict) -> None:
        node = run[0]
        kind = node.type
        if kind == "block":
            self.visit(node, dict(env))
        elif kind == "return_statement":
            self.returned([child for child in node.children if child.is_named], env)
        elif kind == "initialized_variable_definition":
            self.variable(node, env)
        elif kind == "pattern_variable_declaration":
            kids = [child for child in node.children if child.is_named]
            at = next(at for at, child in enumerate(kids) if child.type.endswith("_pattern"))
            value = self.chain(kids[at + 1 :], env)
            self.pattern(kids[at], value, env)
        elif kind == "local_function_declaration":
            self.local_function(node, env)
        elif kind == "switch_statement":
            self.switch(node, env, None)
        elif kind in ("if_statement", "if_element"):
            self.condition(node, env)
        elif kind in ("for_statement", "for_element"):
            self.loop(node, env)
        elif kind == "catch_clause":
            for name in all_of(first(node, "catch_parameters") or node, "identifier"):
                env[text(name)] = None
        elif kind == "try_statement":
            self.attempt(node, env)
        elif kind == "type_test_expression":
            self.visit_all(node.children[:-1], env)
            if node.children[0].type == "identifier":
                # What it is from here on depends on the way.
                env[text(node.children[0])] = None
        elif kind == "assignment_expression":
            self.assign(node, env)
        elif kind in ("identifier", "this", "super", "function_expression") or len(run) > 1:
            self.chain(run, env)
        elif kind.endswith("_literal") or kind.endswith("_expression"):
            self.primary(node, env, None)
        elif kind not in TYPES and kind not in ("label", "type_arguments", "annotation"):
            self.visit(node, env)

    def variable(self, node: Node, env: dict) -> None:
        declared = type_of(node)
        name = node.child_by_field_name("name")
        value = [child for child in node.children_by_field_name("value") if child.is_named]
        found = self.chain(value, env, declared)
        if declared and not self.fits(found, declared) and not self.is_double(value, declared):
            self.say(node, f"`{text(name)}` is of type {declared}, and is given {found}")
        env[text(name)] = declared or (None if found and found.name in ("Null", "Never", "Each") else found)

    def local_function(self, node: Node, env: dict) -> None:
        declared = node.children[0]
        signature = first(declared, "function_signature")
        if not signature:
            return self.visit(node, env)
        name, function = function_of(signature)
        env[name] = function
        inner = dict(env)
        for param in (*function.params.positional, *function.params.named):
            inner[param.name] = param.type
        self.body(declared.child_by_field_name("body") or first(declared, "function_body"), inner, function.args[0])
        return None

    def condition(self, node: Node, env: dict) -> None:
        """What a condition binds is known where it holds, and after an `if` that leaves where it does not."""
        inner = dict(env)
        pattern = next((child for child in node.children if child.type.endswith("_pattern")), None)
        consequence = node.child_by_field_name("consequence")
        kids = [child for child in node.children if child.is_named]
        if pattern:
            value = self.chain(kids[: kids.index(pattern)], inner)
            if kids[0].type == "identifier" and kids.index(pattern) == 1:
                inner[text(kids[0])] = None
            self.pattern(pattern, value, inner)
            kids = kids[kids.index(pattern) + 1 :]
        tested = [child for child in kids if not consequence or child.start_byte < consequence.start_byte]
        self.visit_all(tested, inner)
        self.forget(inner, env)
        self.visit_all([child for child in kids if child not in tested], inner)

    @staticmethod
    def forget(inner: dict, env: dict) -> None:
        """What a test made uncertain stays so."""
        for name in env:
            if inner.get(name) is None:
                env[name] = None

    def loop(self, node: Node, env: dict) -> None:
        inner = dict(env)
        parts = first(node, "for_loop_parts")
        value = [child for child in parts.children_by_field_name("value") if child.is_named]
        of = self.plain(self.chain(value, inner)) if value else None
        element = of.args[0] if of and of.args and of.name in ("List", "Iterable", "Set", "Stream") else None
        pattern = next((child for child in parts.children if child.type.endswith("_pattern")), None)
        name = parts.child_by_field_name("name")
        if pattern:
            self.pattern(pattern, element, inner)
        elif name and value:
            inner[text(name)] = type_of(parts) or element
        else:
            self.visit(parts, inner)
        self.visit_all([child for child in node.children if child.is_named and child != parts], inner)

    def attempt(self, node: Node, env: dict) -> None:
        inner, caught = dict(env), None
        for child in node.children:
            if child.type in TYPES:
                caught = type_at([child])[0]
            elif child.type == "catch_clause":
                inner = dict(env)
                names = all_of(first(child, "catch_parameters") or child, "identifier")
                for at, name in enumerate(names):
                    inner[text(name)] = caught if at == 0 else None
                caught = None
            elif child.is_named:
                self.visit_all([child], dict(inner))

    def assign(self, node: Node, env: dict) -> None:
        left = node.child_by_field_name("left")
        right = [child for child in node.children_by_field_name("right") if child.is_named]
        wanted = self.chain([child for child in left.children if child.is_named], env)
        found = self.chain(right, env, wanted)
        is_plain = any(child.type == "=" for child in node.children)
        if is_plain and not self.fits(found, wanted) and not self.is_double(right, wanted):
            self.say(node, f"`{text(left)}` is of type {wanted}, and is given {found}")

    # Declarations

    def run(self) -> list[tuple[int, str]]:
        self.declarations(self.root.children)
        return sorted(set(self.found))

    def declarations(self, nodes: list[Node]) -> None:
        function: Type | None = None
        for node in nodes:
            if node.type in ("class_definition", "enum_declaration", "mixin_declaration", "extension_declaration"):
                self.type(node)
            elif node.type in ("function_signature", "getter_signature", "method_signature", "setter_signature"):
                function = self.signature(node)
            elif node.type == "function_body":
                self.member_body(node, function)
                function = None
            elif node.type == "declaration":
                self.declaration(node)
            elif node.type in ("static_final_declaration_list", "initialized_identifier_list"):
                self.values(node)
            elif node.type == "enum_constant":
                part = first(node, "argument_part")
                if part and self.inside and "" in self.inside.ctors:
                    self.pass_on(first(part, "arguments"), self.inside.ctors[""], {}, self.inside.name)

    def type(self, node: Node) -> None:
        name = node.child_by_field_name("name") or first(node, "identifier")
        kind = node.type.partition("_")[0]
        self.inside = self.scope.classes.get(text(name)) if kind != "extension" else Class("", "extension")
        body = node.child_by_field_name("body") or first(node, "class_body", "enum_body", "extension_body")
        self.declarations(body.children if body else [])
        self.inside = None

    def signature(self, node: Node) -> Type | None:
        inner = node
        if node.type == "method_signature":
            inner = next((child for child in node.children if child.type.endswith("_signature")), node)
            self.initializers(node)
        if inner.type == "function_signature":
            return function_of(inner)[1]
        if inner.type == "getter_signature":
            return Type("Function", (type_of(inner),), params=Params())
        return Type("Function", (None,), params=params_of(first(inner, "formal_parameter_list")))

    def member_body(self, node: Node, function: Type | None) -> None:
        env: dict[str, Type | None] = {}
        if function and function.params:
            for param in (*function.params.positional, *function.params.named):
                env[param.name] = param.type
                if param.of and self.inside:
                    env[param.name] = self.inside.members.get(param.name)
        self.body(node, env, function.args[0] if function else None)

    def declaration(self, node: Node) -> None:
        for child in node.children:
            if child.type in ("initialized_identifier_list", "static_final_declaration_list"):
                self.values(child)
        self.initializers(node)

    def initializers(self, node: Node) -> None:
        """The initializers of a constructor, in which its parameters are known."""
        signature = next((child for child in node.children if child.type.endswith("constructor_signature")), None)
        params = params_of(first(signature, "formal_parameter_list")) if signature else Params()
        env = {param.name: param.type for param in (*params.positional, *params.named)}
        for listed in (each for part in (node, signature) if part for each in all_of(part, "initializers")):
            for entry in all_of(listed, "initializer_list_entry"):
                arguments = first(entry, "arguments")
                kids = [child for child in entry.children if child.is_named]
                if arguments and kids[0].type == "super" and self.inside:
                    ctor = text(kids[1]) if kids[1].type == "identifier" else ""
                    up = next((self.scope.classes.get(each.name) for each in self.inside.supers), None)
                    known = self.with_supers(up, up.ctors[ctor]) if up and ctor in up.ctors else None
                    self.pass_on(arguments, known, env, up.name if up else "super")
                else:
                    self.visit(entry, env)

    def values(self, node: Node) -> None:
        for each in node.children:
            if each.is_named and len(each.children) > 1:
                name = text(each.children[0])
                declared = (
                    (self.inside.members | self.inside.statics).get(name) if self.inside else self.scope.names.get(name)
                )
                value = [child for child in each.children[1:] if child.is_named]
                found = self.chain(value, {}, declared)
                if declared and not self.fits(found, declared) and not self.is_double(value, declared):
                    self.say(each, f"`{name}` is of type {declared}, and is given {found}")


def findings(files: dict[Path, str], package: Path) -> list[str]:
    """What is wrong, as `FILE:LINE: what`; the package's own files see one another."""
    return [
        f"{file}:{line}: {what}"
        for file, (root, scope) in read(files, package).items()
        for line, what in Reader(file, root, scope).run()
    ]
