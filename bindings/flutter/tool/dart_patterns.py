"""Patterns and results of Dart sources, as the syntax tree has them."""

from __future__ import annotations

from dart_model import all_of, text
from tree_sitter import Node


def fields(node: Node) -> list[tuple[str, Node | None]]:
    """The fields of an object's or record's pattern, each with its own pattern."""
    found, name, sub, is_named = [], "", None, False
    is_inside = node.type == "record_pattern"
    for child in node.children:
        if child.type in ("(", ",", ")"):
            if is_inside and (name or sub):
                if is_named and not name and sub:
                    names = [each for each in walk_names(sub)]
                    name = names[-1] if names else ""
                found.append((name, sub))
            name, sub, is_named = "", None, False
            is_inside = True
        elif not is_inside:
            continue
        elif child.type == ":":
            is_named = True
        elif child.type == "identifier" and not is_named:
            name = text(child)
        elif child.is_named:
            sub = child
    return found


def walk_names(node: Node):
    if node.type == "identifier":
        yield text(node)
    for child in node.children:
        yield from walk_names(child)


def is_bound(node: Node) -> bool:
    """Whether a name in a pattern is a new variable: in a declaration it is, in a case it is a constant."""
    up = node.parent
    while up and up.type.endswith("_pattern"):
        up = up.parent
    is_declared = up is not None and up.type in ("pattern_variable_declaration", "for_loop_parts", "pattern_assignment")
    return is_declared and len(node.named_children) == 1 and node.named_children[0].type == "identifier"


def results(value: list[Node]) -> list[Node]:
    """The closures that an expression may give."""
    if len(value) != 1:
        return []
    node = value[0]
    if node.type == "function_expression":
        return [node]
    if node.type == "parenthesized_expression":
        return results([child for child in node.children if child.is_named])
    if node.type == "conditional_expression":
        branches = ("consequence", "alternative")
        return [each for name in branches for each in results(node.children_by_field_name(name))]
    if node.type == "if_null_expression":
        return [each for name in ("first", "second") for each in results(node.children_by_field_name(name))]
    if node.type == "switch_expression":
        found = []
        for case in all_of(node, "switch_expression_case"):
            at = next((at for at, child in enumerate(case.children) if child.type == "=>"), 0)
            found += results([child for child in case.children[at:] if child.is_named])
        return found
    return []
