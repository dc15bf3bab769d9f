"""Records a turn in a notebook, in JupyterLab: `python notebook.py notebook.webp`.

With what `bindings/python/requirements-dev.txt` names, a browser in `STEPWELL_CHROMIUM`, and the `src` and `tests` of
`bindings/python` on the path, after `cargo xtask bindings python`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from in_jupyterlab import lab
from pictures import LONGEST, Pictures

MODEL = '''
import time
from stepwell import Agent, ask_in_notebook, show, tool
from stepwell.testing import MockLlm

def hop(say, tokens, *calls):
    words = [step for word in say.split(" ") for step in ({"text": word + " "}, {"pause_ms": 60})]
    asked = [{"tool_call": {"name": name, "arguments": arguments}} for name, arguments in calls]
    return {"steps": [{"pause_ms": 300}, *words, *asked], "usage": {"input": tokens, "output": len(words)}}

mock = MockLlm(
    hop("Let me see what it costs.", 210, ("get_price", {"what": "boat"})),
    hop("It costs 900, so I will **pay**.", 260, ("pay", {"amount": 900, "to": "Bob"})),
    hop("Done: Bob has his money, and **the boat is yours**.", 300),
)
'''
AGENT = '''
@tool
def get_price(what: str) -> int:
    """What something costs."""
    time.sleep(0.8)
    return 900

@tool(requires_approval=True)
def pay(amount: int, to: str) -> str:
    """Pays somebody."""
    return f"paid {amount} to {to}"

agent = Agent(mock.model, tools=[get_price, pay], approver=ask_in_notebook)
'''
SHOWN = 'turn = agent.stream("Buy the boat.")\nresult = await show(turn)'
PLOT = "turn.plot()"
STYLE = """
.jp-Notebook .jp-Cell:first-child, .jp-cell-toolbar, .Toastify { display: none }
.jp-WindowedPanel-outer { padding: 0 !important }
"""
"""Without the scripted model, and what JupyterLab says of itself."""

with TemporaryDirectory() as folder, lab(Path(folder), [MODEL.strip(), AGENT.strip(), SHOWN, PLOT]) as opened:
    page = opened.page
    page.set_viewport_size({"width": 800, "height": 800})
    # No side bar.
    page.keyboard.press("Control+b")
    opened.run(0)
    page.add_style_tag(content=STYLE)
    opened.run(1)
    page.get_by_text("[2]:").wait_for()
    pictures = Pictures(page.locator(".jp-WindowedPanel-outer").screenshot)
    pictures.look()
    page.wait_for_timeout(LONGEST)
    output = opened.run(2)
    run = output.get_by_role("button", name="Run", exact=True)
    pictures.until(run.is_visible)
    page.wait_for_timeout(LONGEST)
    run.click()
    pictures.until(output.get_by_text("Timeline").is_visible)
    page.wait_for_timeout(LONGEST)
    opened.run(3).locator("img").wait_for()
    output.evaluate("output => output.scrollIntoView()")
    pictures.look()
    pictures.save(sys.argv[1])
