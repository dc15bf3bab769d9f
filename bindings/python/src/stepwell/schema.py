"""JSON Schemas from type hints, and values of those types from JSON."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import functools
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Optional, Union

from . import models, scalars
from ._record import Json
from .errors import MisuseError
from .hints import fields_hints, hints_of

Schema = dict[str, Json]

_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    None: {"type": "null"},
    Any: {},
    object: {},
    inspect.Parameter.empty: {},
    tuple: {"type": "array"},
}

_LISTS = {
    list: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
}
_SETS = {set: set, frozenset: frozenset, collections.abc.Set: frozenset, collections.abc.MutableSet: set}
_MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)

_PLAIN |= {kind: {"type": "array"} for kind in _LISTS}
_PLAIN |= {kind: {"type": "array", "uniqueItems": True} for kind in _SETS}
_PLAIN |= {kind: {"type": "object"} for kind in _MAPS}

_WITHOUT_TYPE = (Any, object, inspect.Parameter.empty)


Arguments = dict[str, tuple[Any, Any]]
"""The hint and the default of each argument, by its name."""


def schema_of_arguments(arguments: Arguments, descriptions: Mapping[str, str]) -> Schema:
    """Returns the JSON Schema of a function's arguments."""
    builder = _Builder()
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, (hint, default) in arguments.items():
        schema = builder.schema(hint, f"the argument `{name}`")
        if name in descriptions:
            schema = _described(schema, descriptions[name])
        if default is inspect.Parameter.empty:
            required.append(name)
        else:
            schema = _with_default(schema, default)
        properties[name] = schema
    return builder.finished(_object(properties, required))


def schema_of(hint: Any, where: str) -> Schema:
    """Returns the JSON Schema of a type; ``where`` names its place in errors."""
    builder = _Builder()
    return builder.finished(builder.schema(hint, where))


def arguments_of(function: Callable[..., Any], *, has_schema: bool = False) -> Arguments:
    """Returns the hint and the default of each argument that a model can supply.

    With ``has_schema`` the function may take ``**arguments``: its own schema describes them.
    """
    name = getattr(function, "__name__", repr(function))
    given = function.keywords if isinstance(function, functools.partial) else {}
    found: Arguments = {}
    try:
        hints = hints_of(function)
        parameters = inspect.signature(function).parameters.values()
    except NameError as error:
        raise MisuseError(
            f"the type hints of the tool `{name}` cannot be read: {error}", "name types that exist where it is defined"
        ) from None
    except (TypeError, ValueError) as error:
        raise MisuseError(
            f"`{name}` cannot be a tool: {error}", "give a function, a method, or an object that can be called"
        ) from None
    for argument in parameters:
        if argument.name in given:
            continue
        if has_schema and argument.kind in (argument.VAR_KEYWORD, argument.VAR_POSITIONAL):
            continue
        if argument.kind not in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
            raise MisuseError(
                f"the tool `{name}` has the argument `{argument}`, which cannot be given by name",
                "give it arguments with names"
                + (", or a schema: `parameters={…}`" if argument.kind is argument.VAR_KEYWORD else ""),
            )
        if models.is_field(argument.default):
            raise MisuseError(
                f"the argument `{argument.name}` of the tool `{name}` has a `Field` as its default, which the function "
                "would be given",
                f"write `{argument.name}: Annotated[…, Field(…)]`",
            )
        hint = hints.get(argument.name, argument.empty)
        if argument.default is None and hint is not argument.empty:
            # Much code writes `city: str = None`.
            hint = Optional[hint]
        found[argument.name] = (hint, argument.default)
    return found


def _named(hint: Any) -> Any:
    """Resolves a name for a type: a `NewType`, a `type` statement, `List` without its items."""
    while True:
        if hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        else:
            break
    origin = typing.get_origin(hint)
    return origin if origin is not None and origin in _PLAIN and not typing.get_args(hint) else hint


