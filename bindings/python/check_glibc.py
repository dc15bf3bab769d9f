"""Reads which glibc the libraries of a wheel need, and holds that against what the wheel says of itself.

``python check_glibc.py [--at-most 2.28] WHEEL...`` needs pyelftools. It prints a line for each wheel, and fails if a wheel
needs a newer glibc than its name says, or than ``--at-most`` allows. A wheel for musl must need none.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

Version = tuple[int, ...]


def needed(library: bytes) -> Version:
    """The newest glibc of which the library names a symbol; empty if it names none."""
    found: set[Version] = {()}
    for section in ELFFile(io.BytesIO(library)).iter_sections():
        if isinstance(section, GNUVerNeedSection):
            for _, versions in section.iter_versions():
                names = [re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", version.name) for version in versions]
                found |= {tuple(map(int, name[1].split("."))) for name in names if name}
    return max(found)


def of_wheel(wheel: Path) -> Version:
    """The newest glibc that a library of the wheel needs."""
    with zipfile.ZipFile(wheel) as files:
        libraries = [files.read(name) for name in files.namelist() if re.search(r"\.so(\.\d+)*$", name)]
    if not libraries:
        raise SystemExit(f"{wheel.name} has no library")
    return max(map(needed, libraries))


def stated(name: str) -> Version:
    """The oldest glibc for which the wheel's name says that it is: the oldest of its tags; empty for musl."""
    tags = [tuple(map(int, tag)) for tag in re.findall(r"manylinux_(\d+)_(\d+)_", name)]
    if not tags and "musllinux" not in name:
        raise SystemExit(f"{name} does not say which Linux it is for")
    return min(tags, default=())


def main() -> None:
    """Checks the wheels that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--at-most", type=lambda text: tuple(map(int, text.split("."))))
    parser.add_argument("wheels", nargs="+", type=Path)
    given = parser.parse_args()
    for wheel in given.wheels:
        needs, says = of_wheel(wheel), stated(wheel.name)
        shown = ".".join(map(str, needs)) or "none"
        print(f"{wheel.name}: the oldest glibc is {shown}")
        if needs > says:
            raise SystemExit(f"{wheel.name} needs glibc {shown}, and its name says otherwise")
        if given.at_most is not None and says > given.at_most:
            raise SystemExit(f"{wheel.name} is for no glibc as old as {'.'.join(map(str, given.at_most))}")


if __name__ == "__main__":
    sys.exit(main())
