"""What a turn waits for, and the replies to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._record import Json, lift
from .arguments import as_json, names_arguments
from .errors import MisuseError, told
from .events import Pending, ToolFailureKind
from .media import Parts, result_of

__all__ = ["Replies"]


@names_arguments
class Replies:
    """The methods that a turn and its conversation share."""

    __slots__ = ()

    def _replying(self) -> _ffi.Turn | _ffi.Conversation:
        """Returns what takes the replies."""
        raise NotImplementedError

    async def pending(self) -> list[Pending]:
        """Returns what the turn waits for: approvals and questions for the user, and results of deferred calls."""
        pending: list[Pending] = lift(await told(self._replying().pending()))
        return pending

    async def approve(self, id: str, *, arguments: Mapping[str, Json] | None = None) -> None:
        """Allows the call that waits for the user's approval under this id.

        ``arguments`` replace the model's, which learns of the change. They have to fit ``Pending.schema``.
        """
        given = None if arguments is None else as_json(f"`arguments` of `{type(self).__name__}.approve`", dict(arguments))
        await told(self._replying().approve(id, given))

    async def deny(self, id: str, reason: str | None = None) -> None:
        """Denies the call that waits for approval under this id, or declines the question. The model, or the tool that
        asked, gets the reason."""
        await told(self._replying().deny(id, reason))

    async def answer(self, id: str, value: Json) -> None:
        """Answers the question of a running tool that waits under this id, with JSON that fits ``Pending.schema``."""
        await told(self._replying().answer(id, as_json(f"`value` of `{type(self).__name__}.answer`", value)))

    async def resolve_call(self, tool_call_id: str, result: object) -> None:
        """Supplies the result of a tool call, by the provider's id for it: of a deferred call, or in a ``Turn`` also of one
        that still runs.

        A result that is no string is written as JSON, except for media, as in ``Tool.run``.
        """
        where = f"`result` of `{type(self).__name__}.resolve_call`"
        try:
            content = result_of(result)
        except (TypeError, ValueError) as error:
            raise MisuseError(f"{where}: {error}", "give what JSON can have") from error
        if isinstance(content, Parts):
            await told(self._replying().resolve_call_parts(tool_call_id, as_json(where, content)))
        else:
            await told(self._replying().resolve_call(tool_call_id, content))

    async def fail_call(
        self, tool_call_id: str, message: str, *, kind: ToolFailureKind = ToolFailureKind.ERROR
    ) -> None:
        """Reports that a call failed, as ``resolve_call`` does; the model is shown the message."""
        generated: Any = _ffi.ToolFailureKind[kind.name]
        await told(self._replying().fail_call(tool_call_id, message, generated))
