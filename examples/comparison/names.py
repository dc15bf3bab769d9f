"""Checks the names in the pages on migrating: ``python names.py NODE_MODULES GUIDES``.

The tables there have the other SDK's names in their first column and Stepwell's in the second, as code. A name of Python is
looked up in its package, with the parameters in its brackets; one of TypeScript in the package's types.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import stepwell
from stepwell.options import AgentOptions, RunOptions

INSTANCES = {
    "agent": "Agent",
    "turn": "Turn",
    "result": "TurnResult",
    "context": "ToolContext",
    "conversation": "Conversation",
    "error": "StepwellError",
    "mock": "testing.MockLlm",
}
"""What a variable in the table is."""

OPTIONS = {*AgentOptions.__annotations__, *RunOptions.__annotations__, "output_type", "deps_type", "deps"}


def rows(page: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Yields the code of the first two columns of each row."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and "`" in line:
            cells = line.replace("\\|", "/").split("|")[1:]
            first, second = (re.findall(r"`([^`]+)`", cell) for cell in cells[:2])
            yield first, second


def python_name(package: str, code: str) -> bool:
    """Whether a package has a name, and the name each parameter in its brackets."""
    name, _, given = code.partition("(")
    parameters = re.findall(r"(\w+)=", given)
    path = name.split(".")
    found: Any = importlib.import_module(package)
    for depth, part in enumerate(path):
        module = ".".join([package, *path[: depth + 1]])
        if not hasattr(found, part) and hasattr(found, "__path__") and importlib.util.find_spec(module):
            try:
                importlib.import_module(module)
            except ImportError:
                # An extra that is not installed: its source has the name.
                origin = Path(str(importlib.util.find_spec(module).origin))  # type: ignore[union-attr]
                sources = "".join(file.read_text(encoding="utf-8") for file in origin.parent.glob("*.py"))
                return re.search(rf"\bclass {path[-1]}\b", sources) is not None
        if not hasattr(found, part) and part not in attributes(found):
            return False
        found = getattr(found, part, None)
    known = attributes(found) if inspect.isclass(found) else set()
    takes = found.__init__ if inspect.isclass(found) else found
    if parameters and callable(takes):
        known |= {*inspect.signature(takes).parameters}
    if package == "stepwell":
        known |= OPTIONS
    return all(parameter in known for parameter in parameters)


def attributes(found: Any) -> set[str]:
    """The names that a class declares, also those that only its objects have."""
    declared: set[str] = set()
    for each in getattr(found, "__mro__", []):
        declared |= {*getattr(each, "__annotations__", {})}
        try:
            declared |= {*re.findall(r"self\.(\w+)\b", inspect.getsource(each))}
        except (OSError, TypeError):
            continue
    return declared


def stepwell_name(code: str) -> bool:
    """Whether Stepwell has what a cell names: `agent.run(…)`, `Deferred` or an option, `store=…`."""
    if option := re.match(r"(\w+)=", code):
        return option[1] in OPTIONS
    code = code.removeprefix("raise ").removeprefix("@").removeprefix("stepwell.")
    first, _, rest = code.partition(".")
    if first in INSTANCES and rest:
        code = f"{INSTANCES[first]}.{rest}"
    return python_name("stepwell", code)


def typescript_names(code: str, types: str) -> bool:
    """Whether the types of a package have each word."""
    return all(re.search(rf"\b{word}\b", types) for word in re.findall(r"[A-Za-z]\w+", re.sub(r'"[^"]*"', "", code)))


def types_of(*packages: Path) -> str:
    """The types of the packages, without their comments."""
    files = [file for package in packages for file in package.rglob("*.d.ts") if "node_modules" not in file.relative_to(package).parts]
    return re.sub(r"/\*.*?\*/", "", "".join(file.read_text(encoding="utf-8") for file in files), flags=re.DOTALL)


def main() -> None:
    modules, guides = Path(sys.argv[1]), Path(sys.argv[2])
    wrong, count = [], 0
    for first, second in rows(guides / "migrating-from-pydantic-ai.md"):
        wrong += [code for code in first if not python_name("pydantic_ai", code)]
        wrong += [code for code in second if not stepwell_name(code)]
        count += len(first) + len(second)
    theirs, ours = types_of(modules / "ai", modules / "@ai-sdk" / "provider-utils"), types_of(modules / "stepwell")
    for first, second in rows(guides / "migrating-from-ai-sdk.md"):
        wrong += [code for code in first if not typescript_names(code, theirs)]
        wrong += [code for code in second if not typescript_names(code, ours)]
        count += len(first) + len(second)
    assert count > 80, count
    assert not wrong, wrong
    print(f"{count} names are those of {stepwell.__name__}, pydantic_ai and ai")


if __name__ == "__main__":
    main()
