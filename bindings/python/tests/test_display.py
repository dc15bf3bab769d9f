"""What a notebook and a terminal show, also of hostile text."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import MockLlm, calls, text
from hypothesis import given
from hypothesis import strategies as st

from stepwell import Agent, AssistantMessage, ConnectionFailedError, ToolError, Transcript, UserMessage, show, tool
from stepwell.display import TurnCard
from stepwell.messages import Message, ReasoningMessage, ToolResult, message_from_json
from stepwell.testing import play
from stepwell.testing.strategies import turns
from stepwell.updates import ErrorKind, Event, Retrying, TextMessageStart, TextUpdate, WarningUpdate

Start = Callable[..., MockLlm]

HOSTILE = "<script>alert(1)</script><img src=x onerror='x()'>\"'&\x1b[31m\x1b]0;title\x07\u202egnp.exe</pre></details>"


class Page(HTMLParser):
    """What a browser makes of HTML: the elements, with their attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.text = ""
        self.depth = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.addresses.update(str(value).partition(":")[0] for name, value in attrs if name in ("href", "src"))
        self.depth += tag not in VOID

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1

    def handle_data(self, data: str) -> None:
        self.text += data


VOID = {"br", "hr", "img"}
OURS = {"div", "details", "summary", "code", "span", "pre", "ul", "li", "img"}
OF_MARKDOWN = {
    *("a", "blockquote", "br", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "ol", "p", "s", "strong"),
    *("table", "tbody", "td", "th", "thead", "tr"),
}
ATTRIBUTES = {"class", "style", "dir", "open", "alt", "src", "href", "target", "rel", "start"}


def is_harmless(html: str) -> bool:
    page = Page(html)
    return (
        page.elements <= OURS | OF_MARKDOWN
        and page.attributes <= ATTRIBUTES
        and page.addresses <= {"data", "http", "https", "mailto"}
        and page.depth == 0
    )


def view_of(events: list[Event]) -> TurnCard:
    view = TurnCard()
    for event in events:
        view.apply(event)
    return view


@tool
def look(what: str = "") -> str:
    """Looks something up."""
    return what


def fails(invocation: object) -> str:
    raise ToolError("no luck")


def test_a_turn_has_text_cards_and_trouble() -> None:
    hops = (
        {"steps": [{"reasoning": "Hm."}, {"text": "Let me see."}, {"tool_call": {"name": "look", "arguments": {"what": "x"}}}]},
        {"steps": [{"text": "It is x."}, "cut"]},
    )
    view = view_of(play(*hops, tools=[look], answer=lambda call: call.arguments["what"] + " is x").events)
    lines = view.to_text().splitlines()
    assert lines[:4] == ["(Hm.)", "Let me see.", '✓ look {"what":"x"} → x is x', "It is x."]
    assert lines[4].startswith("[")
    page = Page(view.to_html())
    assert all(said in page.text for said in ("Hm.", "Let me see.", "completed", '"what": "x"', "x is x", "It is x."))


def test_a_retry_is_shown_until_the_answer_comes_and_a_warning_stays() -> None:
    view = view_of([Retrying(kind=ErrorKind.OVERLOADED, attempt=1, delay=0.5, reason="busy"), WarningUpdate("odd")])
    warning, retry = view.to_text().splitlines()
    assert warning == "[odd]" and retry.startswith("[try 1 at ") and retry.endswith(": busy]")
    view.apply(TextMessageStart("m"))
    view.apply(TextUpdate("m", "Hi."))
    assert view.to_text().splitlines() == ["Hi.", "[odd]"]


def test_a_tool_that_fails_says_so() -> None:
    view = view_of(play(calls(("look", {})), text("Oh."), tools=[look], answer=fails).events)
    assert "✗ look {} → no luck" in view.to_text()
    assert "failed" in Page(view.to_html()).text


def test_hostile_text_is_shown_as_text_everywhere() -> None:
    hops = (
        {"steps": [{"reasoning": HOSTILE}, {"text": HOSTILE}, {"tool_call": {"name": "look", "arguments": {"what": HOSTILE}}}]},
        calls((HOSTILE, HOSTILE)),
        {"steps": [{"error_event": HOSTILE}]},
    )
    turn = play(*hops, tools=[look], answer=lambda call: HOSTILE)
    for view in (view_of(turn.events), TurnCard.of_messages(Transcript.from_json(turn.messages))):
        html = view.to_html()
        assert is_harmless(html)
        assert Page(html).text.count("<script>alert(1)</script>") >= 4
        for shown in (html, view.to_text()):
            assert not {"\x1b", "\x07", "\u202e"} & set(shown)
            assert "\\x1b" in shown


@given(turns().map(lambda turn: turn.events))
def test_no_turn_breaks_the_page(events: list[Event]) -> None:
    view = view_of(events)
    assert is_harmless(view.to_html())
    assert all(letter.isprintable() or letter in "\n\t" or ord(letter) > 0x9F for letter in view.to_text())


_said = st.text()
_messages = st.one_of(
    st.builds(UserMessage, _said),
    st.builds(AssistantMessage, _said),
    st.builds(ReasoningMessage, _said),
    st.builds(ToolResult, _said, _said),
    st.builds(lambda text: message_from_json({"id": text, "role": "x", "content": text}), _said),
)


