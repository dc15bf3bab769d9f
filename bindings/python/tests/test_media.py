"""Pictures, sound and documents: what the user shows, and what tools give."""

from __future__ import annotations

import base64
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import MockLlm, calls, text

from stepwell import Agent, MisuseError, ToolContext, audio, document, file, image, tool, video
from stepwell.media import ContentPart, Parts

Start = Callable[..., MockLlm]

PNG = b"\x89PNG\r\n\x1a\n"
URL = "data:image/png;base64," + base64.b64encode(PNG).decode()
SHOWN = {"type": "image_url", "image_url": {"url": URL}}


def agent(mock: MockLlm, *tools: Any) -> Agent[Any, Any]:
    return Agent(mock.model, tools=tools)


def said(mock: MockLlm, number: int = 0) -> Any:
    """What the last message of a request says."""
    return mock.requests()[number]["body"]["messages"][-1]["content"]


class Image:
    """Stands for PIL's."""

    mode = "RGB"

    def save(self, fp: Any, format: str | None = None, **params: Any) -> None:
        assert format == "PNG"
        fp.write(PNG)


@pytest.fixture
def pil(monkeypatch: pytest.MonkeyPatch) -> Image:
    """A picture of PIL's, as far as it is looked at."""
    module = types.ModuleType("PIL.Image")
    module.Image = Image  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "PIL.Image", module)
    return Image()


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "shark.png"
    path.write_bytes(PNG)
    return path


def test_a_picture_comes_of_a_path_an_address_bytes_or_pil(picture: Path, pil: Image) -> None:
    source = {"type": "data", "value": base64.b64encode(PNG).decode(), "mimeType": "image/png"}
    assert image(PNG) == {"type": "image", "source": source}
    assert image(picture) == image(str(picture)) == {**image(PNG), "metadata": {"filename": "shark.png"}}
    assert image(pil) == image(bytearray(PNG)) == image(URL) == image(PNG)
    assert image("https://a/b.jpg")["source"] == {"type": "url", "value": "https://a/b.jpg", "mimeType": "image/jpeg"}


def test_the_other_kinds(tmp_path: Path) -> None:
    assert audio(b"RIFF\0\0\0\0WAVE")["source"]["mimeType"] == "audio/wav"
    assert video("https://a/b.mp4")["type"] == "video"
    assert document("Tea".encode(), name="tea.md")["source"]["mimeType"] == "text/markdown"
    assert document(b"\x01\xff", media_type="application/pdf")["source"]["mimeType"] == "application/pdf"
    assert file("file-1")["type"] == "document"
    stored = {"type": "file", "value": "file-1", "provider": "openai", "mimeType": "image/png"}
    assert file("file-1", provider="openai", media_type="image/png") == {"type": "image", "source": stored}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: image("no/such.png"), "`no/such.png` cannot be read"),
        (lambda: image(b""), "the image has no bytes"),
        (lambda: image(b"\x01\xff\x00"), "of what media type it is; say it"),
        (lambda: audio(PNG), "image/png is no audio; give it as `image`"),
        (lambda: image("ftp://a/b.png"), "an address that begins with `ftp:`"),
        (lambda: image(PNG, media_type="png"), "`png` is no media type"),
        (lambda: image(5), "`source` of `image` is of the type int"),  # type: ignore[arg-type]
        (lambda: file(5), "`id` of `file` is of the type int"),  # type: ignore[arg-type]
        (lambda: Parts([5]), "a part of `Parts` is of the type int"),  # type: ignore[list-item]
    ],
)
def test_what_is_none_is_told_at_once(make: Callable[[], object], words: str) -> None:
    with pytest.raises(MisuseError) as raised:
        make()
    assert words in str(raised.value)


async def test_texts_and_media_are_sent_in_order(mock_llm: Start, pil: Image) -> None:
    mock = mock_llm(text("Both."), text("It."))
    sharks = agent(mock)
    assert (await sharks.stream("Is", image(PNG), "like", pil).result()).text == "Both."
    words = [{"type": "text", "text": each} for each in ("Is", "like")]
    assert said(mock) == [words[0], SHOWN, words[1], SHOWN]
    await sharks.stream(image(PNG)).result()
    assert said(mock, 1) == [SHOWN]
    with pytest.raises(MisuseError, match="is of the type int"):
        sharks.stream("Is", 5)  # type: ignore[call-overload]


async def test_what_the_provider_does_not_take_is_not_sent(mock_llm: Start) -> None:
    mock = mock_llm(text("never"))
    finished = await agent(mock).stream("Listen", audio(b"RIFF\0\0\0\0WAVE"))._finish()
    assert finished.outcome.problem is not None
    assert "openai-compatible does not take what is attached (audio)" in finished.outcome.problem.message
    assert "it takes image (data, url)" in finished.outcome.problem.message
    assert mock.requests() == []


def test_tools_give_pictures(mock_llm: Start, pil: Image) -> None:
    @tool
    def draw() -> ContentPart:
        return image(PNG)

    @tool
    async def paint(context: ToolContext[None]) -> Any:
        return "Two:", pil, image(PNG)

    mock = mock_llm(calls(("draw", {}), ("paint", {})), text("Nice."))
    assert agent(mock, draw, paint).run_sync("Draw").text == "Nice."
    sent = mock.requests()[1]["body"]["messages"]
    assert [part for message in sent for part in message["content"] or () if isinstance(part, dict)].count(SHOWN) == 3
    assert any("Two:" in str(message["content"]) for message in sent if message["role"] == "tool")


def test_a_figure_is_made_a_picture(mock_llm: Start) -> None:
    figures = pytest.importorskip("matplotlib.figure")

    @tool
    def plot() -> Any:
        """Plots."""
        figure = figures.Figure()
        figure.add_subplot().plot([1, 2])
        return figure

    mock = mock_llm(calls(("plot", {})), text("It rises."))
    assert agent(mock, plot).run_sync("Plot").text == "It rises."
    assert "data:image/png;base64,iVBOR" in str(mock.requests()[1]["body"])


def test_a_tools_figures_are_closed(mock_llm: Start) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    kept, _ = pyplot.subplots()

    @tool
    def plot() -> Any:
        """Plots."""
        one, _ = pyplot.subplots()
        two, _ = pyplot.subplots()
        return "Two:", one, two

    @tool
    async def plot_one() -> Any:
        """Plots."""
        figure, _ = pyplot.subplots()
        return figure

    mock = mock_llm(calls(("plot", {}), ("plot_one", {})), text("They rise."))
    assert agent(mock, plot, plot_one).run_sync("Plot").text == "They rise."
    assert str(mock.requests()[1]["body"]).count("data:image/png;base64,iVBOR") == 3
    # The app's own stay.
    assert pyplot.get_fignums() == [kept.number]
    pyplot.close(kept)
