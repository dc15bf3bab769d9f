"""The messages of a conversation, as types with cases, and the conversation as a collection of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, overload

from ._record import Json
from .errors import MisuseError

__all__ = [
    "ActivityMessage",
    "AssistantMessage",
    "DeveloperMessage",
    "Message",
    "ReasoningMessage",
    "SystemMessage",
    "ToolCall",
    "ToolResult",
    "Transcript",
    "UnknownMessage",
    "UserMessage",
]


def _new_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Message:
    """A message of a conversation; its subclasses are the cases, which ``match`` tells apart."""

    _role: ClassVar[str]
    _: KW_ONLY
    id: str = field(default_factory=_new_id)
    """The message's id; a random one if left out."""
    extra: Mapping[str, Json] = field(default_factory=dict, repr=False)
    """The message's further fields in AG-UI's JSON, such as ``metadata``."""

    @property
    def role(self) -> str:
        """The role, as AG-UI names it."""
        return self._role

    if TYPE_CHECKING:
        # A property here would be the default of the fields with this name.
        @property
        def text(self) -> str:
            """The text of the message; empty if it has none."""

    def _fields(self) -> dict[str, Json]:
        raise NotImplementedError

    def to_json(self) -> dict[str, Json]:
        """Returns the message as AG-UI has it in JSON."""
        return {"id": self.id, "role": self.role, **self._fields(), **self.extra}


@dataclass(frozen=True)
class UserMessage(Message):
    """What the user said: ``UserMessage("Hi")``, or texts and media in order."""

    _role: ClassVar[str] = "user"
    content: str | Sequence[str | Mapping[str, Json]]
    """A text; or texts and parts in AG-UI's JSON, which ``image`` and the like make."""

    @property
    def text(self) -> str:
        """The texts of the message."""
        return _text(self.content)

    def _fields(self) -> dict[str, Json]:
        return {"content": self.content if isinstance(self.content, str) else [_part(part) for part in self.content]}


@dataclass(frozen=True)
class SystemMessage(Message):
    """An instruction in the conversation, in addition to the agent's own."""

    _role: ClassVar[str] = "system"
    text: str
    """The instruction."""

    def _fields(self) -> dict[str, Json]:
        return {"content": self.text}


@dataclass(frozen=True)
class DeveloperMessage(SystemMessage):
    """A ``SystemMessage`` with the role that some providers name ``developer``."""

    _role: ClassVar[str] = "developer"


@dataclass(frozen=True)
class ToolCall:
    """A call that the model asks for: ``ToolCall("get_weather", {"city": "Bergen"})``."""

    name: str
    """The tool's name."""
    arguments: Json = field(default_factory=dict)
    """The arguments; the model's own text if it is not valid JSON."""
    _: KW_ONLY
    id: str = field(default_factory=_new_id)
    """The provider's id for the call; a random one if left out."""
    extra: Mapping[str, Json] = field(default_factory=dict, repr=False)
    """Further fields in AG-UI's JSON."""
    written: str | None = field(default=None, repr=False, compare=False)
    """The arguments as the model wrote them."""

    def to_json(self) -> dict[str, Json]:
        """Returns the call as AG-UI has it in JSON."""
        arguments = self.written
        if arguments is None:
            arguments = self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": arguments}, **self.extra}

    @classmethod
    def from_json(cls, call: Mapping[str, Json]) -> ToolCall:
        """Reads a call from AG-UI's JSON."""
        given = dict(call)
        function = given.pop("function")
        given.pop("type", None)
        written = function.get("arguments", "")
        try:
            arguments: Json = json.loads(written)
        except ValueError:
            arguments = written
        return cls(function["name"], arguments, id=given.pop("id"), extra=given, written=written)


@dataclass(frozen=True)
class AssistantMessage(Message):
    """What the model said, and the calls that it asked for."""

    _role: ClassVar[str] = "assistant"
    text: str = ""
    """The text; empty if the model only asked for calls."""
    tool_calls: Sequence[ToolCall] = ()
    """The calls, in order."""

    def _fields(self) -> dict[str, Json]:
        fields: dict[str, Json] = {"content": self.text} if self.text or not self.tool_calls else {}
        return fields | ({"toolCalls": [call.to_json() for call in self.tool_calls]} if self.tool_calls else {})


@dataclass(frozen=True)
class ToolResult(Message):
    """The result of a call, for the model."""

    _role: ClassVar[str] = "tool"
    tool_call_id: str
    """The call's id."""
    content: str | Sequence[str | Mapping[str, Json]] = ""
    """The result: a text, or parts."""
    error: str | None = None
    """Why the call failed; ``None`` if it did not."""

    @property
    def text(self) -> str:
        """The texts of the result."""
        return _text(self.content)

    def _fields(self) -> dict[str, Json]:
        content = self.content if isinstance(self.content, str) else [_part(part) for part in self.content]
        fields: dict[str, Json] = {"toolCallId": self.tool_call_id, "content": content}
        return fields if self.error is None else fields | {"error": self.error}


