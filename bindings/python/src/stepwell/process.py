"""What a process that was forked has of the one that it comes from."""

from __future__ import annotations

import os

from .errors import UnavailableError


class OwnProcess:
    """Says whether something still is in the process that it was made in: a fork has it, but none of its threads."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._process = os.getpid()

    def check(self) -> None:
        """Raises ``UnavailableError`` in another process."""
        if os.getpid() != self._process:
            raise UnavailableError(
                f"this {self._what} was made before the process was forked: its threads and connections are the other's",
                f"make the {self._what} in this process",
            )
