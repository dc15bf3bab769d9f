"""The first program, as a person would run it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from conftest import ROOT, MockLlm


def test_hello(mock_llm: Callable[..., MockLlm]) -> None:
    program = ROOT / "examples" / "python" / "hello.py"
    assert len(program.read_text().splitlines()) < 30
    ran = subprocess.run(
        [sys.executable, str(program), mock_llm().base_url], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("Alice's number is 42, Bob's is 7\n")
