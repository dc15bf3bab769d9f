"""Runs the six jobs in each SDK against a scripted model: ``python run.py NODE_MODULES``, where the Python SDKs are installed.

``NODE_MODULES`` is a folder with the packages of the JavaScript SDKs. All programs talk to the same mock model over HTTP,
though they name OpenAI's: each line of them is one that a user of the SDK would write.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relay import relay
from stepwell.testing import MockLlm, calls, text

HERE = Path(__file__).parent

ANSWER = text("In Norway.")
TRIP = {"city": "Bergen", "days": 3}

JOBS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "ask": ([ANSWER], "In Norway."),
    "stream": ([ANSWER], "In Norway."),
    "tool": ([calls(("get_weather", {"city": "Bergen"})), text("It rains.")], "It rains."),
    "typed": ([text('{"city": "Bergen", "days": 3}')], "3 days in Bergen"),
    "users": ([text("Hello."), text("Hello."), text("You are Ada."), text("You are Bob.")], "ada You are Ada.\nbob You are Bob."),
    "approval": ([calls(("pay", {"euros": 5})), text("It is paid.")], "It is paid."),
}
"""The hops of the model in each job, and what the program prints at last."""

FINAL_TOOL = [calls(("final_result", TRIP))]
"""pydantic-ai asks for a typed answer by a tool."""

STEPWELL = """
import runpy, sys, stepwell
model = stepwell.Model.openai("gpt-5-mini", base_url=sys.argv[2], api_key="unused")
Agent = stepwell.Agent
stepwell.Agent = lambda named, **options: Agent(model, **options)
runpy.run_path(sys.argv[1], run_name="__main__")
"""

REDIRECT = """
const real = globalThis.fetch;
globalThis.fetch = (url, init) => real(String(url).replace("https://api.openai.com/v1", process.env.MOCK_URL), init);
"""


def command(program: Path, folder: Path, url: str) -> list[str]:
    """Returns what runs a program with the mock model instead of OpenAI's."""
    if program.parent.name == "stepwell-python":
        return [sys.executable, "-c", STEPWELL, str(program), url]
    if program.suffix == ".py":
        return [sys.executable, str(program)]
    (folder / "redirect.mjs").write_text(REDIRECT, encoding="utf-8")
    shutil.copy(program, folder)
    return ["node", "--import", "./redirect.mjs", program.name]


def asked_and_killed(command: Sequence[str], folder: Path, env: dict[str, str]) -> None:
    """Runs a program until it asks the user, and kills it."""
    with subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        asked = ""
        while not asked.endswith("?"):
            read = program.stdout.read(1)
            assert read, f"it ended before it asked: {asked}"
            asked += read
        program.kill()


def play(program: Path, node_modules: Path) -> None:
    """Runs a program, and checks what it prints and what it sent."""
    hops, printed = JOBS[program.stem]
    if program.parent.name == "pydantic-ai" and program.stem == "typed":
        hops = FINAL_TOOL
    with MockLlm(*hops) as mock, relay(mock.base_url) as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "node_modules").symlink_to(node_modules, target_is_directory=True)
        env = {**os.environ, "OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": url, "MOCK_URL": url}
        runs = command(program, folder, url)
        if program.stem == "approval":
            asked_and_killed(runs, folder, env)
        ran = subprocess.run(runs, cwd=folder, env=env, input="yes\n", capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.strip().endswith(printed), ran.stdout
        assert mock.failures() == [], mock.failures()
        sent = [[message["role"] for message in request["body"]["messages"]] for request in mock.requests()]
        if program.stem == "users":
            assert [len([role for role in roles if role == "user"]) for roles in sent] == [1, 1, 2, 2], sent
        assert len(sent) == len(hops), sent


def main() -> None:
    node_modules = Path(sys.argv[1]).resolve()
    programs = sorted(path for path in HERE.glob("*/*") if path.stem in JOBS)
    for program in programs:
        play(program, node_modules)
        print(f"{program.parent.name}/{program.name}", flush=True)
    assert len(programs) == 4 * len(JOBS), programs


if __name__ == "__main__":
    main()
