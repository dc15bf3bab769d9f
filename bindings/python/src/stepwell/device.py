"""What a phone or a desktop has and a server has not: an app that goes to the background, a network that goes, and a user
who looks at one of several conversations."""

from __future__ import annotations

from typing import Any

from ._ffi.config import DevicePolicy
from ._record import lift
from .agent import Agent
from .errors import told
from .registry import RegistryEvent, RunRegistry

__all__ = ["Device", "DevicePolicy", "RegistryEvent", "RunRegistry"]


class Device:
    """The device that an agent's turns run on. The reports apply to the turns under way, and to later ones::

        device = Device(agent)
        device.network_lost()

    What happens then is in the agent's ``DevicePolicy``: ``Agent(…, device=DevicePolicy(network_change="reopen"))``.
    """

    def __init__(self, agent: Agent[Any, Any]) -> None:
        self._engine = agent._engine

    def entered_background(self) -> None:
        """Reports that the app goes to the background."""
        self._engine.agent().entered_background()

    def entered_foreground(self) -> None:
        """Reports that the app is in the foreground again."""
        self._engine.agent().entered_foreground()

    def network_lost(self) -> None:
        """Reports that the network is gone."""
        self._engine.agent().network_lost()

    def network_available(self) -> None:
        """Reports that there is a network, or that another one replaced it."""
        self._engine.agent().network_available()

    @property
    def registry(self) -> RunRegistry:
        """Which conversations have a turn under way, what the user looks at, and what is unread.

        Its runs are the agent's turns: only the agent should register, complete and remove them. A conversation that is
        let go leaves it, unless the registry is the app's own: ``Agent(…, registry=RunRegistry())``.
        """
        return RunRegistry.of(self._engine.agent().registry())

    async def next_registry_event(self) -> RegistryEvent:
        """Waits for the next event of all conversations: a turn began, continued with another hop, or ended.

        A conversation that becomes unread is an event too. Each event goes to one caller only: of this method, or of
        ``registry.take_events``.
        """
        event: RegistryEvent = lift(await told(self._engine.agent().next_registry_event()))
        return event
