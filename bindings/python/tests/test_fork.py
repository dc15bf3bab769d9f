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
    from stepwell import Agent, MemoryStore, Model, StepwellError, tool
    from stepwell.machine import RunConfig, RunMachine

    # Python itself warns of what this test does.
    warnings.simplefilter("ignore", DeprecationWarning)

    @tool
    def where() -> int:
        return os.getpid()

    def made(store=None, id=None):
        agent = Agent(Model.openai_compatible("m", base_url=sys.argv[1]), tools=[where], store=store)
        return agent.conversation(id)

    store = MemoryStore()
    stored = made(store)
    agent = made()
    assert agent.send_sync("Go").text == "Done"
    turn = stored.stream_sync("Again")
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert turn._finish().text == "Done"
        sys.exit(os.waitstatus_to_exitcode(status))
"""

REFUSED = [
    "stored.send_sync('Go')",
    "turn._finish()",
    "list(turn)",
    "turn.steer('More')",
    "asyncio.run(stored.delete())",
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
    except StepwellError as error:
        assert "before the process was forked" in str(error), error
    """
        for each in REFUSED
    )
    assert child(mock_llm(calls(("where", {})), text("Done"), repeat=True), tries) == ""


def test_a_child_makes_agents_and_stores_of_its_own(mock_llm: Start) -> None:
    program = """
    finished = made(MemoryStore()).stream_sync("Go")._finish()
    print(finished.text, finished.messages[-2]["content"] == str(os.getpid()))
    """
    assert child(mock_llm(calls(("where", {})), text("Done"), repeat=True), program) == "Done True\n"


def test_an_agent_from_before_the_fork_goes_on_in_the_child(mock_llm: Start) -> None:
    """As a module's agent does under a server that loads the app before it forks its workers."""
    program = """
    before = agent.messages.to_json()
    finished = agent.stream_sync("Go")._finish()
    assert finished.messages[: len(before)] == before and len(before) == 4, finished.messages
    assert agent.messages.to_json() == finished.messages
    assert agent.send_sync("Go").messages.to_json()[: len(finished.messages)] == finished.messages
    assert agent.agent.conversation("other").send_sync("Go").text == "Done"
    assert agent.agent.run_sync("Go").text == "Done"
    print(finished.text, finished.messages[-2]["content"] == str(os.getpid()))
    """
    mock = mock_llm(calls(("where", {})), text("Done"), repeat=True)
    assert child(mock, program) == "Done True\n"
    named = BEFORE.replace("agent = made()", "agent = made(id='named')")
    assert child(mock, program, named) == "Done True\n"


def test_children_of_a_pool_work(mock_llm: Start) -> None:
    program = """
    def work(number):
        return agent.agent.run_sync(f"Go {number}").text

    if __name__ == "__main__":
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(3) as pool:
            print(pool.map(work, range(6)))
    """
    assert child(mock_llm(calls(("where", {})), text("Done"), repeat=True), program).strip() == str(["Done"] * 6)


def test_a_fork_while_turns_stream_leaves_a_child_that_works(mock_llm: Start) -> None:
    """Whatever the threads do as the process is forked."""
    before = """
    import asyncio, os, sys, threading, warnings
    from stepwell import Agent, Model

    warnings.simplefilter("ignore", DeprecationWarning)

    def made():
        return Agent(Model.openai_compatible("m", base_url=sys.argv[1]))

    over = threading.Event()

    def streams(agent):
        while not over.is_set():
            assert agent.run_sync("Go").text == "Done"

    agents = [made() for _ in range(3)]
    for agent in agents:
        agent.run_sync("Go")
    threads = [threading.Thread(target=streams, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for _ in range(10):
        child = os.fork()
        if not child:
            os._exit(0 if made().run_sync("Go").text == "Done" else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    over.set()
    for thread in threads:
        thread.join()
    print("fine")
    """
    assert child(mock_llm(text("Done"), repeat=True), "", before) == "fine\n"


def test_a_child_of_a_process_whose_threads_were_kept_busy_is_refused(mock_llm: Start) -> None:
    program = """
    from stepwell.process import OwnProcess
    for make in (made, MemoryStore, lambda: agent.send_sync("Go")):
        try:
            make()
            print("made:", make)
        except StepwellError as error:
            assert "was forked while" in str(error), error
    """
    before = BEFORE.replace(
        "child = os.fork()",
        """from stepwell._ffi import stepwell_ffi
    stepwell_ffi.before_fork = lambda: False
    child = os.fork()""",
    )
    assert child(mock_llm(calls(("where", {})), text("Done"), repeat=True), program, before) == ""


def test_a_child_of_a_process_that_has_only_made_agents_works(mock_llm: Start) -> None:
    program = """
    finished = made(MemoryStore()).stream_sync("Go")._finish()
    print(finished.text, finished.messages[-2]["content"] == str(os.getpid()))
    """
    before = BEFORE.replace('    assert agent.send_sync("Go").text == "Done"\n', "")
    before = before.replace('    turn = stored.stream_sync("Again")\n', "")
    before = before.replace('assert turn._finish().text == "Done"', 'assert agent.send_sync("Go").text == "Done"')
    mock = mock_llm(calls(("where", {})), text("Done"), repeat=True)
    assert child(mock, program, before) == "Done True\n"
