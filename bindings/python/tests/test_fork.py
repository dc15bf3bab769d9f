"""A process that is forked from one that has used Stepwell."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest
from conftest import MockLlm, calls, text

Start = Callable[..., MockLlm]

BEFORE = """
    import asyncio, os, sys, warnings
    from stepwell import Agent, MemoryStore, RunConfig, RunMachine, UnavailableError, tool

    # Python itself warns of what this test does.
    warnings.simplefilter("ignore", DeprecationWarning)

    @tool
    def where() -> int:
        return os.getpid()

    def made(store=None):
        return Agent(provider="openai-compatible", model="m", base_url=sys.argv[1], tools=[where], store=store)

    store = MemoryStore()
    agent = made(store)
    assert agent.run_sync("Go").text == "Done"
    turn = agent.send_sync("Again")
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert turn.finish().text == "Done"
        sys.exit(os.waitstatus_to_exitcode(status))
"""

REFUSED = [
    "agent.run_sync('Go')",
    "turn.finish()",
    "list(turn)",
    "turn.steer('More')",
    "asyncio.run(agent.delete_thread('other'))",
    "asyncio.run(store.threads())",
    "made(store)",
]


def child(mock: MockLlm, program: str, before: str = BEFORE) -> str:
    source = textwrap.dedent(before) + textwrap.dedent(program)
    ran = subprocess.run(
        [sys.executable, "-c", source, mock.base_url], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")


def test_what_comes_from_the_other_process_says_so(mock_llm: Start) -> None:
    tries = "".join(
        f"""
    try:
        {each}
        print("done:", {each!r})
    except UnavailableError as error:
        assert "before the process was forked" in str(error), error
    """
        for each in REFUSED
    )
    assert child(mock_llm(calls(("where", {})), text("Done"), repeat=True), tries) == ""


def test_nothing_is_made_where_stepwell_was_at_work(mock_llm: Start) -> None:
    program = """
    for make in (made, MemoryStore):
        try:
            make()
            print("made:", make)
        except UnavailableError as error:
            assert "before the process was forked" in str(error), error
    """
    assert child(mock_llm(calls(("where", {})), text("Done"), repeat=True), program) == ""


def test_a_child_of_a_process_that_has_only_made_agents_works(mock_llm: Start) -> None:
    program = """
    finished = made(MemoryStore()).run_sync("Go")
    print(finished.text, finished.messages[-2]["content"] == str(os.getpid()))
    """
    before = BEFORE.replace('    assert agent.run_sync("Go").text == "Done"\n', "")
    before = before.replace('    turn = agent.send_sync("Again")\n', "")
    before = before.replace('assert turn.finish().text == "Done"', 'assert agent.run_sync("Go").text == "Done"')
    mock = mock_llm(calls(("where", {})), text("Done"), repeat=True)
    assert child(mock, program, before) == "Done True\n"
