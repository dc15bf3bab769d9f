"""Generated from bindings/src."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from .._record import Json
from ..arguments import checks_arguments
from ..hooks import Hook
from ..journals import JournalSink
from ..registry import RunRegistry
from ..runner import Answerer, Approver, OutputDecoder, CredentialSource, InstructionsSource, RunSource, Trimmer
from ..sessions import SessionStore
from ..stores import Store
from ..tool_bugs import ToolErrors
from ..tools import Tool, as_tool
from ..transport import HttpClient
from .config import *


class AgentOptions:
    """The options of an ``Agent``."""

    @checks_arguments
    def __init__(
        self,
        *,
{%- for argument in self.all() %}
        {{ argument.name }}: {{ argument.declared }},
{%- endfor %}
    ) -> None:
        """Sets up a conversation; nothing is sent yet.

        Args:
{%- for argument in self.all() %}
            {{ argument.entry() }}
{%- endfor %}
        """
        self.tools: tuple[Tool[..., Any], ...] = tuple(as_tool(tool) for tool in tools)
        """The tools on offer."""
        config = RunConfig(
{%- for argument in config %}
            {{ argument.name }}={{ argument.value }},
{%- endfor %}
            tools=self.tools,
        )
        self._set_up(
            config,
{%- for argument in self.passed() %}
            {{ argument.name }}={{ argument.value }},
{%- endfor %}
        )

    def _set_up(
        self,
        config: RunConfig,
        *,
{%- for argument in self.passed() %}
        {{ argument.name }}: {{ argument.ty() }},
{%- endfor %}
    ) -> None:
        raise NotImplementedError
