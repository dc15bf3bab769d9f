"""JupyterLab as a user has it: its server with a kernel, and its page in Chromium."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, Page, Response, sync_playwright

CHROMIUM = os.environ.get("STEPWELL_CHROMIUM")
"""The browser's program."""


@contextmanager
def lab(folder: Path, cells: Sequence[str]) -> Iterator[Lab]:
    """A notebook of these cells, open in JupyterLab."""
    new: Any = nbformat.v4
    notebook = new.new_notebook(
        cells=[new.new_code_cell(cell) for cell in cells],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )
    root = folder / "root"
    root.mkdir()
    (root / "test.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("RUNTIME", "CONFIG", "DATA")}
    (folder / "config").mkdir()
    quiet = {"LabApp": {"news_url": None, "check_for_updates_class": "jupyterlab.NeverCheckForUpdate"}}
    (folder / "config" / "jupyter_lab_config.json").write_text(json.dumps(quiet), encoding="utf-8")
    options = [
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        "--port=0",
        "--IdentityProvider.token=",
        f"--ServerApp.root_dir={root}",
        # What a notebook does without.
        "--ServerApp.jpserver_extensions=jupyter_lsp=False",
    ]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        env={**os.environ, **own},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        said = []
        for line in server.stderr:
            said.append(line)
            if "Jupyter Server" in line and "is running at" in line:
                break
        else:
            raise RuntimeError("JupyterLab did not start:\n" + "".join(said))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            (address,) = (folder / "runtime").glob("jpserver-*.json")
            url = json.loads(address.read_text(encoding="utf-8"))["url"]
            yield Lab(browser, url, root / "test.ipynb")
            browser.close()
    finally:
        # Not by reading to the end: a kernel holds the pipe too, and may outlive the server.
        server.terminate()
        try:
            server.wait(timeout=60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        server.stderr.close()


class Lab:
    """The notebook's page."""

    def __init__(self, browser: Browser, url: str, file: Path) -> None:
        self.file = file
        """The notebook's file."""
        self.page: Page = browser.new_page(viewport={"width": 1100, "height": 1400})
        self.page.set_default_timeout(60_000)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(f"{url}lab/tree/test.ipynb?reset")
        self.page.get_by_text("(ipykernel) | Idle").wait_for()

    def run(self, cell: int) -> Any:
        """Runs a cell, from 0, and gives its outputs."""
        self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        return self.outputs(cell)

    def save(self) -> None:
        """Saves the notebook, and waits until its file is written."""

        def is_saved(response: Response) -> bool:
            return response.request.method == "PUT" and "/api/contents/" in response.url

        with self.page.expect_response(is_saved):
            self.page.keyboard.press("Control+s")

    def outputs(self, cell: int) -> Any:
        """The outputs of a cell."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-Cell-outputArea")
