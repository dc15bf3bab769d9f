"""Pydantic's types as arguments and results of tools. Pydantic is optional: without it, no type is Pydantic's.

A type is Pydantic's if it is a model or a Pydantic dataclass, or is annotated with ``Field`` or one of Pydantic's
validators. Other types that this package has no form for are read by a ``TypeAdapter``.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import sys
import typing
from typing import Any

from ._record import Json


def is_model(hint: Any) -> bool:
    """Whether Pydantic should read values of this type."""
    if typing.get_origin(hint) is typing.Annotated:
        notes = typing.get_args(hint)[1:]
        theirs = any(type(note).__module__.split(".")[0] in ("pydantic", "annotated_types") for note in notes)
        return theirs and is_installed()
    return isinstance(hint, type) and "pydantic" in sys.modules and hasattr(hint, "__pydantic_core_schema__")


def is_field(default: Any) -> bool:
    """Whether a default is a ``Field(…)``, which should be in the annotation."""
    return type(default).__module__ == "pydantic.fields"


def is_installed() -> bool:
    """Whether the app has Pydantic."""
    return importlib.util.find_spec("pydantic") is not None


def can_read(hint: Any) -> bool:
    """Whether Pydantic is there, and has a JSON Schema for the type."""
    if not is_installed():
        return False
    from pydantic.errors import PydanticUserError

    try:
        _adapter_of(hint).json_schema()
    except PydanticUserError:
        return False
    return True


@functools.lru_cache(maxsize=256)
def _adapter(hint: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(hint)


def _adapter_of(hint: Any) -> Any:
    # A type annotated with a list, say, has no hash.
    return _adapter(hint) if isinstance(hint, typing.Hashable) and _hashes(hint) else _adapter.__wrapped__(hint)


def _hashes(hint: Any) -> bool:
    try:
        hash(hint)
    except TypeError:
        return False
    return True


def schema(hint: Any, definitions: dict[str, Json]) -> dict[str, Json]:
    """Returns the type's JSON Schema. The types that it refers to are put into ``definitions``."""
    suffix, number = "", 1
    while True:
        found: dict[str, Json] = _adapter_of(hint).json_schema(ref_template=f"#/$defs/{{model}}{suffix}")
        ours = {f"{name}{suffix}": each for name, each in found.pop("$defs", {}).items()}
        if all(definitions.get(name, each) == each for name, each in ours.items()):
            break
        # Another model has the same name already.
        number += 1
        suffix = f"_{number}"
    definitions.update(ours)
    return found


def from_json(hint: Any, value: Json) -> Any:
    """Returns the value of the type; raises ``ValueError`` with what does not fit, in a line."""
    from pydantic import ValidationError

    try:
        return _adapter_of(hint).validate_json(json.dumps(value))
    except ValidationError as error:
        raise ValueError("; ".join(_line(each) for each in error.errors(include_url=False))) from None


def _line(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    return f"{where}: {error['msg']}" if where else str(error["msg"])


def to_json(value: Any) -> Json:
    """Converts a model to JSON."""
    return _adapter_of(type(value)).dump_python(value, mode="json")
