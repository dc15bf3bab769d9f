"""JSON Schemas from type hints, and values of those types from JSON."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union

from . import models
from ._record import Json

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
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    frozenset: {"type": "array", "uniqueItems": True},
    dict: {"type": "object"},
}

_LISTS = {list: list, collections.abc.Sequence: list, collections.abc.Iterable: list, collections.abc.Collection: list}
_SETS = {set: set, frozenset: frozenset, collections.abc.Set: frozenset}
_MAPS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def schema_of_function(function: Callable[..., Any], descriptions: Mapping[str, str]) -> Schema:
    """The JSON Schema of a function's arguments."""
    builder = _Builder()
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for name, (hint, default) in arguments_of(function).items():
        schema = builder.schema(hint, f"the argument `{name}`")
        if name in descriptions:
            schema = _described(schema, descriptions[name])
        if default is inspect.Parameter.empty:
            required.append(name)
        else:
            schema = _with_default(schema, default)
        properties[name] = schema
    return builder.finished(_object(properties, required))


def arguments_of(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """The hint and the default of each argument that a model can give."""
    name = getattr(function, "__name__", repr(function))
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise TypeError(f"{name}: {error}; the type hints of a tool must be resolvable where it is defined") from None
    found: dict[str, tuple[Any, Any]] = {}
    for argument in inspect.signature(function).parameters.values():
        if argument.kind not in (argument.POSITIONAL_OR_KEYWORD, argument.KEYWORD_ONLY):
            raise TypeError(f"{name}: `{argument}` cannot be given by name, so a tool cannot have it")
        if models.is_field(argument.default):
            raise TypeError(f"{name}: write `{argument.name}: Annotated[…, Field(…)]`: a default is what the function gets")
        found[argument.name] = (hints.get(argument.name, argument.empty), argument.default)
    return found


class _Builder:
    """Makes schemas; types that hold themselves are put aside, to be referred to."""

    def __init__(self) -> None:
        self._open: list[type] = []
        self._recursive: dict[type, Schema | None] = {}
        self._models: Schema = {}

    def finished(self, schema: Schema) -> Schema:
        definitions = self._models | {kind.__name__: found for kind, found in self._recursive.items()}
        return schema | {"$defs": definitions} if definitions else schema

    def schema(self, hint: Any, where: str) -> Schema:
        if isinstance(hint, typing.Hashable) and hint in _PLAIN:
            return dict(_PLAIN[hint])
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
            return _choice([value.value if isinstance(value, enum.Enum) else value for value in arguments])
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.schema(argument, where) for argument in arguments]}
        if origin in _LISTS:
            return {"type": "array", "items": self.schema(arguments[0], where)}
        if origin in _SETS:
            return {"type": "array", "items": self.schema(arguments[0], where), "uniqueItems": True}
        if origin is tuple:
            return self._tuple(arguments, where)
        if origin in _MAPS:
            if arguments[0] is not str:
                raise TypeError(f"{where}: the keys of a JSON object are strings, not {arguments[0]!r}")
            return {"type": "object", "additionalProperties": self.schema(arguments[1], where)}
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return _described(_choice([member.value for member in hint]), own_doc(hint))
        if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or is_typed_dict(hint)):
            return self._fields(hint)
        raise TypeError(
            f"{where}: there is no JSON Schema for {hint!r}; use str, int, float, bool, list, dict, Optional, Literal, "
            "an Enum, a dataclass, a TypedDict or a Pydantic model"
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
    """The fields of a dataclass or a TypedDict that JSON can give."""
    hints = typing.get_type_hints(kind, include_extras=True)
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


def own_doc(kind: type) -> str:
    """What a class says of itself; not what it inherits, nor the signature that a dataclass writes."""
    doc = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    return "" if doc.startswith(f"{kind.__name__}(") or doc == "An enumeration." else doc


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
    """A value as JSON can have it: dataclasses and models are objects, enums their values, sets and tuples arrays."""
    if isinstance(value, enum.Enum):
        return jsonable(value.value)
    if models.is_model(type(value)):
        return models.to_json(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(item) for item in value]
    return value


def from_json(hint: Any, value: Json) -> Any:
    """The value of a type, from JSON that fits the type's schema."""
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
        return next((one for one in arguments if (one.value if isinstance(one, enum.Enum) else one) == value), value)
    if origin in _LISTS:
        return [from_json(arguments[0], item) for item in _expect(list, value)]
    if origin in _SETS:
        return _SETS[origin](from_json(arguments[0], item) for item in _expect(list, value))
    if origin is tuple:
        items = _expect(list, value)
        every = [arguments[0]] * len(items) if arguments[-1] is Ellipsis else arguments
        return tuple(from_json(one, item) for one, item in zip(every, items, strict=True))
    if origin in _MAPS:
        return {key: from_json(arguments[1], item) for key, item in _expect(dict, value).items()}
    if hint in (tuple, set, frozenset):
        return hint(_expect(list, value))
    if hint is bool:
        return _expect(bool, value)
    if hint in (int, float):
        # In JSON Schema 3.0 is an integer, and 3 is a number.
        if isinstance(value, bool) or not isinstance(value, (int, float)) or hint(value) != value:
            raise TypeError(f"{value!r} is no {hint.__name__}")
        return hint(value)
    if hint in (str, list, dict):
        return _expect(hint, value)
    if hint in (None, type(None)):
        return _expect(type(None), value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    if is_typed_dict(hint):
        given = _expect(dict, value)
        return {field.name: from_json(field.hint, given[field.name]) for field in _given(hint, given)}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        given = _expect(dict, value)
        return hint(**{field.name: from_json(field.hint, given[field.name]) for field in _given(hint, given)})
    return value


def _from_union(arguments: tuple[Any, ...], value: Json) -> Any:
    """The first member that the value fits."""
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
