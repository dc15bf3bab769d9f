"""The pictures and sounds among AG-UI's content parts, as HTML that loads no address."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from ._record import Json
from .cards import safe

_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Kinds of pictures that hold no script."""

_PLAYED = ("audio/wav", "audio/mpeg", "audio/mp4", "audio/ogg", "audio/webm", "audio/flac", "audio/aac")
"""Kinds of sound that browsers play."""

_LARGEST = 8 << 20
"""The most characters of base64 that a page gets."""


def pictures_of(content: Json) -> list[str]:
    """Returns the pictures and sounds of a message's content. One at an address is only named: its server would notice
    a load."""
    parts = content if isinstance(content, list) else []
    return [_picture(part) for part in parts if isinstance(part, Mapping) and part.get("type") in ("image", "binary", "audio")]


def _picture(part: Mapping[str, Json]) -> str:
    source = part.get("source")
    # The older `binary` part contains all of its data.
    given: Mapping[str, Json] = source if isinstance(source, Mapping) else part
    kind = str(given.get("mimeType") or "")
    data = given.get("data") if source is None else given.get("value") if given.get("type") == "data" else None
    if not isinstance(data, str):
        return _line(f"{'sound' if part.get('type') == 'audio' else 'picture'} at {given.get('url') or given.get('value') or 'no address'}")
    if kind in _PLAYED and len(data) <= _LARGEST and _is_base64(data):
        return f'<audio controls src="data:{kind};base64,{data}"></audio>'
    if kind not in _SHOWN or len(data) > _LARGEST or not _is_base64(data):
        return _line(f"{kind or 'picture'}, {len(data):,} characters of base64")
    return f'<img alt="{kind}" style="max-width:100%;display:block" src="data:{kind};base64,{data}">'


def _line(text: str) -> str:
    return f"<div><code>[{safe(text)}]</code></div>"


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True
