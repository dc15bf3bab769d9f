"""Hooks: code of the app that looks at requests, answers and tools, changes them, or refuses them with a reason."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from typing import Any

from ._ffi import stepwell_ffi as _ffi
from ._ffi.effects import HookedAnswer as HookedAnswer
from ._ffi.effects import HookedCall as HookedCall
from ._ffi.effects import HookedRequest as HookedRequest
from ._ffi.effects import HookedResult as HookedResult
from ._record import Json
from .media import Parts
from .schema import jsonable


class Refused(Exception):
    """Raised by a hook that refuses its subject. The message is the reason.

    A refused call, or its result, goes back to the model with the reason, and the turn continues. A refused request or
    answer ends the turn.
    """


class Hook:
    """Inspects what an agent's turns are about to do. Subclass it, with the methods that you need::

        class NoMail(Hook):
            def before_tool(self, call):
                if call.invocation.name == "send_mail":
                    raise Refused("no mail from here")

        agent = Agent(..., hooks=[NoMail()])

    Each method is plain or async, and accepts its subject by returning ``None``. It raises ``Refused`` with the reason,
    or returns a replacement. Any other exception fails the turn, with the hook's name.
    """

    name: str = ""
    """The name in refusals: the class's name if it is not set."""

    def before_request(self, request: HookedRequest) -> HookedRequest | None | Awaitable[HookedRequest | None]:
        """Inspects a request to the model: once for each request, not for each try. May return it with other messages
        or instructions, by ``dataclasses.replace``; the history is not changed."""
        return None

    def after_answer(self, answer: HookedAnswer) -> None | Awaitable[None]:
        """Inspects the model's answer, before anything follows from it. The user may have read it by then."""
        return None

    def before_tool(self, call: HookedCall) -> Mapping[str, Json] | None | Awaitable[Mapping[str, Json] | None]:
        """Inspects a call, before the user is asked whether it may run. May return other arguments, which fit the
        tool's schema. The model is not informed."""
        return None

    def after_tool(self, result: HookedResult) -> Any:
        """Inspects the result of a call. May return another result for the model: as a tool's own result."""
        return None


_MOMENTS = {
    "before_request": _ffi.HookMoment.BEFORE_REQUEST,
    "after_answer": _ffi.HookMoment.AFTER_ANSWER,
    "before_tool": _ffi.HookMoment.BEFORE_TOOL,
    "after_tool": _ffi.HookMoment.AFTER_TOOL,
}


def name_of(hook: Hook) -> str:
    """Returns the name for refusals."""
    return hook.name or type(hook).__name__


def spec_of(hook: Hook) -> Any:
    """Returns the library's form of the hook: when it should be asked."""
    own = [moment for method, moment in _MOMENTS.items() if getattr(type(hook), method) is not getattr(Hook, method)]
    return _ffi.HookSpec(name=name_of(hook), moments=own)


def looking(hook: Hook, subject: object) -> Any:
    """Calls the hook: returns what its method returns."""
    match subject:
        case HookedRequest():
            return hook.before_request(subject)
        case HookedAnswer():
            return hook.after_answer(subject)
        case HookedCall():
            return hook.before_tool(subject)
        case HookedResult():
            return hook.after_tool(subject)
    raise TypeError(f"no hook looks at a {type(subject).__name__}")


def lower_answer(subject: object, given: Any) -> Any:
    """Converts the result of a hook's method to the library's form."""
    answers: Any = _ffi.HookAnswer
    if given is None:
        return answers.GO_ON()
    match subject:
        case HookedRequest():
            return answers.CHANGE_REQUEST(instructions=given.instructions, messages=given.messages)
        case HookedCall():
            return answers.CHANGE_ARGUMENTS(arguments=dict(given))
        case HookedResult():
            return answers.CHANGE_RESULT(content=list(given) if isinstance(given, Parts) else _text(given))
    raise TypeError("`after_answer` can let an answer pass or raise `Refused`: what was said cannot be changed any more")


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False)
