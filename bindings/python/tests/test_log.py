"""What the library says of itself, in Python's log."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
from collections.abc import Callable

from conftest import MockLlm, calls, text

Start = Callable[..., MockLlm]

SECRET = "sk-secret"

# A process of its own: the library's lines come on a thread, which has said all when the interpreter exits.
TURN = """
    import logging, sys
    from stepwell import Agent, Model, tool

    logging.basicConfig(stream=sys.stdout, level=sys.argv[2], format="%(levelname)s %(name)s %(message)s")
    logging.getLogger("asyncio").setLevel(logging.WARNING)

    @tool
    def look(what: str) -> str:
        raise ValueError(f"nothing of {what}")

    agent = Agent(Model.openai_compatible("m", api_key="sk-secret", base_url=sys.argv[1]), tools=[look])
    agent.run_sync("My own words")
"""


def logged(mock: MockLlm, level: str) -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(TURN), mock.base_url, level],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def test_what_the_library_says_is_logged(mock_llm: Start) -> None:
    lines = logged(mock_llm(calls(("look", {"what": "x"})), text("I see")), "DEBUG")
    assert any(line.startswith("DEBUG stepwell run moves from=Opening") for line in lines), lines
    assert "WARNING stepwell the tool failed tool=look kind=Panicked" in lines
    assert all(SECRET not in line for line in lines)


def test_no_text_of_the_conversation_is_logged_above_debugging(mock_llm: Start) -> None:
    said = "words of the model"
    lines = logged(mock_llm(calls(("look", {"what": said}), say=said), text(said)), "INFO")
    from_the_library = [line for line in lines if line.startswith(("INFO", "WARNING stepwell the tool failed tool=look kind"))]
    assert from_the_library
    assert not [line for line in from_the_library if said in line or "My own words" in line or SECRET in line]


def test_without_a_log_nothing_is_written(mock_llm: Start) -> None:
    program = textwrap.dedent(TURN).replace("logging.basicConfig", "(lambda **_: None)")
    mock = mock_llm(text("Well"))
    ran = subprocess.run(
        [sys.executable, "-c", program, mock.base_url, "INFO"], capture_output=True, text=True, check=True
    )
    assert (ran.stdout, ran.stderr) == ("", "")
    assert logging.getLogger("stepwell").handlers == []
