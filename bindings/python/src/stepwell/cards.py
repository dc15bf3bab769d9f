"""Makes text of others safe to show, and shows a tool's card."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Mapping

from ._record import Json

# The C0 and C1 controls but tab and line feed, and Unicode's marks of direction.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Returns a text that can neither steer a terminal nor change its direction: such characters become ``\\x1b`` or
    ``\\u202e``."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


_HIDDEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}


def exact(text: str) -> str:
    """Returns a text in which each character is visible: invisible or moving characters become escapes, which JSON
    reads, too.

    For texts that the user must decide about. Spaces and line feeds stay.
    """
    return "".join(_escape(each) if each != "\n" and unicodedata.category(each) in _HIDDEN else each for each in text)


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def arguments_text(arguments: Json) -> str:
    """Returns arguments as JSON to be read, and edited."""
    return exact(json.dumps(arguments, ensure_ascii=False, indent=2))


def safe(text: str) -> str:
    """Returns a text as HTML that shows exactly this text."""
    return html.escape(visible(text))


def preformatted(text: str) -> str:
    """Returns a block of text as HTML."""
    return f'<pre style="white-space:pre-wrap;overflow-wrap:anywhere;margin:.4em 0">{safe(text)}</pre>'


def mimebundle_of_tool(name: str, description: str, parameters: Mapping[str, Json]) -> dict[str, str]:
    """Returns what a notebook shows of a tool."""
    properties: Mapping[str, Json] = parameters.get("properties", {})
    required = parameters.get("required", ())
    rows, lines = [], []
    for argument, schema in properties.items():
        kind = _kind(schema) + ("" if argument in required else ", optional")
        told = str(schema.get("description", "")) if isinstance(schema, Mapping) else ""
        rows.append(f"<li><code>{safe(argument)}</code> ({safe(kind)}) {safe(told)}</li>")
        lines.append(visible(f"  {argument} ({kind}) {told}".rstrip()))
    plain = "\n".join([visible(f"{name}: {description}" if description else name), *lines])
    card = (
        '<div style="border:1px solid #8886;border-radius:6px;padding:.3em .7em;max-width:60em">'
        f"<code>{safe(name)}</code><div style=\"white-space:pre-wrap\">{safe(description)}</div>"
        f"<ul style=\"margin:.3em 0\">{''.join(rows)}</ul></div>"
    )
    return {"text/plain": plain, "text/html": card}


def _kind(schema: Json) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if "enum" in schema:
        return " or ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    return str(schema.get("type", "any"))
