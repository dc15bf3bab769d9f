"""What an editor shows: whatever is public says what it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from conftest import ROOT

import stepwell

SOURCES = sorted(path for path in Path(stepwell.__file__).parent.rglob("*.py") if "_ffi" not in path.parts)


def has_doc(body: list[ast.stmt], position: int) -> bool:
    after = body[position + 1] if position + 1 < len(body) else None
    return isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)


def undocumented(body: list[ast.stmt], within: str) -> list[str]:
    found = []
    for position, each in enumerate(body):
        if isinstance(each, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            is_overload = any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in each.decorator_list)
            if each.name.startswith("_") or is_overload:
                continue
            if ast.get_docstring(each) is None:
                found.append(within + each.name)
            if isinstance(each, ast.ClassDef):
                found += undocumented(each.body, f"{within}{each.name}.")
        elif isinstance(each, (ast.AnnAssign, ast.Assign)) and within:
            targets = [each.target] if isinstance(each, ast.AnnAssign) else each.targets
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            found += [within + name for name in names if not name.startswith("_") and not has_doc(body, position)]
    return found


@pytest.mark.parametrize("source", SOURCES, ids=[path.stem for path in SOURCES])
def test_all_that_is_public_says_what_it_is(source: Path) -> None:
    assert undocumented(ast.parse(source.read_text(encoding="utf-8")).body, "") == []


GUIDES = [ROOT / f"docs/{name}.md" for name in ("rust", "python", "swift", "kotlin", "android", "flutter")]


@pytest.mark.parametrize("page", [*GUIDES, *sorted(ROOT.glob("bindings/*/README.md"))], ids=str)
def test_every_guide_says_how_the_user_is_asked(page: Path) -> None:
    assert "approver" in page.read_text(encoding="utf-8").lower()


@pytest.mark.parametrize(
    ("page", "example"),
    [("android", "android/app"), ("swift", "ios/Sources"), ("flutter", "flutter/lib")],
)
def test_what_the_phone_does_is_told_by_guide_and_example(page: str, example: str) -> None:
    guide = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "examples" / example).rglob("*.*") if path.is_file()]
    for name in ("enteredBackground", "enteredForeground", "networkLost", "networkAvailable"):
        assert name in guide
        assert any(f"{name}(" in source or f"::{name}" in source for source in sources)
