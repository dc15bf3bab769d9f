"""What the wheel says of the systems that it is for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

CHECK = ROOT / "bindings/python/check_glibc.py"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no glibc")


def checked(wheel: Path, *options: str) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, str(CHECK), *options, str(wheel)], capture_output=True, text=True, check=False
    )
    return ran.returncode, ran.stdout + ran.stderr


def the_wheel() -> Path:
    named = os.environ.get("STEPWELL_WHEEL")
    if named is None:
        pytest.skip("the suite names the wheel in STEPWELL_WHEEL")
    return Path(named)


def test_the_wheel_says_which_glibc_it_needs() -> None:
    code, said = checked(the_wheel())
    assert code == 0, said
    assert re.search(r"manylinux_2_\d+_\w+\.whl: the oldest glibc is 2\.\d+", said)


def test_a_wheel_that_says_otherwise_is_found(tmp_path: Path) -> None:
    wheel = the_wheel()
    lies = tmp_path / re.sub(r"manylinux_2_\d+", "manylinux_2_5", wheel.name)
    lies.symlink_to(wheel)
    code, said = checked(lies)
    assert code == 1 and "its name says otherwise" in said
    code, said = checked(wheel, "--at-most", "2.5")
    assert code == 1 and "is for no glibc as old as 2.5" in said


def test_a_wheel_without_a_library_or_a_system_is_refused(tmp_path: Path) -> None:
    plain = tmp_path / "stepwell-1-py3-none-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(plain, "w") as files:
        files.writestr("stepwell/__init__.py", "")
    assert checked(plain) == (1, f"{plain.name} has no library\n")
    python = Path(sys.executable).resolve()
    unnamed = tmp_path / "stepwell-1-py3-none-linux_x86_64.whl"
    with zipfile.ZipFile(unnamed, "w") as files:
        files.write(python, "stepwell/lib.so")
    code, said = checked(unnamed)
    assert code == 1 and "does not say which Linux" in said


def test_the_release_is_for_glibc_2_28_or_older() -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    built = re.findall(r"target: (\w+)-unknown-linux-gnu, manylinux: manylinux_2_(\d+) ", workflow)
    assert {architecture for architecture, _ in built} == {"x86_64", "aarch64"}
    assert all(int(minor) <= 28 for _, minor in built)
    assert "check_glibc.py --at-most 2.28 bindings/python/dist/*.whl" in workflow
