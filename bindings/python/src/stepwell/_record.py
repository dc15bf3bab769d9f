"""The base of all results of the library: immutable, with a short repr, and made from the library's own records."""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):
        """Python 3.11's; only type checkers need it."""
        return lambda function: function


Json = Any
"""Any JSON value."""

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """Values are compared by their fields, and printed without those that are ``None``."""

    _hidden: ClassVar[frozenset[str]] = frozenset()
    """Fields that are not printed: they may hold a key, or content of the conversation."""

    def __repr__(self) -> str:
        fields = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                fields.append(f"{field.name}={'…' if field.name in self._hidden else repr(value)}")
        return f"{type(self).__name__}({', '.join(fields)})"



@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Makes a class a record."""
    return dataclasses.dataclass(frozen=True, slots=True, repr=False)(cls)


_RECORDS: dict[type, tuple[type, tuple[str, ...]]] = {}
_ENUMS: dict[type, type[enum.Enum]] = {}
_GENERATED: dict[type, Any] = {}


def lifts(generated: type, ours: Any) -> None:
    """Registers ``ours`` for a class of the library with the same fields."""
    if issubclass(ours, enum.Enum):
        _ENUMS[generated] = ours
    else:
        _RECORDS[generated] = (ours, tuple(field.name for field in dataclasses.fields(ours)))
    _GENERATED[ours] = generated


def lift(value: Any) -> Any:
    """Converts a value of the library to ours."""
    kind = type(value)
    if kind in _RECORDS:
        ours, fields = _RECORDS[kind]
        given = vars(value)
        return ours(*[lift(given[name]) for name in fields])
    if kind in _ENUMS:
        return _ENUMS[kind][value.name]
    if kind is list:
        return [lift(item) for item in value]
    return value


@functools.cache
def _parameters(generated: type) -> tuple[str, ...]:
    return tuple(inspect.signature(generated).parameters)


def lower(value: Any) -> Any:
    """Converts a value of ours to the library's: the reverse of ``lift``."""
    generated: Any = _GENERATED.get(type(value))
    if isinstance(value, Record):
        return generated(**{name: lower(getattr(value, name)) for name in _parameters(generated)})
    if isinstance(value, enum.Enum):
        return generated[value.name]
    if isinstance(value, (list, tuple)):
        return [lower(item) for item in value]
    return value