@given(st.lists(_messages))
def test_no_conversation_breaks_the_page(messages: list[Message]) -> None:
    assert is_harmless(TurnCard.of_messages(messages).to_html())


def test_a_long_result_is_cut() -> None:
    view = view_of(play(calls(("look", {})), tools=[look], answer=lambda call: "x" * 100_000).events)
    assert "… and 96,000 characters more" in view.to_text()
    assert len(view.to_html()) < 10_000


def test_a_call_id_that_comes_twice_is_two_cards() -> None:
    hop = {"steps": [{"tool_call": {"name": "look", "id": "c1", "arguments": {"what": "a"}}}]}
    view = view_of(play(hop, hop, tools=[look], answer=lambda call: f"hop {call.call.hop}").events)
    assert [line.rpartition(" → ")[2] for line in view.to_text().splitlines()[:2]] == ["hop 0", "hop 1"]


def test_a_tools_card() -> None:
    @tool(description=HOSTILE)
    def find(text: str, limit: int = 3) -> None: ...

    bundle = find._repr_mimebundle_()
    assert is_harmless(bundle["text/html"])
    assert "limit (integer, optional)" in bundle["text/plain"]


def test_finished_turns_and_agents_show_themselves(mock_llm: Start) -> None:
    mock = mock_llm(calls(("look", {"what": "x"})), {"steps": [{"text": "Half"}, "end_early"]})
    agent = Agent(mock.model, tools=[look]).conversation()
    with pytest.raises(ConnectionFailedError) as failed:
        agent.send_sync("Go <b>on</b>")
    assert failed.value.result is not None
    assert TurnCard.of_result(failed.value.result).to_text().splitlines() == [
        '✓ look {"what":"x"} → x',
        "Half",
        "[the stream ended before the answer did]",
    ]
    shown = agent._repr_mimebundle_()
    assert shown["text/plain"].startswith("> Go <b>on</b>\n")
    assert is_harmless(shown["text/markdown"]) and "Go <b>on</b>" in Page(shown["text/markdown"]).text


@pytest.mark.parametrize(
    ("said", "markdown"),
    [
        ("**Well** `a < b`", "**Well** `a < b`"),
        ("<img src=x> ![cat](http://x/y) <!-- -->", "&lt;img src=x> !\\[cat](http://x/y) &lt;!-- -->"),
        ("```html\n<b>\n```\n<b>", "```html\n<b>\n```\n&lt;b>"),
        ("````\n```\n<b>\n````", "````\n```\n<b>\n````"),
        ("```\n<b>", "```\n<b>\n```"),
        # Where it is not certain what is code, nothing is.
        ("- ```\n  x\n  ```\n```\n<b>", "- ```\n  x\n  ```\n```\n&lt;b>"),
        ("~~~`\n~~~\n<b>", "~~~`\n~~~\n&lt;b>"),
    ],
)
def test_markdown_of_the_model_is_rendered_without_html_and_images(said: str, markdown: str) -> None:
    assert TurnCard.of_messages([AssistantMessage(said)]).to_markdown() == markdown


def test_a_result_of_several_lines_is_one_block_of_html() -> None:
    view = view_of(play(calls(("look", {})), text("Well"), tools=[look], answer=lambda call: "a\n\n![x](http://y)").events)
    card, said = view.to_markdown().split("\n\n")
    assert card.startswith("<details") and "a&#10;&#10;![x](http://y)" in card and said == "Well"


async def test_in_a_terminal_text_comes_as_it_streams(mock_llm: Start) -> None:
    mock = mock_llm(calls(("look", {"what": "x\x1b[2J"}), say="Well\x1b[31m"), text("It is x."), repeat=True)
    agent = Agent(mock.model, tools=[look])
    screen = io.StringIO()
    assert (await show(agent.stream("Go"), file=screen)).stop_reason == "complete"
    expected = 'Well\\x1b[31m\n✓ look {"what":"x\\u001b[2J"} → x\\x1b[2J\nIt is x.\n'
    assert screen.getvalue() == expected
    again = io.StringIO()
    assert show(agent.stream_sync("Go"), file=again).stop_reason == "complete"
    assert again.getvalue() == expected


async def test_in_a_notebook_one_output_grows(mock_llm: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def display(view: TurnCard, display_id: bool) -> Any:
        assert display_id
        drawn.append(view.to_markdown())
        return SimpleNamespace(update=lambda bundle, raw: drawn.append(bundle["text/markdown"]))

    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    seen_before_the_end = []

    @tool(name="look")
    async def looking(what: str) -> str:
        # A drawing comes though no event does: what has streamed is not held back.
        while not any("Let me see" in html for html in drawn):
            await looking_again()
        seen_before_the_end.append(drawn[-1])
        return "found"

    async def looking_again() -> None:
        import asyncio

        await asyncio.sleep(0)

    mock = mock_llm(calls(("look", {"what": "x"}), say="Let me see."), text("Done."))
    agent = Agent(mock.model, tools=[looking])
    assert (await show(agent.stream("Go"), widget=False)).stop_reason == "complete"
    assert "Done." not in seen_before_the_end[0]
    assert "Done." in drawn[-1] and "found" in drawn[-1]
    assert all(map(is_harmless, drawn))
