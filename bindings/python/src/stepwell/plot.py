"""A turn as a picture: when the model and the tools worked, and how many tokens each hop took."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .cards import exact
from .errors import MisuseError
from .timeline import Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes

try:
    from matplotlib.figure import Figure
except ImportError:
    raise MisuseError(
        "`plot` draws with matplotlib, which is not installed here", "pip install 'stepwell[notebook]'"
    ) from None

_COLOURS = {"model": "#0969da", "approval": "#bf8700", "tool": "#1a7f37", "input": "#54aeff", "output": "#8250df"}


class TurnPlot(Figure):
    """matplotlib's figure, which a notebook shows itself."""

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=144)
        return picture.getvalue()


def plot_of(spans: Sequence[Span], now: float) -> TurnPlot:
    """Draws the picture. Spans that continue are drawn up to ``now``."""
    hops = [span for span in spans if span.kind == "model"]
    figure = TurnPlot(figsize=(9, 2.2 + 0.28 * (len(spans) + len(hops))), layout="constrained")
    times, tokens = figure.subplots(2, 1, height_ratios=[len(spans) + 1, len(hops) + 1])
    for kind in ("model", "approval", "tool"):
        rows = [row for row, span in enumerate(spans) if span.kind == kind]
        starts = [spans[row].start for row in rows]
        widths = [_end(spans[row], now) - spans[row].start for row in rows]
        _bars(times, kind, rows, starts, widths)
    _finish(times, "seconds", spans, [_time(_end(span, now) - span.start) for span in spans])
    inputs = [_count(span, "input_tokens") for span in hops]
    outputs = [_count(span, "output_tokens") for span in hops]
    _bars(tokens, "input", range(len(hops)), [0] * len(hops), inputs)
    _bars(tokens, "output", range(len(hops)), inputs, outputs)
    sums = ["not known" if span.usage is None else f"{a + b:,}" for span, a, b in zip(hops, inputs, outputs)]
    _finish(tokens, "tokens", hops, sums)
    return figure


def _bars(axes: Axes, name: str, rows: Sequence[int], starts: Sequence[float], widths: Sequence[float]) -> None:
    if rows:
        axes.barh(rows, widths, left=starts, height=0.7, color=_COLOURS[name], label=name)


def _finish(axes: Axes, unit: str, spans: Sequence[Span], labels: Sequence[str]) -> None:
    """Names the rows, the first on top, and writes their lengths next to the bars."""
    # A tool's name is no formula.
    plain: dict[str, Any] = {"parse_math": False}
    axes.set_yticks(range(len(spans)), [exact(span.name) for span in spans], **plain)
    ends = {row: 0.0 for row in range(len(spans))}
    for bar in axes.patches:
        row = round(bar.get_y() + bar.get_height() / 2)  # type: ignore[attr-defined]
        ends[row] = max(ends[row], bar.get_x() + bar.get_width())  # type: ignore[attr-defined]
    for row, label in enumerate(labels):
        axes.annotate(label, (ends[row], row), xytext=(4, 0), textcoords="offset points", va="center")
    axes.invert_yaxis()
    # Room for the text next to the longest bar.
    axes.set_xlim(0, 1.15 * max(ends.values(), default=0.0) or 1.0)
    axes.set_xlabel(unit)
    if axes.patches:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def _end(span: Span, now: float) -> float:
    return now if span.end is None else span.end


def _count(span: Span, field: str) -> int:
    return (getattr(span.usage, field) or 0) if span.usage else 0