@dataclass(frozen=True)
class ReasoningMessage(Message):
    """The model's reasoning, as far as the provider shows it."""

    _role: ClassVar[str] = "reasoning"
    text: str = ""
    """The reasoning."""

    def _fields(self) -> dict[str, Json]:
        return {"content": self.text}


@dataclass(frozen=True)
class ActivityMessage(Message):
    """What an AG-UI agent shows of its work."""

    _role: ClassVar[str] = "activity"
    activity_type: str
    """The kind of activity, in the agent's words."""
    content: Json = None
    """The activity: any JSON."""

    @property
    def text(self) -> str:
        """No text: an activity is shown in another form."""
        return ""

    def _fields(self) -> dict[str, Json]:
        return {"activityType": self.activity_type, "content": self.content}


@dataclass(frozen=True)
class UnknownMessage(Message):
    """A message of a role that this version does not know."""

    unknown_role: str
    """The role."""

    @property
    def role(self) -> str:
        """The role."""
        return self.unknown_role

    @property
    def text(self) -> str:
        """No text that is known."""
        return ""

    def _fields(self) -> dict[str, Json]:
        return {}


_TEXTS: dict[str, Any] = {"system": SystemMessage, "developer": DeveloperMessage, "reasoning": ReasoningMessage}


def message_from_json(message: Mapping[str, Json]) -> Message:
    """Reads a message from AG-UI's JSON. A message without an id gets one."""
    given = dict(message)
    role = given.pop("role", None)
    if not isinstance(role, str):
        raise MisuseError("a message has no `role`", "give an AG-UI message, or a `UserMessage` and the like")
    identity: dict[str, Any] = {"id": given.pop("id", None) or _new_id(), "extra": given}
    if role in _TEXTS:
        return _TEXTS[role](given.pop("content", ""), **identity)  # type: ignore[no-any-return]
    if role == "user":
        return UserMessage(given.pop("content", ""), **identity)
    if role == "assistant":
        calls = tuple(ToolCall.from_json(call) for call in given.pop("toolCalls", None) or ())
        return AssistantMessage(given.pop("content", None) or "", calls, **identity)
    if role == "tool":
        return ToolResult(given.pop("toolCallId", ""), given.pop("content", ""), given.pop("error", None), **identity)
    if role == "activity":
        return ActivityMessage(given.pop("activityType", ""), given.pop("content", None), **identity)
    return UnknownMessage(role, **identity)


class Transcript(Sequence[Message]):
    """A conversation: its messages, oldest first. It does not change; ``+`` makes a longer one."""

    __slots__ = ("_messages",)

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = tuple(messages)
        for message in self._messages:
            if not isinstance(message, Message):
                raise MisuseError(
                    f"a message of a `Transcript` is of the type {type(message).__name__}",
                    "give a `UserMessage` and the like; `Transcript.from_json` reads AG-UI's JSON",
                )

    @classmethod
    def from_json(cls, messages: str | Sequence[Mapping[str, Json]]) -> Transcript:
        """Reads a conversation from a JSON array of AG-UI messages: text, or lists and dicts."""
        given = json.loads(messages) if isinstance(messages, str) else messages
        return cls(message_from_json(message) for message in given)

    def to_json(self) -> list[dict[str, Json]]:
        """Returns the conversation as lists and dicts: AG-UI messages, oldest first."""
        return [message.to_json() for message in self._messages]

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> Transcript: ...

    def __getitem__(self, index: int | slice) -> Message | Transcript:
        return Transcript(self._messages[index]) if isinstance(index, slice) else self._messages[index]

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def __add__(self, others: Iterable[Message]) -> Transcript:
        return Transcript((*self._messages, *others))

    def __eq__(self, other: object) -> bool:
        return self._messages == other._messages if isinstance(other, Transcript) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(message.id for message in self._messages))

    def __repr__(self) -> str:
        # What was said is not shown: transcripts end up in logs.
        return f"Transcript({', '.join(message.role for message in self._messages)})"


def history_of(history: Iterable[Message]) -> list[dict[str, Json]]:
    """Returns a conversation to begin with as AG-UI's JSON."""
    return (history if isinstance(history, Transcript) else Transcript(history)).to_json()


def _text(content: str | Sequence[str | Mapping[str, Json]]) -> str:
    if isinstance(content, str):
        return content
    parts = map(_part, content)
    return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")


def _part(part: str | Mapping[str, Json]) -> dict[str, Json]:
    return {"type": "text", "text": part} if isinstance(part, str) else dict(part)
