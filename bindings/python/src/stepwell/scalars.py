"""Values of the standard library that JSON has no form for, and the text that represents each."""

from __future__ import annotations

import base64
import binascii
import datetime
import decimal
import pathlib
import re
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from ._record import Json


class Scalar(NamedTuple):
    """The JSON form of a type's values."""

    schema: dict[str, Json]
    """The JSON Schema of the type."""
    to_json: Callable[[Any], Json]
    """Converts a value to JSON."""
    from_json: Callable[[Json], Any]
    """Converts JSON to a value; raises ``ValueError`` if it does not fit."""


def _text(value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value


def _date(value: Json) -> datetime.date:
    return datetime.date.fromisoformat(_text(value))


def _datetime(value: Json) -> datetime.datetime:
    return datetime.datetime.fromisoformat(_with_offset(value))


def _time(value: Json) -> datetime.time:
    return datetime.time.fromisoformat(_with_offset(value))


def _with_offset(value: Json) -> str:
    # Before Python 3.11 an offset was not written `Z`.
    return re.sub("[zZ]$", "+00:00", _text(value))


_DURATION = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


def _timedelta(value: Json) -> datetime.timedelta:
    found = _DURATION.fullmatch(_text(value))
    parts = {} if found is None else {name: part for name, part in found.groupdict().items() if part and name != "sign"}
    if found is None or not parts:
        raise ValueError(f"{value!r} is no duration in the form of ISO 8601 without months and years, such as 'P1DT2H30M'")
    span = datetime.timedelta(**{name: float(part) for name, part in parts.items()})
    return -span if found["sign"] == "-" else span


def _duration(value: datetime.timedelta) -> str:
    span = abs(value)
    seconds = decimal.Decimal(span.seconds) + decimal.Decimal(span.microseconds).scaleb(-6)
    days = f"{span.days}D" if span.days else ""
    time = f"T{seconds.normalize():f}S" if seconds or not days else ""
    return f"{'-' if value < datetime.timedelta() else ''}P{days}{time}"


def _decimal(value: Json) -> decimal.Decimal:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f"{value!r} is no number")
    try:
        return decimal.Decimal(str(value))
    except decimal.InvalidOperation:
        raise ValueError(f"{value!r} is no number") from None


def _bytes(value: Json) -> bytes:
    try:
        return base64.b64decode(_text(value), validate=True)
    except binascii.Error as error:
        raise ValueError(f"{value!r} is no base64: {error}") from None


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


_BASE64: dict[str, Json] = {"type": "string", "contentEncoding": "base64"}

# A datetime is a date: the first type that fits counts.
_SCALARS: dict[type, Scalar] = {
    datetime.datetime: Scalar({"type": "string", "format": "date-time"}, datetime.datetime.isoformat, _datetime),
    datetime.date: Scalar({"type": "string", "format": "date"}, datetime.date.isoformat, _date),
    datetime.time: Scalar({"type": "string", "format": "time"}, datetime.time.isoformat, _time),
    datetime.timedelta: Scalar({"type": "string", "format": "duration"}, _duration, _timedelta),
    decimal.Decimal: Scalar({"anyOf": [{"type": "number"}, {"type": "string"}]}, str, _decimal),
    uuid.UUID: Scalar({"type": "string", "format": "uuid"}, str, lambda value: uuid.UUID(_text(value))),
    bytes: Scalar(_BASE64, _base64, _bytes),
    bytearray: Scalar(_BASE64, _base64, lambda value: bytearray(_bytes(value))),
}


def of_type(kind: Any) -> Scalar | None:
    """Returns the JSON form of values of this type, if it is one of these."""
    if kind in _SCALARS:
        return _SCALARS[kind]
    if isinstance(kind, type) and issubclass(kind, pathlib.PurePath):
        return Scalar({"type": "string", "format": "path"}, str, lambda value: kind(_text(value)))
    return None


def of_value(value: object) -> Scalar | None:
    """Returns the JSON form of this value, if its type is one of these."""
    found = of_type(type(value))
    return found or next((scalar for kind, scalar in _SCALARS.items() if isinstance(value, kind)), None)
