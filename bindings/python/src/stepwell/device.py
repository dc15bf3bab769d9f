"""What a phone or a desktop has and a server has not: an app that goes to the background, a network that goes, and a user
who looks at one of several conversations."""

from __future__ import annotations

from typing import Any

from ._engine import Engine
from ._ffi.config import DevicePolicy
from ._record import lift
from .agent import Agent
from .errors import told
from .registry import RegistryEvent, RunRegistry
from .sessions import SessionStore
from .stores import Store

__all__ = ["Device", "DevicePolicy", "RegistryEvent", "RunRegistry"]


class Device:
    """The device that an agent's turns run on. The reports apply to the turns under way, and to later ones::

        device = Device(agent)
        device.network_lost()

    What happens then is in the agent's ``DevicePolicy``: ``Agent(…, device=DevicePolicy(network_change="reopen"))``.
    """

    def __init__(self, agent: Agent[Any, Any], *, store: SessionStore | Store | None = None) -> None:
        """Takes the agent, whose conversations have this store; its own if left out."""
        stores = {id(each): each for each in (None, agent._definition.given.get("store"), store)}
        self._engines: list[Engine] = [agent._engine_of(each) for each in stores.values()]

    def entered_background(self) -> None:
        """Reports that the app goes to the background."""
        for engine in self._engines:
            engine.agent().entered_background()

    def entered_foreground(self) -> None:
        """Reports that the app is in the foreground again."""
        for engine in self._engines:
            engine.agent().entered_foreground()

    def network_lost(self) -> None:
        """Reports that the network is gone."""
        for engine in self._engines:
            engine.agent().network_lost()

    def network_available(self) -> None:
        """Reports that there is a network, or that another one replaced it."""
        for engine in self._engines:
            engine.agent().network_available()

    @property
    def registry(self) -> RunRegistry:
        """Which conversations have a turn under way, what the user looks at, and what is unread.

        Its runs are the agent's turns: only the agent should register, complete and remove them. A conversation that is
        let go leaves it, unless the registry is the app's own: ``Agent(…, registry=RunRegistry())``.
        """
        return RunRegistry.of(self._engines[-1].agent().registry())

    async def next_registry_event(self) -> RegistryEvent:
        """Waits for the next event of all conversations: a turn began, continued with another hop, or ended.

        A conversation that becomes unread is an event too. Each event goes to one caller only: of this method, or of
        ``registry.take_events``.
        """
        engine = self._engines[-1]
        agent, _ = engine.begin(engine.agent(), None)
        event: RegistryEvent = lift(await told(agent.next_registry_event()))
        return event