class _Builder:
    """Builds schemas; recursive types become definitions, to be referred to."""

    def __init__(self) -> None:
        self._open: list[type] = []
        self._recursive: dict[type, Schema | None] = {}
        self._models: Schema = {}
        self._aliases: list[Any] = []

    def finished(self, schema: Schema) -> Schema:
        definitions = self._models | {kind.__name__: found for kind, found in self._recursive.items()}
        return schema | {"$defs": definitions} if definitions else schema

    def schema(self, hint: Any, where: str) -> Schema:
        meant = _named(hint)
        if meant is hint:
            return self._schema(hint, where)
        if any(hint is alias for alias in self._aliases):
            raise MisuseError(f"{where} is of a type that holds itself: {hint!r}", "use a dataclass for it")
        self._aliases.append(hint)
        found = self._schema(meant, where)
        self._aliases.pop()
        return found

    def _schema(self, hint: Any, where: str) -> Schema:
        if _is_hashable(hint) and hint in _PLAIN:
            return dict(_PLAIN[hint])
        if isinstance(hint, typing.TypeVar):
            return {}
        if _is_hashable(hint) and (scalar := scalars.of_type(hint)):
            return dict(scalar.schema)
        if models.is_model(hint):
            return models.schema(hint, self._models)
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            schema = self.schema(arguments[0], where)
            for note in arguments[1:]:
                if isinstance(note, str):
                    schema = _described(schema, note)
            return schema
        if origin in (typing.Required, typing.NotRequired) if hasattr(typing, "Required") else False:
            return self.schema(arguments[0], where)
        if origin is Literal:
            return _choice([jsonable(value) for value in arguments])
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.schema(argument, where) for argument in arguments]}
        if origin in _LISTS:
            return {"type": "array", "items": self.schema(arguments[0], where)}
        if origin in _SETS:
            return {"type": "array", "items": self.schema(arguments[0], where), "uniqueItems": True}
        if origin is tuple:
            return self._tuple(arguments, where)
        if origin in _MAPS:
            if self.schema(arguments[0], where).get("type") != "string":
                raise MisuseError(
                    f"{where} has keys of {arguments[0]!r}; those of a JSON object are strings", "take `str` for the keys"
                )
            return {"type": "object", "additionalProperties": self.schema(arguments[1], where)}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return _described(_choice([jsonable(member) for member in hint]), own_doc(hint))
        if has_fields(hint):
            return self._fields(hint)
        if models.can_read(hint):
            return models.schema(hint, self._models)
        raise MisuseError(
            f"{where} is of a type that JSON has no form for: {hint!r}",
            "use str, int, float, bool, list, dict, a date or time, Decimal, UUID, Path, bytes, Optional, Literal, an "
            "Enum, a dataclass, a NamedTuple, a TypedDict, or what Pydantic can read, where it is installed",
        )

    def _tuple(self, arguments: tuple[Any, ...], where: str) -> Schema:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": self.schema(arguments[0], where)}
        items = [self.schema(argument, where) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}

    def _fields(self, kind: type) -> Schema:
        reference: Schema = {"$ref": f"#/$defs/{kind.__name__}"}
        if kind in self._open or kind in self._recursive:
            self._recursive.setdefault(kind, None)
            return reference
        self._open.append(kind)
        properties: dict[str, Schema] = {}
        required: list[str] = []
        for field in fields_of(kind):
            schema = self.schema(field.hint, f"`{kind.__name__}.{field.name}`")
            if field.description:
                schema = _described(schema, field.description)
            if field.required:
                required.append(field.name)
            elif field.default is not inspect.Parameter.empty:
                schema = _with_default(schema, field.default)
            properties[field.name] = schema
        self._open.pop()
        found = _described(_object(properties, required), own_doc(kind))
        if kind in self._recursive:
            self._recursive[kind] = found
            return reference
        return found


@dataclasses.dataclass(frozen=True)
class _Field:
    name: str
    hint: Any
    required: bool
    default: Any = inspect.Parameter.empty
    description: str = ""


def fields_of(kind: type) -> list[_Field]:
    """Returns the fields of a dataclass, a NamedTuple or a TypedDict that JSON can supply."""
    hints = fields_hints(kind)
    if is_named_tuple(kind):
        defaults: dict[str, Any] = getattr(kind, "_field_defaults")
        names: tuple[str, ...] = getattr(kind, "_fields")
        empty = inspect.Parameter.empty
        return [_Field(name, hints.get(name, Any), name not in defaults, defaults.get(name, empty)) for name in names]
    if is_typed_dict(kind):
        needed = getattr(kind, "__required_keys__", frozenset(hints))
        return [_Field(name, hint, name in needed) for name, hint in hints.items()]
    found = []
    for field in dataclasses.fields(kind):
        if field.init:
            optional = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
            default = field.default if field.default is not dataclasses.MISSING else inspect.Parameter.empty
            description = str(field.metadata.get("description", ""))
            found.append(_Field(field.name, hints[field.name], not optional, default, description))
    return found


def is_typed_dict(kind: Any) -> bool:
    """Whether a type is a TypedDict."""
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__total__")


def is_named_tuple(kind: Any) -> bool:
    """Whether a type is a NamedTuple."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def has_fields(kind: Any) -> bool:
    """Whether values of a type are JSON objects, with the fields that the type names."""
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or is_typed_dict(kind) or is_named_tuple(kind))


def own_doc(kind: type) -> str:
    """Returns a class's own docstring; not an inherited one, nor the signature that a dataclass writes."""
    doc = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    return "" if doc.startswith(f"{kind.__name__}(") or doc in ("An enumeration.", tuple.__doc__) else doc


