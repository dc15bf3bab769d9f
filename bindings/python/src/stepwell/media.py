"""Parts of a message or of a tool's result that are more than text: pictures, sound, video, documents."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeGuard, Union

from ._ffi import stepwell_ffi as _ffi
from ._record import Json
from .arguments import checks_arguments
from .errors import MisuseError, translates
from .schema import jsonable


class Picture(Protocol):
    """The interface of a PIL image."""

    def save(self, fp: Any, format: str | None = None, **params: Any) -> object:
        """Writes the image in a format."""


class Figure(Protocol):
    """The interface of a matplotlib figure."""

    def savefig(self, fname: Any, **kwargs: Any) -> object:
        """Writes the figure."""


class ContentPart(dict[str, Json]):
    """A part of a user's message, or of a tool's result, as AG-UI has it in JSON."""


Media: TypeAlias = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, Picture, Figure]
"""A path or an address (``str``), a ``pathlib.Path``, ``bytes``; for pictures a PIL image or a matplotlib figure, too."""

Content: TypeAlias = Union[str, Mapping[str, object], Picture, Figure]
"""A text, a part that ``image``, ``audio``, ``video``, ``document`` or ``file`` made, a PIL image or a matplotlib figure."""


class Parts(list[Mapping[str, Json]]):
    """A tool's result that is more than text: texts and media, in order::

        return Parts(["The cat:", image("cat.png")])
    """

    def __init__(self, parts: Iterable[Content] = ()) -> None:
        super().__init__(part_of("a part of `Parts`", part) for part in parts)


def image(source: Media, *, media_type: str | None = None, name: str | None = None) -> ContentPart:
    """A picture, for ``Agent.run`` or as a tool's result.

    The source is a path, an address (``https://…``, ``data:…``), bytes, a PIL image or a matplotlib figure; the latter
    two become PNG. A file is read at once; the provider fetches what is at an address. Without ``media_type`` the type
    is detected from the first bytes or the name. ``name`` names bytes. Raises ``MisuseError`` for what is
    missing, empty, of no known type or no picture.
    """
    made = _png(source)
    return _part(_ffi.MediaKind.IMAGE, source if made is None else made, media_type, name)


def audio(source: Media, *, media_type: str | None = None, name: str | None = None) -> ContentPart:
    """Sound; see ``image``."""
    return _part(_ffi.MediaKind.AUDIO, source, media_type, name)


def video(source: Media, *, media_type: str | None = None, name: str | None = None) -> ContentPart:
    """A video; see ``image``."""
    return _part(_ffi.MediaKind.VIDEO, source, media_type, name)


def document(source: Media, *, media_type: str | None = None, name: str | None = None) -> ContentPart:
    """A document: a PDF file, a text, or any other type that the provider reads; see ``image``."""
    return _part(_ffi.MediaKind.DOCUMENT, source, media_type, name)


@checks_arguments
def file(id: str, *, provider: str | None = None, media_type: str | None = None) -> ContentPart:
    """A file in a provider's store, by its id there.

    ``provider`` names the owner of the id, so that no other provider is asked for the file, and ``media_type`` its
    type: ``image/png`` makes it a picture; without a type it is a document.
    """
    return ContentPart(translates(_ffi.file)(id, provider, media_type).json)


def part_of(where: str, value: Content) -> ContentPart:
    """Converts a value to a part; ``where`` is the argument that holds the value."""
    if isinstance(value, ContentPart):
        return value
    if isinstance(value, str):
        return ContentPart(type="text", text=value)
    if isinstance(value, Mapping) and "type" in value:
        return ContentPart(value)
    if (made := _png(value)) is not None:
        return image(made)
    raise MisuseError(
        f"{where} is of the type {type(value).__name__}", "give a text, or what `image`, `document` and the like make"
    )


def said(where: str, text: Content, parts: Sequence[Content]) -> tuple[str, list[_ffi.ContentPart]]:
    """Converts a text and parts to the library's form."""
    if not isinstance(text, str):
        text, parts = "", (text, *parts)
    return text, [_ffi.ContentPart(json=part_of(where, part)) for part in parts]


def result_of(value: object) -> str | Parts:
    """Returns what the model is shown of a tool's result."""
    if isinstance(value, Parts):
        return value
    if _is_media(value):
        return Parts([value])
    if isinstance(value, (list, tuple)) and any(map(_is_media, value)):
        return Parts(each if _is_media(each) else shown(each) for each in value)
    return shown(value)


def close_figures(value: object) -> None:
    """Closes the figures of a tool's result: pyplot keeps each figure until it is closed."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return
    for each in value if isinstance(value, (list, tuple)) else (value,):
        if _is_of("matplotlib.figure", "Figure", each):
            pyplot.close(each)


def shown(value: object) -> str:
    """Returns what the model is shown of a result that is text, or JSON."""
    plain = jsonable(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _part(kind: _ffi.MediaKind, source: Media, media_type: str | None, name: str | None) -> ContentPart:
    given: Any
    if isinstance(source, str):
        given = _ffi.MediaSource.TEXT(source)
    elif isinstance(source, os.PathLike):
        given = _ffi.MediaSource.PATH(os.fsdecode(source))
    elif isinstance(source, (bytes, bytearray, memoryview)):
        given = _ffi.MediaSource.BYTES(bytes(source))
    else:
        raise MisuseError(
            f"`source` of `{kind.name.lower()}` is of the type {type(source).__name__}", "give a path, an address or bytes"
        )
    return ContentPart(translates(_ffi.media_part)(kind, given, media_type, name).json)


def _is_media(value: object) -> TypeGuard[ContentPart | Picture | Figure]:
    return isinstance(value, ContentPart) or _is_of("PIL.Image", "Image", value) or _is_of("matplotlib.figure", "Figure", value)


def _is_of(module: str, name: str, value: object) -> bool:
    """Whether the value is of a class of a module; an object of the class exists only if the module is loaded."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def _png(picture: Any) -> bytes | None:
    """Converts a PIL image or a matplotlib figure to PNG; ``None`` for anything else."""
    made = io.BytesIO()
    if _is_of("PIL.Image", "Image", picture):
        plain = picture.mode in ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA")
        (picture if plain else picture.convert("RGB")).save(made, "PNG")
    elif _is_of("matplotlib.figure", "Figure", picture):
        picture.savefig(made, format="png", bbox_inches="tight")
    else:
        return None
    return made.getvalue()
