"""Stepwell: the loop between a user, a language model and tools on the user's own device::

    from stepwell import Agent, tool

    @tool
    def get_secret_number(name: str) -> int:
        return {"alice": 42, "bob": 7}[name]

    agent = Agent("openai:gpt-5-mini", tools=[get_secret_number])
    print(agent.run_sync("What are Alice's and Bob's secret numbers?").text)

What is not here has a module: ``stepwell.settings``, ``stepwell.updates``, ``stepwell.callbacks`` and the other messages in
``stepwell.messages``; hooks and stores of the app's own in ``stepwell.hooks``, ``stepwell.stores`` and ``stepwell.sessions``; ``stepwell.asgi`` for web servers,
``stepwell.testing`` for tests, ``stepwell.tracing`` for OpenTelemetry, ``stepwell.device`` for phones, and ``stepwell.machine``,
which does no IO.
"""

import importlib as _importlib
from typing import TYPE_CHECKING, Any

from ._lazy import prepare as _prepare

if TYPE_CHECKING:
    from .agent import Agent as Agent
    from .callbacks import Decision as Decision, Question as Question, ToolInvocation as ToolInvocation
    from .conversation import Conversation as Conversation
    from .errors import (
        AuthenticationError as AuthenticationError,
        BusyError as BusyError,
        ConnectionFailedError as ConnectionFailedError,
        ContentFilterError as ContentFilterError,
        ContextTooLongError as ContextTooLongError,
        Deferred as Deferred,
        InvalidRequestError as InvalidRequestError,
        InvalidResponseError as InvalidResponseError,
        LimitReachedError as LimitReachedError,
        MisuseError as MisuseError,
        NotFoundError as NotFoundError,
        OutputInvalidError as OutputInvalidError,
        OverloadedError as OverloadedError,
        PermissionDeniedError as PermissionDeniedError,
        QuotaError as QuotaError,
        RateLimitError as RateLimitError,
        RefusedError as RefusedError,
        ServerError as ServerError,
        StepwellError as StepwellError,
        StoreError as StoreError,
        TimedOutError as TimedOutError,
        ToolError as ToolError,
        ToolFailedError as ToolFailedError,
        TurnCancelledError as TurnCancelledError,
    )
    from .hooks import Hook as Hook
    from .media import audio as audio, document as document, file as file, image as image, video as video
    from .messages import (
        AssistantMessage as AssistantMessage,
        SystemMessage as SystemMessage,
        ToolCall as ToolCall,
        ToolResult as ToolResult,
        Transcript as Transcript,
        UserMessage as UserMessage,
    )
    from .model import Model as Model
    from .questions import ask_in_notebook as ask_in_notebook
    from .result import TurnResult as TurnResult
    from .screens import show as show
    from .sessions import (
        MemoryStore as MemoryStore,
        PostgresStore as PostgresStore,
        SessionStore as SessionStore,
        SqliteStore as SqliteStore,
    )
    from .settings import Limits as Limits
    from .stores import ThreadKey as ThreadKey
    from .tool_context import ToolContext as ToolContext
    from .tools import Tool as Tool, tool as tool
    from .turn import Turn as Turn
    from .updates import (
        Pending as Pending,
        TextUpdate as TextUpdate,
        ToolCallUpdate as ToolCallUpdate,
        ToolOutput as ToolOutput,
        Update as Update,
    )

    __version__: str

# The library and the modules are loaded when they are first needed.
_prepare()

_MODULES = {
    "agent": "Agent",
    "callbacks": "Decision Question ToolInvocation",
    "conversation": "Conversation",
    "errors": (
        "AuthenticationError BusyError ConnectionFailedError ContentFilterError ContextTooLongError Deferred "
        "InvalidRequestError InvalidResponseError LimitReachedError MisuseError NotFoundError "
        "OutputInvalidError OverloadedError PermissionDeniedError QuotaError RateLimitError RefusedError "
        "ServerError StepwellError StoreError TimedOutError ToolError ToolFailedError TurnCancelledError"
    ),
    "hooks": "Hook",
    "media": "audio document file image video",
    "messages": "AssistantMessage SystemMessage ToolCall ToolResult Transcript UserMessage",
    "model": "Model",
    "questions": "ask_in_notebook",
    "result": "TurnResult",
    "screens": "show",
    "sessions": "MemoryStore PostgresStore SessionStore SqliteStore",
    "settings": "Limits",
    "stores": "ThreadKey",
    "tool_context": "ToolContext",
    "tools": "Tool tool",
    "turn": "Turn",
    "updates": "Pending TextUpdate ToolCallUpdate ToolOutput Update",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Agent",
    "AssistantMessage",
    "AuthenticationError",
    "BusyError",
    "ConnectionFailedError",
    "ContentFilterError",
    "ContextTooLongError",
    "Conversation",
    "Decision",
    "Deferred",
    "Hook",
    "InvalidRequestError",
    "InvalidResponseError",
    "LimitReachedError",
    "Limits",
    "MemoryStore",
    "MisuseError",
    "Model",
    "NotFoundError",
    "OutputInvalidError",
    "OverloadedError",
    "Pending",
    "PermissionDeniedError",
    "PostgresStore",
    "Question",
    "QuotaError",
    "RateLimitError",
    "RefusedError",
    "ServerError",
    "SessionStore",
    "SqliteStore",
    "StepwellError",
    "StoreError",
    "SystemMessage",
    "TextUpdate",
    "ThreadKey",
    "TimedOutError",
    "Tool",
    "ToolCall",
    "ToolCallUpdate",
    "ToolContext",
    "ToolError",
    "ToolFailedError",
    "ToolInvocation",
    "ToolOutput",
    "ToolResult",
    "Transcript",
    "Turn",
    "TurnCancelledError",
    "TurnResult",
    "Update",
    "UserMessage",
    "ask_in_notebook",
    "audio",
    "document",
    "file",
    "image",
    "show",
    "tool",
    "video",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._ffi import stepwell_ffi

        value: Any = stepwell_ffi.version()
    elif name in _HOMES:
        value = getattr(_importlib.import_module(f".{_HOMES[name]}", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
