"""The notebook: executed by Jupyter's kernel, and as a plain program, for those who have no Jupyter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT
from nbclient import NotebookClient
from test_display import Page, is_harmless

NOTEBOOK = ROOT / "examples" / "notebook.ipynb"


def read() -> Any:
    return nbformat.reads(NOTEBOOK.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def executed() -> Any:
    notebook = read()
    nbformat.validate(notebook)
    NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def cell(executed: Any, beginning: str) -> Any:
    (found,) = [cell for cell in executed if beginning in cell.source]
    return found


def shown(cell: Any, kind: str) -> str:
    """What a cell shows last, of this kind."""
    found = [output for output in cell.outputs if output.output_type in ("display_data", "execute_result")]
    return str(found[-1]["data"][kind])


def test_no_cell_says_anything_is_wrong(executed: Any) -> None:
    for cell in executed:
        assert not [output for output in cell.outputs if output.output_type == "error" or output.get("name") == "stderr"]


def test_a_tool_is_a_card(executed: Any) -> None:
    html = shown(cell(executed, "@tool\ndef get_weather"), "text/html")
    assert is_harmless(html)
    assert "The weather in a city, now." in html and "city (string) The city's name." in Page(html).text


def test_a_turn_is_drawn_in_one_output(executed: Any) -> None:
    turn = cell(executed, "await show(conversation.stream(")
    (output,) = turn.outputs
    assert output.output_type == "display_data"
    page = Page(output["data"]["text/markdown"])
    assert is_harmless(output["data"]["text/markdown"])
    assert page.text.count("completed") == 2
    for said in ("Let me look.", '"city": "Bergen"', '{"sky": "rain", "degrees": 12}', "Oslo has sun, at 19 degrees."):
        assert said in page.text


def test_a_turn_that_show_gives_as_the_cells_result_is_shown_once() -> None:
    first = """
from stepwell import Agent, show
from stepwell.testing import MockLlm, text
model = MockLlm(text("**Well**"), repeat=True)
agent = Agent(model.model)
finished = show(agent.stream_sync("Go"))
finished
"""
    cells = [first, 'await show(agent.stream("Go"))', "finished", 'show(agent.stream_sync("Go"))', "model.close()"]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])  # type: ignore[no-untyped-call]
    NotebookClient(made, timeout=None, kernel_name="python3").execute()
    drawn = [[output["data"].get("text/markdown") for output in each.outputs] for each in made.cells]
    assert drawn == [["**Well**"], ["**Well**"], ["**Well**"], ["**Well**"], []]


def test_what_came_of_it(executed: Any) -> None:
    assert shown(cell(executed, "result.stop_reason"), "text/plain").startswith("('complete', 2, ")


def test_a_plain_loop_works_in_a_notebook(executed: Any) -> None:
    said = "".join(output.text for output in cell(executed, "stream_sync").outputs)
    assert "get_weather: ToolOutput(content='{\"sky\": \"sun\", \"degrees\": 19}')" in said
    assert said.endswith("Oslo has sun, at 19 degrees.")


def test_the_approver_is_asked(executed: Any) -> None:
    plain = shown(cell(executed, "requires_approval=True"), "text/plain")
    assert '✗ pay {"amount":900}' in plain and "that is too much" in plain and plain.endswith("I leave it, then.")


def test_a_cell_that_shows_a_turn_without_await_is_done_at_once(executed: Any) -> None:
    (output,) = cell(executed, "from stepwell import ask_in_notebook").outputs
    assert output["data"].keys() >= {"application/vnd.jupyter.widget-view+json", "text/markdown", "text/plain"}
    assert "image/png" in cell(executed, "shown.turn.plot()").outputs[0]["data"]


def test_failures_have_advice(executed: Any) -> None:
    said = "".join(output.text for output in cell(executed, "AuthenticationError").outputs)
    assert "Incorrect API key provided" in said and "What to do: give another key" in said


def test_a_turn_without_network(executed: Any) -> None:
    assert shown(cell(executed, "import play"), "text/plain").startswith("['Started',")


def test_an_agent_shows_the_conversation(executed: Any) -> None:
    plain = shown(cell(executed, "server.close()"), "text/plain")
    assert plain.startswith("> How is the weather in Bergen and Oslo?") and plain.count("✓ get_weather") == 4


def test_the_file_is_kept_without_outputs() -> None:
    notebook = read()
    assert all(not cell.outputs and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code")


def test_its_code_runs_without_jupyter() -> None:
    program = Path(__file__).parent / "run_notebook.py"
    ran = subprocess.run(
        [sys.executable, str(program), str(NOTEBOOK)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert '✓ get_weather {"city":"Bergen"} → {"sky": "rain", "degrees": 12}' in ran.stdout
