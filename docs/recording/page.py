"""Records a turn on the page of `stepwell serve --script script.json`: `python page.py page.webp ADDRESS`.

With what `bindings/python/requirements-dev.txt` names, and a browser in `STEPWELL_CHROMIUM`.
"""

from __future__ import annotations

import os
import re
import sys

from pictures import LONGEST, Pictures
from playwright.sync_api import ViewportSize, sync_playwright

QUESTION = "Look at both numbers, and make Bob's one more."

file, address = sys.argv[1:]
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=os.environ["STEPWELL_CHROMIUM"], args=["--no-sandbox"])
    size: ViewportSize = {"width": 900, "height": 620}
    page = browser.new_page(viewport=size, device_scale_factor=0.8, reduced_motion="reduce", color_scheme="light")
    page.goto(address)
    message = page.get_by_role("textbox", name="Message")
    message.wait_for()
    pictures = Pictures(page.screenshot)
    for word in re.split("(?<= )", QUESTION):
        message.press_sequentially(word)
        pictures.look()
    message.press("Enter")
    approve = page.get_by_role("button", name="Approve")
    pictures.until(approve.is_visible)
    page.wait_for_timeout(LONGEST)
    approve.click()
    stop = page.get_by_role("button", name="Stop", exact=True)
    pictures.until(lambda: not stop.is_visible())
    pictures.save(file)
    browser.close()
