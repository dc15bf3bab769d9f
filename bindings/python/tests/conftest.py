"""What the tests share: the scripted provider."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[3]


def mock_llm_program() -> Path:
    """The program: where the variable says, or where cargo builds it."""
    if named := os.environ.get("STEPWELL_MOCK_LLM"):
        return Path(named)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    suffix = ".exe" if sys.platform == "win32" else ""
    for profile in ("debug", "release"):
        if (program := target / profile / f"mock-llm{suffix}").exists():
            return program
    pytest.fail("there is no mock-llm: run `cargo build -p stepwell-mock-llm`, or set STEPWELL_MOCK_LLM")


class MockLlm:
    """A scripted model behind a port."""

    def __init__(self, script: dict[str, Any] | None) -> None:
        arguments = [str(mock_llm_program())] + ([] if script is None else ["-"])
        self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin and self._process.stdout
        if script is not None:
            self._process.stdin.write(json.dumps(script))
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "mock-llm did not start"
        self.base_url: str = json.loads(line)["base_url"]

    def _get(self, path: str) -> Any:
        return httpx.get(self.base_url.removesuffix("/v1") + path).json()

    def requests(self) -> list[dict[str, Any]]:
        """What the app sent."""
        found: list[dict[str, Any]] = self._get("/__requests")
        return found

    def failures(self) -> list[Any]:
        """What was wrong with it."""
        found: list[Any] = self._get("/__failures")
        return found

    def close(self) -> None:
        """Ends the program."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=10)


@pytest.fixture
def mock_llm() -> Iterator[Callable[..., MockLlm]]:
    """Starts scripted models; without hops they play the secret numbers."""
    started: list[MockLlm] = []

    def start(*hops: dict[str, Any], **settings: Any) -> MockLlm:
        started.append(MockLlm({"hops": list(hops), **settings} if hops else None))
        return started[-1]

    yield start
    for mock in started:
        mock.close()


def text(*pieces: str) -> dict[str, Any]:
    """A hop that says something."""
    return {"steps": [{"text": piece} for piece in pieces]}


def calls(*asked: tuple[str, Any]) -> dict[str, Any]:
    """A hop that asks for tools; arguments that are text are sent as they are."""
    steps = []
    for name, arguments in asked:
        key = "raw_arguments" if isinstance(arguments, str) else "arguments"
        steps.append({"tool_call": {"name": name, key: arguments}})
    return {"steps": steps}
