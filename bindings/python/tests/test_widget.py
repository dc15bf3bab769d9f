"""The notebook's widget, from the side of Python: what it shows, and what its clicks do."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import MockLlm, calls, text
from test_display import HOSTILE, Page, is_harmless

from stepwell import Agent, MisuseError, ToolCallUpdate, ask_in_notebook, screens, show, tool
from stepwell.display import TurnCard
from stepwell.media import Parts
from stepwell.updates import ToolCallStatus
from stepwell.widget import TurnWidget, WidgetScreen

Start = Callable[..., MockLlm]

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


class Notebook:
    """The screens of a notebook with widgets, and what is in its outputs."""

    def __init__(self) -> None:
        self.screens: list[WidgetScreen] = []
        self.outputs: list[dict[str, Any]] = []

    def display(self, data: dict[str, Any], metadata: object, raw: bool, display_id: bool) -> Any:
        assert raw and display_id
        self.outputs.append(data)
        return SimpleNamespace(update=lambda data, raw: self.outputs.append(data))

    @property
    def widget(self) -> TurnWidget:
        return self.screens[-1].widget

    def click(self, **content: Any) -> None:
        self.screens[-1].clicked(content)

    async def question(self) -> dict[str, Any]:
        """The item that asks, once there is one."""
        while not (asking := [item for item in self.widget.items if item["question"]]):
            await asyncio.sleep(0)
        found: dict[str, Any] = asking[0]
        return found


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    made = Notebook()

    class Recorded(WidgetScreen):
        def __init__(self, turn: Any) -> None:
            super().__init__(turn)
            made.screens.append(self)

    monkeypatch.setattr("stepwell.screens.in_notebook", lambda: True)
    monkeypatch.setattr("stepwell.questions.in_notebook", lambda: True)
    monkeypatch.setattr("stepwell.screens.has_widgets", lambda: True)
    monkeypatch.setattr("stepwell.widget.WidgetScreen", Recorded)
    monkeypatch.setattr("IPython.display.display", made.display)
    return made


@tool(requires_approval=True)
def pay(amount: int, to: str = "") -> str:
    """Pays somebody."""
    return f"paid {amount}"


@tool
async def wait() -> str:
    """Waits for ever."""
    await asyncio.Event().wait()
    return ""


def agent_of(mock: MockLlm, *tools: Any) -> Agent[Any, Any]:
    return Agent(mock.model, tools=tools, approver=ask_in_notebook)


async def test_a_call_is_allowed_by_a_click(mock_llm: Start, notebook: Notebook) -> None:
    mock = mock_llm(calls(("pay", {"amount": 900}), say="I will **pay**."), text("Paid."))
    shown = show(agent_of(mock, pay).stream("Buy"))
    item = await notebook.question()
    assert item["call"] == {"id": item["call"]["id"], "name": "pay"}
    assert item["question"]["arguments"] == '{\n  "amount": 900\n}' and "<details open" in item["html"]
    assert notebook.widget.status == "May pay run?"
    notebook.click(do="run", number=item["question"]["number"], text=None)
    finished = await shown
    assert finished.stop_reason == "complete" and finished.messages[-2].to_json()["content"] == "paid 900"
    assert "<strong>pay</strong>" in notebook.widget.items[0]["html"]
    assert all(is_harmless(item["html"]) for item in notebook.widget.items)


async def test_a_turn_that_is_over_is_shown_without_a_widget(mock_llm: Start, notebook: Notebook) -> None:
    mock = mock_llm(calls(("pay", {"amount": 900})), text("**Well**"))
    shown = show(agent_of(mock, pay).stream("Go"))
    number = (await notebook.question())["question"]["number"]
    (begun,) = notebook.outputs
    assert begun["application/vnd.jupyter.widget-view+json"]["model_id"] == notebook.widget.model_id
    assert begun.keys() > {"text/plain", "text/markdown"}
    notebook.click(do="run", number=number)
    await shown
    _, ended = notebook.outputs
    assert ended.keys() == {"text/plain", "text/markdown"}
    # A page that was loaded again keeps the widget.
    assert not notebook.widget.is_running and notebook.widget.status == "The turn is over."
    assert [(item["call"], item["question"]) for item in notebook.widget.items] == [(None, None)] * 3
    card, said, timeline = ended["text/markdown"].split("\n\n")
    assert said == "**Well**" and is_harmless(card) and is_harmless(timeline)
    assert notebook.widget.items[2]["html"] == timeline
    told = Page(timeline).text
    assert "hop 0 model" in told and "pay approval" in told and "pay tool" in told and "hop 1 model" in told
    assert ended["text/plain"].endswith("**Well**")
    notebook.click(do="cancel", click="late")


@pytest.mark.parametrize(("reason", "said"), [("too much", "too much"), (" ", "did not allow"), (7, "did not allow")])
async def test_a_call_is_denied_by_a_click(mock_llm: Start, notebook: Notebook, reason: object, said: str) -> None:
    mock = mock_llm(calls(("pay", {"amount": 900})), text("Then not."))
    shown = show(agent_of(mock, pay).stream("Buy"))
    number = (await notebook.question())["question"]["number"]
    notebook.click(do="deny", number=number, text=reason)
    assert said in str((await shown).messages[-2].to_json())


async def test_arguments_are_edited(mock_llm: Start, notebook: Notebook) -> None:
    mock = mock_llm(calls(("pay", {"amount": 900})), text("Paid."))
    shown = show(agent_of(mock, pay).stream("Buy"))
    question = (await notebook.question())["question"]
    for wrong, says in (("{", "These cannot be run: "), ("[1]", "no JSON object")):
        notebook.click(do="run", number=question["number"], text=wrong)
        assert says in (await notebook.question())["question"]["problem"]
    notebook.click(do="run", number=question["number"], text='{"amount": 5}')
    assert "paid 5" in (await shown).messages[-2].to_json()["content"]


async def test_what_is_asked_cannot_be_spoofed(mock_llm: Start, notebook: Notebook) -> None:
    hidden = "Bob\u202e\u200b\u2066\u2028\U000e0041" + HOSTILE
    mock = mock_llm(calls(("pay", {"amount": 1, "to": hidden + "x" * 9000})), text("Paid."))
    shown = show(agent_of(mock, pay).stream("Buy"))
    item = await notebook.question()
    shown_text, edited = Page(item["html"]).text, item["question"]["arguments"]
    for each in (shown_text, edited):
        assert "Bob\\u202e\\u200b\\u2066\\u2028\\udb40\\udc41<script>" in each and "\\u001b[31m" in each
        assert all(letter.isprintable() or letter == "\n" for letter in each)
        assert "x" * 9000 in each, "what the user decides about is all there"
    notebook.click(do="run", number=item["question"]["number"], text=edited)
    assert "paid 1" in (await shown).messages[-2].to_json()["content"]
    assert "changed" not in (await shown).messages[-2].to_json()["content"], "what was not edited is the same"


async def test_a_call_and_the_turn_are_cancelled(mock_llm: Start, notebook: Notebook) -> None:
    mock = mock_llm(calls(("wait", {})), calls(("wait", {})))
    shown = show(agent_of(mock, wait).stream("Go"))

    async def running(count: int) -> Any:
        while True:
            cards = [item for item in notebook.widget.items if "<details" in item["html"]]
            if len(cards) == count and "executing" in cards[-1]["html"]:
                return cards[-1]["call"]
            await asyncio.sleep(0)

    call = await running(1)
    assert call["name"] == "wait"
    notebook.click(do="cancel_call", call=call["id"])
    await running(2)
    notebook.click(do="cancel")
    finished = await shown
    assert finished.stop_reason != "complete"
    # What comes too late, or is no click, changes nothing.
    late: list[Any] = [{"do": "cancel_call", "call": "x"}, {"do": "run", "number": 99}, {"do": []}, {}, "nonsense"]
    for content in late:
        notebook.screens[0].clicked(content)


async def test_changes_are_sent_once_the_page_is_there(
    mock_llm: Start, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(TurnWidget, "send", lambda self, content: sent.append(content))
    monkeypatch.setattr(TurnWidget, "send_state", lambda self, key=None: sent.append(key))
    mock = mock_llm(calls(("pay", {"amount": 900}), say="Well."), text("Paid."))
    shown = show(agent_of(mock, pay).stream("Buy"))
    number = (await notebook.question())["question"]["number"]
    assert [each for each in sent if isinstance(each, dict)] == []
    notebook.click(do="show")
    sent.clear()
    notebook.click(do="run", number=number, click="c1")
    await shown
    assert {"took": "c1"} in sent
    patches = [each for each in sent if isinstance(each, dict) and "patch" in each]
    changed = {at for each in patches for at, _ in each["patch"]}
    assert changed == {1, 2, 3}, "the text before the call was not sent again"
    assert sent.count("items") == 1, "but for once at the end, whole"


async def test_pictures_of_tools_are_shown_as_they_come(mock_llm: Start, notebook: Notebook) -> None:
    @tool
    def paint() -> Parts:
        """Paints."""
        at = {"type": "image", "source": {"type": "url", "value": "https://x/<b>"}}
        script = {"type": "image", "source": {"type": "data", "value": PICTURE, "mimeType": "image/svg+xml"}}
        broken = {"type": "image", "source": {"type": "data", "value": '"><b>', "mimeType": "image/png"}}
        good = {"type": "image", "source": {"type": "data", "value": PICTURE, "mimeType": "image/png"}}
        return Parts([{"type": "text", "text": "here"}, at, script, broken, good])

    mock = mock_llm(calls(("paint", {})), calls(("wait", {})), text("Done."))
    shown = show(agent_of(mock, paint, wait).stream("Go"))
    while "<img" not in notebook.widget.items[0]["html"] if notebook.widget.items else True:
        await asyncio.sleep(0)
    notebook.click(do="cancel")
    await shown
    html = notebook.widget.items[0]["html"]
    assert is_harmless(html) and html.count("<img") == 1 and f"data:image/png;base64,{PICTURE}" in html
    assert "[picture at https://x/<b>]" in Page(html).text


async def test_a_widget_that_is_not_shown_says_so(
    mock_llm: Start, notebook: Notebook, caplog: pytest.LogCaptureFixture
) -> None:
    mock = mock_llm(calls(("pay", {"amount": 1})), text("Paid."))
    turn = agent_of(mock, pay).stream("Buy")
    with caplog.at_level(logging.WARNING, "stepwell"):
        while "pay waits to be allowed" not in caplog.text:
            await asyncio.sleep(0)
    shown = show(turn)
    notebook.click(do="run", number=(await notebook.question())["question"]["number"])
    assert (await shown).stop_reason == "complete"


async def test_without_a_notebook_the_answer_is_no(mock_llm: Start) -> None:
    mock = mock_llm(calls(("pay", {"amount": 1})), text("Oh."))
    finished = await agent_of(mock, pay).stream("Buy")._finish()
    assert "no notebook with widgets" in str(finished.messages[-2])


async def test_how_long_a_tool_takes_is_told(mock_llm: Start) -> None:
    now = [0.0]
    view = TurnCard(clock=lambda: now[0])
    mock = mock_llm(calls(("wait", {})))
    turn = agent_of(mock, wait).stream("Go")
    while not view.is_waiting():
        for event in await turn.more():
            view.apply(event)
    assert "executing<" in view.to_html()
    now[0] = 65.4
    assert "executing, 1 min 5 s<" in view.to_html()
    turn.cancel()
    async for event in turn.updates(raise_on_error=False):
        view.apply(event)
    assert "cancelled, 1 min 5 s<" in view.to_html() and not view.is_waiting()


def test_a_view_is_drawn_less_often_the_more_it_takes() -> None:
    now = [0.0]
    pace = screens.Pace(lambda: now[0])
    assert pace.patience(False) is None and pace.patience(True) == 1.0
    assert not pace.came() and pace.patience(True) == pytest.approx(0.1)
    now[0] = 0.1
    assert pace.came()
    pace.drawing()
    pace.drew(1_000_000)
    assert not pace.came() and pace.patience(True) == pytest.approx(2.0)
    pace.drawing()
    now[0] = 0.2
    pace.drew(0)
    assert not pace.came() and pace.patience(True) == pytest.approx(0.3)


async def test_the_timeline_and_its_plot(mock_llm: Start) -> None:
    mock = mock_llm(
        {**calls(("wait", {})), "usage": {"input": 10, "output": 3}},
        {"steps": [{"pause_ms": 50}, {"text": "Well."}], "usage": {"input": 20, "output": 4}},
    )
    turn = agent_of(mock, wait).stream("Go")
    turn.plot()
    async for event in turn:
        if isinstance(event, ToolCallUpdate) and event.status is ToolCallStatus.EXECUTING:
            assert [span.end is None for span in turn.timeline] == [False, True]
            turn.plot()
            await turn.cancel_call(event.tool_call_id)
    await turn._finish()
    spans = turn.timeline
    assert [(span.kind, span.name, span.hop) for span in spans] == [
        ("model", "hop 0", 0), ("tool", "wait", 0), ("model", "hop 1", 1),
    ]
    assert all(span.seconds is not None and span.seconds >= 0 for span in spans)
    costs = [(span.usage.input_tokens, span.usage.output_tokens) for span in spans if span.usage]
    assert costs == [(10, 3), (20, 4)]
    plot = turn.plot()
    assert [label.get_text() for label in plot.axes[0].get_yticklabels()] == ["hop 0", "wait", "hop 1"]
    assert plot._repr_png_().startswith(b"\x89PNG")


async def test_a_turn_that_nobody_watched_has_no_plot(mock_llm: Start) -> None:
    turn = agent_of(mock_llm(text("Well."))).stream("Go")
    await turn.result()
    assert turn.timeline == []
    with pytest.raises(MisuseError, match="nothing to plot"):
        turn.plot()


def test_show_names_what_is_wrong() -> None:
    with pytest.raises(MisuseError, match="`turn` of `show`"):
        show("Hi")  # type: ignore[call-overload]
