"""The type hints of functions and classes."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, Union


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the hints of a callable."""
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = type(function).__call__
    return _resolved(function, getattr(inspect.unwrap(function), "__globals__", {}))


def fields_hints(kind: type) -> dict[str, Any]:
    """Returns the hints of a class."""
    return _resolved(kind, vars(sys.modules[kind.__module__]))


def _resolved(thing: Any, namespace: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(thing, include_extras=True)
    return hints if sys.version_info >= (3, 11) else {name: _named_within(hint, namespace) for name, hint in hints.items()}


def _named_within(hint: Any, namespace: dict[str, Any]) -> Any:
    """Before Python 3.11 the text in ``list["Node"]`` was left unresolved."""
    if isinstance(hint, str):
        return typing.get_type_hints(types.SimpleNamespace(__annotations__={"it": hint}), namespace)["it"]
    if typing.get_origin(hint) is Literal or not typing.get_args(hint):
        return hint
    within = tuple(_named_within(each, namespace) for each in hint.__args__)
    if isinstance(hint, types.GenericAlias):
        origin: Any = hint.__origin__
        return types.GenericAlias(origin, within)
    return hint.copy_with(within) if hasattr(hint, "copy_with") else Union[within]
