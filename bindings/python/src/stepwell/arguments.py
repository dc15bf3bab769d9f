"""Wrong arguments: an error that names the argument, instead of a later one."""

from __future__ import annotations

import collections.abc
import dataclasses
import difflib
import functools
import importlib
import inspect
import json
import math
import types
import typing
from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, TypeVar, Union

from .errors import MisuseError, StepwellError

_LOADED_LATE: dict[str, str] = {
    "AgUiOptions": "config",
    "Answerer": "runner",
    "Approver": "runner",
    "CompactionPolicy": "config",
    "ContextGuard": "config",
    "Conversation": "conversation",
    "DevicePolicy": "config",
    "FallbackModel": "config",
    "GenerationSettings": "config",
    "Hook": "hooks",
    "HttpClient": "transport",
    "InstructionsSource": "runner",
    "JournalSink": "journals",
    "Limits": "config",
    "Message": "messages",
    "Model": "model",
    "ModelPrice": "config",
    "Prompt": "prompt",
    "Recovered": "recovery",
    "Retry": "config",
    "RetryPolicy": "config",
    "RunRegistry": "registry",
    "RunSource": "runner",
    "SessionStore": "sessions",
    "Store": "stores",
    "SyncTurn": "sync",
    "TextOptions": "config",
    "ThreadKey": "stores",
    "Timeouts": "config",
    "Trimmer": "runner",
    "ModelChooser": "runner",
    "Turn": "turn",
    "TurnResult": "result",
}
"""The modules of types that are loaded only when a hint with the type is read."""


class LazyNames(dict[str, Any]):
    """The names in hints of modules that do not load these types."""

    def __missing__(self, name: str) -> Any:
        if name not in _LOADED_LATE:
            raise KeyError(name)
        return getattr(importlib.import_module(f".{_LOADED_LATE[name]}", __package__), name)


F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def checks_fields(cls: C) -> C:
    """Makes a future dataclass of settings refuse values that do not fit. Its numbers are finite, and not negative."""

    @functools.cache
    def hints_of_fields() -> dict[str, Any]:
        try:
            return typing.get_type_hints(cls)
        except NameError:
            return typing.get_type_hints(cls, localns=LazyNames())

    def check_all(self: Any) -> None:
        hints = hints_of_fields()
        for name, hint in hints.items():
            value = getattr(self, name)
            check(f"`{cls.__name__}.{name}`", value, hint)
            if isinstance(value, (int, float)) and (value < 0 or not math.isfinite(value)):
                raise MisuseError(f"`{cls.__name__}.{name}` is {value!r}", "give a number from 0 on")

    setattr(cls, "__post_init__", check_all)
    return cls


def checks_arguments(function: F) -> F:
    """Makes a function refuse arguments that do not fit its hints, before it does anything."""

    naming = _naming(function)

    @wraps(function)
    def checking(*args: Any, **kwargs: Any) -> Any:
        _check_call(function, args, kwargs)
        return naming(*args, **kwargs)

    return typing.cast(F, checking)


def names_arguments(cls: C) -> C:
    """Makes the public methods of a class name the argument that made them fail because it does not fit.

    Arguments are not checked unless a method fails.
    """
    for name, method in list(vars(cls).items()):
        if not name.startswith("_") and inspect.isfunction(method):
            setattr(cls, name, _naming(method))
        elif not name.startswith("_") and isinstance(method, classmethod):
            setattr(cls, name, classmethod(_naming(method.__func__)))
    return cls


_BLAMED = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


