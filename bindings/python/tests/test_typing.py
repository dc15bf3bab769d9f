"""What mypy and pyright see of agents: types of answers and of the app's own value, and what does not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "typing_cases"


def mypy(file: Path) -> dict[int, str]:
    """The errors of mypy, by their lines."""
    options = ["--strict", "--disable-error-code=unused-coroutine", "--no-error-summary", "--hide-error-context"]
    command = [sys.executable, "-m", "mypy", *options, str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CASES.parent)
    assert ran.stderr == "", ran.stderr
    errors = [line.split(":", 3) for line in ran.stdout.splitlines() if ": error:" in line]
    assert all(name.endswith(file.name) for name, *_ in errors), ran.stdout
    return {int(line): said for _, line, _, said in errors}


def pyright(file: Path) -> dict[int, str]:
    """The errors of pyright, by their lines."""
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CASES.parent)
    found = json.loads(ran.stdout)["generalDiagnostics"]
    return {each["range"]["start"]["line"] + 1: each["message"] for each in found if each["severity"] == "error"}


CHECKERS = [mypy, pyright]


@pytest.mark.parametrize("checker", CHECKERS)
def test_answers_and_dependencies_have_their_types(checker: Callable[[Path], dict[int, str]]) -> None:
    assert checker(CASES / "right.py") == {}


@pytest.mark.parametrize("checker", CHECKERS)
def test_what_does_not_fit_fails_to_check(checker: Callable[[Path], dict[int, str]]) -> None:
    file = CASES / "wrong.py"
    lines = file.read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    found = checker(file)
    assert found.keys() == marked, {number: found.get(number) for number in found.keys() ^ marked}
