"""What a turn has come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal

from ._types import Out
from .messages import AssistantMessage, Transcript

if TYPE_CHECKING:
    from .outcomes import Finished, TokenUsage


StopReason = Literal[
    "complete",
    "length",
    "content_filter",
    "refusal",
    "limit",
    "empty",
    "limit_reached",
    "cancelled",
    "truncated",
    "failed",
]
"""Why a turn ended. All but ``complete`` are those of an error's ``result``: ``length`` is the model's limit of tokens,
``limit`` one of the agent's or the provider's own, and ``limit_reached`` one of the turn's."""


@dataclass(frozen=True)
class TurnResult(Generic[Out]):
    """A turn that is over, or what there was of it when it failed: the ``result`` of a ``StepwellError``."""

    output: Out
    """The answer: of the type that was asked for; the text of the last message where none was. In the result of an error
    it is ``None``."""
    text: str
    """The text of the model's last message."""
    full_text: str
    """All that the model said in the turn, as it was shown: with a line break between the texts before and after tool
    calls."""
    messages: Transcript
    """The conversation after the turn."""
    usage: TokenUsage
    """The tokens of the turn and what they cost, over all its hops."""
    stop_reason: StopReason
    """Why the turn ended."""
    hops: int
    """How many requests to the model the turn took."""
    problem: str | None = None
    """Why there is no complete answer, in a sentence; ``None`` if there is one."""

    @property
    def cost(self) -> float | None:
        """What the turn cost, in US dollars; ``None`` if the price is not known."""
        return self.usage.cost

    def __repr__(self) -> str:
        return f"TurnResult(stop_reason={self.stop_reason!r}, hops={self.hops}, usage={self.usage!r})"

    def _repr_markdown_(self) -> str:
        """Returns the turn, for a notebook."""
        from .display import TurnCard

        return TurnCard.of_result(self).to_markdown()

    def _ipython_display_(self) -> None:
        from .screens import display_once

        display_once(self)


def result_of(finished: Finished, output: Any, *, is_text: bool) -> TurnResult[Any]:
    """Converts the end of a turn; where the answer is text, the output is that text."""
    messages = Transcript.from_json(finished.messages)
    text = last_text(messages)
    problem = finished.outcome.problem
    return TurnResult(
        output=text if is_text and problem is None else output,
        text=text,
        full_text=finished.text,
        messages=messages,
        usage=finished.usage,
        stop_reason=_stop_reason(finished),
        hops=finished.hops,
        problem=None if problem is None else problem.message,
    )


def last_text(messages: Transcript) -> str:
    """Returns the text of the model's last message since the user's."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return message.text
        if message.role == "user":
            break
    return ""


def _stop_reason(finished: Finished) -> StopReason:
    from .outcomes import Cancelled, Incomplete, LimitReached, Success, Truncated

    match finished.outcome:
        case Success():
            return "complete"
        case Incomplete(reason=reason):
            return reason.value
        case LimitReached():
            return "limit_reached"
        case Cancelled():
            return "cancelled"
        case Truncated():
            return "truncated"
    return "failed"