def _naming(function: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def naming_async(*args: Any, **kwargs: Any) -> Any:
            try:
                return await function(*args, **kwargs)
            except StepwellError:
                raise
            except _BLAMED as error:
                _blame(function, args, kwargs, error)
                raise

        return naming_async

    @wraps(function)
    def naming(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except StepwellError:
            raise
        except _BLAMED as error:
            _blame(function, args, kwargs, error)
            raise

    return naming


def _blame(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> None:
    _check_call(function, args, kwargs, error)
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    raised_in = "" if traceback is None else str(traceback.tb_frame.f_globals.get("__name__", ""))
    if raised_in.startswith("stepwell._ffi"):
        # A value may have the right type, and be too large, say.
        raise MisuseError(
            f"an argument of `{_called(function, args)}` does not fit: {error}", "give a value within these bounds"
        ) from error


def _called(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    # To the caller, inherited methods are the class's own.
    if args and function.__name__ == "__init__":
        return type(args[0]).__name__
    if args and function.__module__.startswith(("stepwell._ffi", "stepwell.replies")):
        return f"{type(args[0]).__name__}.{function.__name__}"
    return function.__qualname__


def _check_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], cause: Exception | None = None
) -> None:
    called = _called(function, args)
    signature = inspect.signature(function)
    try:
        try:
            hints = typing.get_type_hints(function)
        except NameError:
            hints = typing.get_type_hints(function, localns=LazyNames())
        given = signature.bind(*args, **kwargs).arguments
    except NameError:
        return
    except TypeError:
        unknown = next((name for name in kwargs if name not in signature.parameters), None)
        if unknown is None:
            kinds = [each.kind for each in signature.parameters.values()][1:]
            if len(args) > 1 and kinds and all(kind is inspect.Parameter.KEYWORD_ONLY for kind in kinds):
                # Python's own error names a method that the app has never called.
                first = next(iter(hints), "name")
                raise TypeError(f"`{called}` takes its arguments by name: write `{called}({first}=…)`") from cause
            # Python itself names the argument that is missing or superfluous.
            return
        # Python's own error, with the caller's class, and with the name that was meant.
        raise TypeError(f"`{called}` has no argument `{unknown}`; {_meant(unknown, hints)}") from cause
    try:
        for name, value in given.items():
            kind = signature.parameters[name].kind
            if name in hints and kind is not inspect.Parameter.VAR_KEYWORD:
                for each in value if kind is inspect.Parameter.VAR_POSITIONAL else (value,):
                    check(f"`{name}` of `{called}`", each, hints[name])
    except StepwellError as error:
        raise error from cause


def _meant(unknown: str, hints: dict[str, Any]) -> str:
    """Returns the nearest name among the arguments and the fields of their types."""
    known = {name: name for name in hints if name != "return"}
    within: dict[str, str] = {}
    for name in known:
        for kind in (hints[name], *typing.get_args(hints[name])):
            for field in dataclasses.fields(kind) if isinstance(kind, type) and dataclasses.is_dataclass(kind) else ():
                within.setdefault(field.name, f"{name}={kind.__name__}({field.name}=…)")
    for meant in (known, within):
        for near in difflib.get_close_matches(unknown, meant, n=1, cutoff=0.75):
            return f"give `{meant[near]}`, if that is meant"
    return f"give one of {', '.join(f'`{name}`' for name in known)}" if known else "leave it out"


def check(where: str, value: Any, hint: Any) -> None:
    """Refuses a value that is not of the type that a hint names; ``where`` is the argument that holds the value."""
    if fits(value, hint):
        return
    if (element := _misfit(value, hint)) is not None:
        number, item, item_hint = element
        check(f"element {number} of {where}", item, item_hint)
    wanted = described(hint)
    if isinstance(value, str) and "one of" in wanted:
        raise MisuseError(f"{where} is {value!r}", f"give {wanted}")
    # The error does not show the value, which may be a key.
    found = "JSON that cannot be written" if _holds_json(hint) and _has_type(value, hint) else type(value).__name__
    raise MisuseError(f"{where} is of the type {found}", f"give {wanted}")


def _misfit(value: Any, hint: Any) -> tuple[int, Any, Any] | None:
    """Returns the first misfit in a list whose elements do not all fit: its number, the element, and its hint."""
    if isinstance(value, (str, bytes)) or not isinstance(value, collections.abc.Sequence):
        return None
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        found = [element for each in arguments if (element := _misfit(value, each)) is not None]
        return found[0] if found else None
    if origin not in (collections.abc.Sequence, list) or not arguments:
        return None
    return next(((number, each, arguments[0]) for number, each in enumerate(value) if not fits(each, arguments[0])), None)


def fits(value: Any, hint: Any) -> bool:
    """Returns whether a value is of the type that a hint names, as far as that can be checked."""
    return _has_type(value, hint) and (not _holds_json(hint) or _is_json(value))


def _has_type(value: Any, hint: Any) -> bool:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if hint in (None, type(None)):
        return value is None
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in arguments)
    if origin in (Union, types.UnionType):
        return any(_has_type(value, each) for each in arguments)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint is bytes:
        return isinstance(value, (bytes, bytearray, memoryview))
    if origin is tuple and arguments[-1] is not Ellipsis:
        return isinstance(value, tuple) and len(value) == len(arguments) and all(map(_has_type, value, arguments))
    if origin in (collections.abc.Sequence, list, tuple):
        if isinstance(value, (str, bytes)) or not isinstance(value, collections.abc.Sequence):
            return False
        return all(_has_type(each, arguments[0]) for each in value) if arguments else True
    if origin is collections.abc.Mapping:
        if not isinstance(value, collections.abc.Mapping):
            return False
        return all(_has_type(key, arguments[0]) and _has_type(each, arguments[1]) for key, each in value.items())
    if origin is collections.abc.Callable:
        # In the body of its class a method of a class is none yet.
        return callable(value) or isinstance(value, classmethod)
    kind = origin or hint
    if getattr(kind, "_is_protocol", False) and not getattr(kind, "_is_runtime_protocol", False):
        return True
    return isinstance(value, kind) if isinstance(kind, type) else True


def _holds_json(hint: Any) -> bool:
    """Returns whether the hint is that of a JSON object, or of a list of them."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is collections.abc.Mapping:
        return arguments[1] is Any
    return origin in (collections.abc.Sequence, Union, types.UnionType) and any(map(_holds_json, arguments))


def _is_json(value: Any) -> bool:
    plain: Any = None
    if isinstance(value, collections.abc.Mapping):
        plain = dict(value)
    elif isinstance(value, collections.abc.Sequence):
        plain = list(value)
    try:
        json.dumps(plain)
    except (TypeError, ValueError):
        return False
    return True


def as_json(where: str, value: Any) -> Any:
    """Returns the value, which should be JSON; ``where`` is the argument that holds the value."""
    try:
        json.dumps(value)
    except (TypeError, ValueError) as error:
        raise MisuseError(f"{where} is no JSON: {error}", "give what `json.dumps` can write") from None
    return value


def described(hint: Any) -> str:
    """Describes a type in words."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint in (None, type(None)):
        return "None"
    if origin is Literal:
        return "one of " + ", ".join(map(repr, arguments))
    if origin in (Union, types.UnionType):
        return " or ".join(map(described, arguments))
    if origin is tuple and arguments[-1] is not Ellipsis:
        return f"a tuple of {', '.join(map(described, arguments))}"
    if origin in (collections.abc.Sequence, list, tuple):
        return "a list" if not arguments or arguments[0] is Any else f"a list of {described(arguments[0])}"
    if origin is collections.abc.Mapping:
        return "a JSON object" if arguments[1] is Any else "a dict"
    if origin is collections.abc.Callable:
        return "a function"
    if hint is Any:
        return "any"
    return str(getattr(origin or hint, "__name__", hint))
