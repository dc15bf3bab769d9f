"""Makes one moving picture of the pictures in a folder, each named by its time: `python assemble.py FOLDER FILE`."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

SMALLER = 0.8
LONGEST = 1200
"""No picture stands for longer, in milliseconds, but the last one."""
LAST = 3000

frames = sorted(Path(sys.argv[1]).glob("*.png"))
times = [int(frame.stem) for frame in frames]
pictures = []
for frame in frames[:-1]:
    picture = Image.open(frame).convert("RGB")
    size = (round(picture.width * SMALLER), round(picture.height * SMALLER))
    pictures.append(picture.resize(size, Image.Resampling.LANCZOS))
durations = [min(after - before, LONGEST) for before, after in zip(times, times[1:], strict=False)]
durations[-1] = LAST
options = {"duration": durations, "loop": 0, "quality": 45, "method": 6, "minimize_size": True}
pictures[0].save(sys.argv[2], save_all=True, append_images=pictures[1:], **options)
print(f"{len(pictures)} pictures, {sum(durations) / 1000:.1f} s, {Path(sys.argv[2]).stat().st_size} bytes")
