"""One moving picture of what a browser shows: a picture whenever something has changed."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

from PIL import Image

LONGEST = 1200
"""No picture stands for longer, in milliseconds, but the last one."""
LAST = 3000
MAX_BYTES = 150_000


class Pictures:
    """The pictures that ``take`` gives, as PNG."""

    def __init__(self, take: Callable[[], bytes]) -> None:
        self._take = take
        self._taken: list[tuple[float, bytes]] = []

    def look(self) -> None:
        """Takes a picture, and keeps it if it is a new one."""
        picture = self._take()
        if not self._taken or self._taken[-1][1] != picture:
            self._taken.append((time.monotonic(), picture))

    def until(self, comes: Callable[[], bool]) -> None:
        """Looks until this has come."""
        while not comes():
            self.look()
        self.look()

    def save(self, file: str) -> None:
        """Makes the WebP file of them."""
        times = [round(at * 1000) for at, _ in self._taken]
        durations = [min(after - before, LONGEST) for before, after in zip(times, times[1:], strict=False)] + [LAST]
        first, *others = [Image.open(io.BytesIO(picture)).convert("RGB") for _, picture in self._taken]
        # With losses what has gone leaves traces, and text takes more bytes.
        first.save(
            file,
            save_all=True,
            append_images=others,
            duration=durations,
            loop=0,
            lossless=True,
            quality=100,
            method=6,
            minimize_size=True,
        )
        size = Path(file).stat().st_size
        if size > MAX_BYTES:
            sys.exit(f"{file} has {size} bytes, too many for a README")
        print(f"{len(durations)} pictures, {sum(durations) / 1000:.1f} s")
