"""The chat screens of a scenario's runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from stepwell import Transcript, UserMessage
from stepwell.chat import ActivityPart, ChatMessage, ChatPart, ChatReducer, MediaPart, ReasoningPart, TextPart, ToolPart
from stepwell.machine import Outputs, RunMachine
from stepwell.messages import message_from_json


class Screens:
    """The screens, by the names of their runs."""

    def __init__(self) -> None:
        self._screens: dict[str, ChatReducer] = {}

    def begin(self, name: str, messages: list[dict[str, Any]]) -> None:
        """Begins the screen of a run on a history."""
        self._screens[name] = ChatReducer.from_messages(Transcript.from_json(messages))

    def _screen(self, name: str) -> ChatReducer:
        if name not in self._screens:
            self.begin(name, [])
        return self._screens[name]

    def act(self, name: str, step: dict[str, Any], now: datetime) -> None:
        """Notes an action of the app that the run took."""
        screen = self._screen(name)
        match step["input"]:
            case "start":
                turn = step["run_id"]
                message: Any = None
                if "say" in step:
                    message = UserMessage(step["say"], id=f"{turn}-user")
                elif "message" in step:
                    message = message_from_json(step["message"])
                screen.begin(turn, message, now=now)
            case "steer":
                screen.steer(UserMessage(step["say"], id=step["message_id"]))

    def resume(self, name: str) -> None:
        """Continues the screen of a run."""
        self._screen(name).resume()

    def take(self, name: str, came: Iterable[Outputs], now: datetime) -> None:
        """Takes the outputs of a run."""
        screen = self._screen(name)
        for outputs in came:
            screen.apply(outputs.events, now=now)

    def shown(self, runs: dict[str, RunMachine]) -> dict[str, Any]:
        """What the screens show."""
        return {name: _shown(self._screens[name], run) for name, run in runs.items() if name in self._screens}


def _shown(screen: ChatReducer, run: RunMachine) -> dict[str, Any]:
    screen.set_usage(run.usage)
    state = screen.state
    shown: dict[str, Any] = {"status": _camel(state.status.value)}
    if waiting := [each.id for each in state.pending] + [each.id for each in state.interrupts]:
        shown["pending"] = waiting
    if state.problem is not None:
        shown["problem"] = _camel(state.problem.kind.value)
    shown["lines"] = [line for message in state.messages for line in _lines(message)]
    return shown | {"digest": screen.digest()}


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)


def _lines(message: ChatMessage) -> list[str]:
    """The parts of a message in a line each."""
    role = message.role.value
    lines = [f"{role}: {_line(part)}" for part in message.parts]
    return [*lines, f"{role}: (cut)"] if message.is_cut else lines


def _line(part: ChatPart) -> str:
    match part:
        case TextPart():
            return part.text
        case ReasoningPart():
            return f"(reasoning) {part.text}"
        case ToolPart(card=card):
            said = card.failure if card.result is None else card.result
            return f"[{card.label} {_camel(card.status.value)}" + ("]" if said is None else f": {said}]")
        case MediaPart():
            return f"[{part.media.json['type']}]"
        case ActivityPart():
            return f"[{part.activity_type}]"
    raise TypeError(part)
