"""A process may end in the middle of a turn."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable

import pytest
from conftest import MockLlm, calls, text

BEGINS = """
    import asyncio
    import sys
    from stepwell import Agent, Model, TextUpdate, tool

    @tool
    def wait() -> str:
        print("runs", flush=True)
        return "ok"

    agent = Agent(Model.openai_compatible("m", base_url=sys.argv[1]), tools=[wait])

    async def main():
        global turn
        turn = agent.stream("Go")
        async for event in turn:
            if isinstance(event, TextUpdate):
                break

    asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["", "sys.exit(0)", "asyncio.run(asyncio.sleep(0))"])
def test_the_interpreter_exits_in_the_middle_of_a_turn(mock_llm: Callable[..., MockLlm], end: str) -> None:
    for _ in range(3):
        mock = mock_llm({"steps": [{"text": "Well"}, {"text": " and"}, "stall"]})
        program = textwrap.dedent(BEGINS) + end
        ran = subprocess.run(
            [sys.executable, "-c", program, mock.base_url], capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
        mock.wait_until(lambda requests: requests[0]["delivery"] == "client_left")


@pytest.mark.parametrize("wait", ["asyncio.run(main())", "agent.send_sync('Go')"])
def test_a_program_does_not_wait_for_a_plain_tool_that_took_too_long(
    mock_llm: Callable[..., MockLlm], wait: str
) -> None:
    program = textwrap.dedent("""
        import asyncio, sys, threading
        from stepwell import Agent, Model, tool

        @tool(timeout=0.05)
        def hangs() -> str:
            threading.Event().wait()

        agent = Agent(Model.openai_compatible("m", base_url=sys.argv[1]), tools=[hangs]).conversation()

        async def main():
            await agent.stream("Go").result()

    """)
    mock = mock_llm(calls(("hangs", {})), text("Well"))
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}{wait}; print(agent.messages[-1].text)", mock.base_url],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Well\n", "")


def test_what_is_begun_after_the_threads_were_stopped_is_refused(mock_llm: Callable[..., MockLlm]) -> None:
    program = textwrap.dedent(BEGINS) + textwrap.dedent("""
        from stepwell import StepwellError
        from stepwell._ffi import stepwell_ffi as _ffi
        _ffi.shutdown()
        try:
            agent.run_sync("Again")
        except StepwellError as error:
            print(error)
    """)
    mock = mock_llm({"steps": [{"text": "Well"}, "stall"]})
    ran = subprocess.run(
        [sys.executable, "-c", program, mock.base_url], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Stepwell's threads were stopped" in ran.stdout
