"""The contents of a chat screen: the same state in every language.

``ChatReducer`` builds a ``ChatState`` from a conversation, or from stored turns, and from the updates of the turn under way::

    chat = ChatReducer.from_messages(conversation.messages)
    async with conversation.stream(prompt) as turn:
        chat.begin("turn-1", UserMessage(prompt))
        async for update in turn:
            chat.apply([update])
            draw(chat.state)
        chat.end(turn.outcome)

``stepwell.display.TurnCard`` shows such a state as HTML or text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ._ffi import chat as _shapes
from ._ffi import stepwell_ffi as _ffi
from ._ffi.chat import *
from ._record import lift, lower
from .errors import translates
from .events import Completed
from .updates import event_of

if TYPE_CHECKING:
    from .events import Event
    from .messages import Message, UserMessage
    from .outcomes import Outcome, TokenUsage
    from .stores import TurnRecord
    from .updates import Update

__all__ = ["ChatReducer"]
__all__ += _shapes.__all__


class ChatReducer:
    """Builds the contents of a chat screen from stored turns, the actions of the app, and the updates of the turn under way.

    The app passes on every update that it receives, in order. The cost of an update does not grow with the conversation. A
    screen reads ``state`` as often as it likes, or ``take_update``, which has only what changed. Times are in UTC; without
    ``now`` it is the current time.
    """

    def __init__(self, turns: Sequence[TurnRecord] = (), turn: str | None = None) -> None:
        self._chat = translates(_ffi.ChatReducer)(lower(turns), turn)

    @classmethod
    def from_messages(cls, messages: Iterable[Message]) -> ChatReducer:
        """Returns the reducer of a chat that continues a conversation without stored turns."""
        made = cls.__new__(cls)
        made._chat = translates(_ffi.ChatReducer.from_messages)([message.to_json() for message in messages])
        return made

    def begin(self, turn: str, message: UserMessage | None = None, *, now: datetime | None = None) -> None:
        """Begins a turn of this id with the user's message."""
        translates(self._chat.begin)(turn, None if message is None else message.to_json(), _time(now))

    def resume(self) -> None:
        """Continues the last stored turn, which did not end: its updates follow."""
        self._chat.resume()

    def steer(self, message: UserMessage) -> None:
        """Notes a message that the user sends during the turn. The message is shown once the turn takes it."""
        translates(self._chat.steer)(message.to_json())

    def apply(self, updates: Iterable[Update | Event], *, now: datetime | None = None) -> None:
        """Applies updates of the turn under way, or events of a ``RunMachine``, in order."""
        translates(self._chat.apply)([lower(event_of(update)) for update in updates], _time(now))

    def set_usage(self, usage: TokenUsage) -> None:
        """Notes the usage of the turn so far, which updates do not report."""
        self._chat.set_usage(lower(usage))

    def end(self, outcome: Outcome | None = None, *, now: datetime | None = None) -> None:
        """Ends the turn: its end is no update. The ``outcome`` is that of ``Turn.outcome``; a turn without one was cancelled."""
        if outcome is None:
            self._chat.end(_ffi.TurnStatus.CANCELLED, None)
        else:
            self.apply([Completed(outcome)], now=now)

    @property
    def state(self) -> ChatState:
        """The state as the user sees it now."""
        state: ChatState = lift(self._chat.state())
        return state

    def take_update(self) -> ChatUpdate | None:
        """Returns the changes since the last call, at first the complete state; ``None`` if nothing changed."""
        update: ChatUpdate | None = lift(self._chat.take_update())
        return update

    def digest(self) -> str:
        """Returns the digest of the state without its revisions, which scenario files hold."""
        return self._chat.digest()


def _time(now: datetime | None) -> datetime:
    return datetime.now(timezone.utc) if now is None else now