def _object(properties: dict[str, Schema], required: list[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | {"required": required} if required else schema


def _choice(values: list[Any]) -> Schema:
    kinds = {type(value) for value in values}
    schema: Schema = {"enum": values}
    if len(kinds) == 1 and (kind := kinds.pop()) in _PLAIN:
        return _PLAIN[kind] | schema
    return schema


def _described(schema: Schema, description: str) -> Schema:
    return schema | {"description": description} if description else schema


def _with_default(schema: Schema, default: Any) -> Schema:
    try:
        return schema | {"default": json.loads(json.dumps(jsonable(default)))}
    except (TypeError, ValueError):
        return schema


def jsonable(value: Any) -> Json:
    """Converts a value to JSON: what has fields is an object, enums are their values, sets and tuples arrays.

    Raises ``TypeError`` for a value without such a form.
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, enum.Enum):
        return jsonable(value.value)
    if models.is_model(type(value)):
        return models.to_json(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if is_named_tuple(type(value)):
        return {name: jsonable(getattr(value, name)) for name in value._fields}
    if scalar := scalars.of_value(value):
        return scalar.to_json(value)
    if isinstance(value, Mapping):
        return {str(jsonable(key)): jsonable(item) for key, item in value.items()}
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, collections.abc.Collection):
        return [jsonable(item) for item in value]
    if models.can_read(type(value)):
        return models.to_json(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON")


def from_json(hint: Any, value: Json) -> Any:
    """Returns the value of a type, from JSON that fits the type's schema."""
    hint = _named(hint)
    if _is_hashable(hint) and hint in _WITHOUT_TYPE or isinstance(hint, typing.TypeVar):
        return value
    if models.is_model(hint):
        return models.from_json(hint, value)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return from_json(arguments[0], value)
    if hasattr(typing, "Required") and origin in (typing.Required, typing.NotRequired):
        return from_json(arguments[0], value)
    if origin in (Union, types.UnionType):
        return _from_union(arguments, value)
    if origin is Literal:
        return _chosen(arguments, value)
    if origin in _LISTS:
        return [from_json(arguments[0], item) for item in _expect(list, value)]
    if origin in _SETS:
        return _SETS[origin](from_json(arguments[0], item) for item in _expect(list, value))
    if origin is tuple:
        items = _expect(list, value)
        every = [arguments[0]] * len(items) if arguments[-1] is Ellipsis else arguments
        return tuple(from_json(one, item) for one, item in zip(every, items, strict=True))
    if origin in _MAPS:
        return {from_json(arguments[0], key): from_json(arguments[1], item) for key, item in _expect(dict, value).items()}
    if not _is_hashable(hint):
        return models.from_json(hint, value)
    if hint in _LISTS:
        return _expect(list, value)
    if hint is tuple:
        return tuple(_expect(list, value))
    if hint in _SETS:
        return _SETS[hint](_expect(list, value))
    if hint in _MAPS:
        return _expect(dict, value)
    if scalar := scalars.of_type(hint):
        return scalar.from_json(value)
    if hint is bool:
        return _expect(bool, value)
    if hint in (int, float):
        # In JSON Schema 3.0 is an integer, and 3 is a number.
        if isinstance(value, bool) or not isinstance(value, (int, float)) or hint(value) != value:
            raise TypeError(f"{value!r} is no {hint.__name__}")
        return hint(value)
    if hint is str:
        return _expect(str, value)
    if hint in (None, type(None)):
        return _expect(type(None), value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _chosen(hint, value)
    if has_fields(hint):
        given = _expect(dict, value)
        fields = {field.name: from_json(field.hint, given[field.name]) for field in _given(hint, given)}
        return fields if is_typed_dict(hint) else hint(**fields)
    return models.from_json(hint, value)


def _chosen(members: collections.abc.Iterable[Any], value: Json) -> Any:
    for member in members:
        stands_for = jsonable(member)
        # `True == 1`, but they are different values here.
        if stands_for == value and isinstance(stands_for, bool) == isinstance(value, bool):
            return member
    raise ValueError(f"{value!r} is none of {[jsonable(member) for member in members]}")


def _is_hashable(hint: Any) -> bool:
    try:
        hash(hint)
    except TypeError:
        return False
    return True


def _from_union(arguments: tuple[Any, ...], value: Json) -> Any:
    """Returns the value of the first member that the JSON fits."""
    for argument in arguments:
        try:
            return from_json(argument, value)
        except (TypeError, ValueError):
            continue
    raise TypeError(f"{value!r} is none of {arguments}")


def _given(kind: type, value: dict[str, Json]) -> list[_Field]:
    fields = fields_of(kind)
    unknown = set(value) - {field.name for field in fields}
    missing = [field.name for field in fields if field.required and field.name not in value]
    if unknown or missing:
        raise TypeError(f"{kind.__name__}: missing {missing}, unknown {sorted(unknown)}")
    return [field for field in fields if field.name in value]


def _expect(kind: type, value: Json) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value
