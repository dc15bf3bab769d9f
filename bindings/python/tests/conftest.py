"""What the tests share: the scripted provider."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from stepwell.testing import MockLlmProgram, Request, text
from stepwell.testing import calls as calls

__all__ = ["ROOT", "THOROUGH", "MockLlm", "calls", "mock_llm_program", "postgres_url", "text"]


class MockLlm(MockLlmProgram):
    """The program, whose requests are waited for as long as it takes on a busy machine."""

    def wait_until(self, holds: Callable[[list[Request]], bool], timeout: float = 60.0) -> None:
        super().wait_until(holds, timeout)


ROOT = Path(__file__).resolve().parents[3]

pytest_plugins = ["pytester"]

THOROUGH = "STEPWELL_THOROUGH" in os.environ
"""Whether all is done that a test run takes a share of: `cargo xtask prove languages`."""

# The same examples in every run, however slow the machine is.
settings.register_profile(
    "stepwell", max_examples=1_000 if THOROUGH else 30, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("stepwell")


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


def postgres_url() -> str:
    """The address of a PostgreSQL server; without one the test is skipped, except in CI."""
    if url := os.environ.get("STEPWELL_POSTGRES"):
        return url
    missing = "set STEPWELL_POSTGRES to the address of a PostgreSQL server, or run `cargo xtask test python`"
    if os.environ.get("STEPWELL_WHEEL") and os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(f"SKIPPED: {missing}")


@pytest.fixture
def mock_llm() -> Iterator[Callable[..., MockLlm]]:
    """Starts scripted models, by the program in place of the plug-in's; without hops they play the secret numbers."""
    started: list[MockLlm] = []

    def start(*hops: dict[str, Any], **settings: Any) -> MockLlm:
        started.append(MockLlm(*hops, program=mock_llm_program(), **settings))
        return started[-1]

    yield start
    for mock in started:
        mock.close()
