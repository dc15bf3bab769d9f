"""Reads what a docstring says of a function and its arguments, in the styles of Google, NumPy and Sphinx."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Params|Returns?|Raises|Yields?|Examples?|Notes?|Attributes):\s*$")
_UNDERLINE = re.compile(r"^-{3,}\s*$")
_FIELD = re.compile(r"^:(\w+)(?:\s+([^:]*?))?:\s*(.*)$")
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"^(\w+)\s*(?::.*)?$")
_ARGUMENTS = {"Args", "Arguments", "Parameters", "Params"}


class Docstring(NamedTuple):
    """A parsed docstring."""

    description: str
    """All before the first section."""
    arguments: dict[str, str]
    """The description of each argument."""


def parse(doc: str | None) -> Docstring:
    """Parses a docstring."""
    lines = inspect.cleandoc(doc or "").splitlines()
    description: list[str] = []
    arguments: dict[str, list[str]] = {}
    index = 0
    in_description = True
    while index < len(lines):
        line = lines[index]
        after = lines[index + 1] if index + 1 < len(lines) else ""
        if section := _SECTION.match(line):
            body, index = _block(lines, index + 1)
            in_description = False
            if section[1] in _ARGUMENTS:
                _google(body, arguments)
        elif line.strip() and _UNDERLINE.match(after):
            body, index = _until_next_title(lines, index + 2)
            in_description = False
            if line.strip() in _ARGUMENTS:
                _numpy(body, arguments)
        elif field := _FIELD.match(line):
            body, index = _block(lines, index + 1)
            in_description = False
            if field[1] in ("param", "parameter", "arg", "argument") and field[2]:
                arguments[field[2].split()[-1]] = [field[3], *(text.strip() for text in body)]
        else:
            if in_description:
                description.append(line)
            index += 1
    joined = {name: " ".join(part for part in parts if part).strip() for name, parts in arguments.items()}
    return Docstring("\n".join(description).strip(), {name: text for name, text in joined.items() if text})


def _block(lines: list[str], start: int) -> tuple[list[str], int]:
    """Returns the indented lines from ``start`` on, and where they end."""
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "\t"))):
        end += 1
    return inspect.cleandoc("\n" + "\n".join(lines[start:end])).splitlines(), end


def _until_next_title(lines: list[str], start: int) -> tuple[list[str], int]:
    end = start
    while end < len(lines) and not (end + 1 < len(lines) and lines[end].strip() and _UNDERLINE.match(lines[end + 1])):
        end += 1
    return lines[start:end], end


def _google(body: list[str], arguments: dict[str, list[str]]) -> None:
    name = ""
    for line in body:
        if not line.startswith((" ", "\t")) and (entry := _GOOGLE.match(line)):
            name = entry[1]
            arguments[name] = [entry[2]]
        elif name:
            arguments[name].append(line.strip())


def _numpy(body: list[str], arguments: dict[str, list[str]]) -> None:
    name = ""
    for line in body:
        if line.strip() and not line.startswith((" ", "\t")) and (entry := _NUMPY.match(line)):
            name = entry[1]
            arguments[name] = []
        elif name:
            arguments[name].append(line.strip())
