"""The widget where it is used: in JupyterLab, by mouse and by keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from in_jupyterlab import CHROMIUM, Lab, lab
from playwright.sync_api import expect

if CHROMIUM is None:
    pytest.skip("STEPWELL_CHROMIUM names no browser", allow_module_level=True)

# As long as it takes on a busy machine, as the page's own waits: the first plot loads matplotlib.
expect.set_options(timeout=60_000)

SETUP = '''
import asyncio
from stepwell import Agent, ask_in_notebook, show, tool
from stepwell.testing import MockLlm, calls, text

@tool(requires_approval=True)
def pay(amount: int, to: str) -> str:
    """Pays somebody."""
    return f"paid {amount}"

@tool
async def wait() -> str:
    """Waits for ever."""
    await asyncio.Event().wait()
    return ""

shop = MockLlm(
    calls(("pay", {"amount": 900, "to": "Bob\\u202e<img src=x onerror=alert(1)>"}), say="I will **pay**."),
    text("So it is."), repeat=True,
)
bench = MockLlm(calls(("wait", {})), text("Enough."), repeat=True)

def agent(model):
    tools = [pay, wait]
    return Agent(model.model, tools=tools, approver=ask_in_notebook)

def last_result(finished):
    return finished.messages[-2].text
'''
AWAITED = 'print("awaited:", last_result(await show(agent(shop).stream("Buy"))))'
BEGUN = 'shown = show(agent(shop).stream("Buy"))\nshown'
LATER = 'print("later:", last_result(await shown))\nshown.turn.plot()'
SLOW = 'print("slow:", (await show(agent(bench).stream("Go"))).text)'
BLOCKED = 'print("sync:", show(agent(shop).stream_sync("Buy")).stop_reason)'


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tmp_path_factory.mktemp("lab"), [SETUP, AWAITED, BEGUN, LATER, SLOW, BLOCKED]) as found:
        found.run(0)
        yield found
        assert found.errors == []


def test_a_cell_that_awaits_takes_clicks(opened: Lab) -> None:
    output = opened.run(1)
    expect(output.get_by_role("group", name="May pay run?")).to_be_visible()
    expect(output.get_by_role("status")).to_have_text("May pay run?")
    expect(output.locator("pre")).to_contain_text('"to": "Bob\\u202e<img src=x onerror=alert(1)>"')
    expect(output.locator("strong")).to_have_text("pay")
    output.get_by_role("button", name="Run").click()
    expect(output).to_contain_text("awaited: paid 900")
    expect(output).to_contain_text("So it is.")
    # What is left is what its file shows without a kernel.
    expect(output.get_by_role("button")).to_have_count(0)
    expect(output.locator("summary")).to_have_text([re.compile("pay completed"), re.compile("Timeline, ")])
    expect(output.locator("strong")).to_have_text("pay")


def test_a_turn_goes_on_after_its_cell_and_is_answered_by_keyboard(opened: Lab) -> None:
    output, keyboard = opened.run(2), opened.page.keyboard
    run = output.get_by_role("button", name="Run")
    run.focus()
    keyboard.press("Tab")
    keyboard.press("Enter")
    arguments = output.get_by_role("textbox", name="Arguments of pay, as JSON")
    expect(arguments).to_be_focused()
    # Letters that are JupyterLab's own keys go into the field, and no cell is cut.
    keyboard.press("Control+a")
    keyboard.type("xx dd")
    output.get_by_role("button", name="Run with these").press("Enter")
    expect(output.get_by_role("alert").first).to_contain_text("These cannot be run")
    arguments.fill(json.dumps({"amount": 5, "to": "Eve"}))
    output.get_by_role("button", name="Run with these").press("Enter")
    expect(output).to_contain_text("So it is.")
    later = opened.run(3)
    expect(later).to_contain_text("paid 5")
    expect(later.locator("img")).to_be_visible()
    expect(opened.page.locator(".jp-Notebook .jp-Cell")).to_have_count(6)


def test_a_call_is_cancelled(opened: Lab) -> None:
    output = opened.run(4)
    output.get_by_role("button", name="Cancel wait").click()
    expect(output).to_contain_text("slow: Enough.")
    expect(output).to_contain_text("cancelled")


def test_a_page_that_is_loaded_again_goes_on(opened: Lab) -> None:
    opened.run(2).get_by_role("button", name="Run").wait_for()
    opened.save()
    opened.page.reload()
    output = opened.outputs(2)
    output.get_by_role("button", name="Run").click()
    expect(output).to_contain_text("So it is.")
    expect(output.get_by_role("status")).to_have_text("The turn is over.")
    expect(output.get_by_role("button")).to_have_count(0)


def test_the_saved_file_has_what_was_shown(opened: Lab) -> None:
    opened.save()
    cells = json.loads(opened.file.read_text(encoding="utf-8"))["cells"]
    (shown, _) = cells[1]["outputs"]
    assert "I will **pay**." in "".join(shown["data"]["text/markdown"])
    assert shown["data"].keys() == {"text/markdown", "text/plain"}


def test_a_cell_that_blocks_the_kernel_says_what_to_do(opened: Lab) -> None:
    # The last: for a while after the interrupt the kernel drops what it is asked to run.
    output = opened.run(5)
    output.get_by_role("button", name="Deny").click()
    expect(output.get_by_role("alert").last).to_contain_text("interrupt it")
    opened.page.get_by_role("button", name="Interrupt the kernel").click()
    expect(output).to_contain_text("KeyboardInterrupt")
