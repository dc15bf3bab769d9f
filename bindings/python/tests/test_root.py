"""What `stepwell` itself has: what a first program and a web backend import, and no more."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

import stepwell


def test_the_root_is_small() -> None:
    assert len(stepwell.__all__) == len(set(stepwell.__all__)) <= 60
    assert dir(stepwell) == sorted({*stepwell.__all__, "__version__"})
    assert stepwell.__version__.count(".") == 2


@pytest.mark.parametrize("name", stepwell.__all__)
def test_each_name_is_there(name: str) -> None:
    assert getattr(stepwell, name) is not None


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        getattr(stepwell, "Agnet")


def test_star_takes_all() -> None:
    program = "from stepwell import *; Agent, tool, UserMessage, AuthenticationError, show"
    subprocess.run([sys.executable, "-c", program], check=True)


MODULES = sorted(each.name for each in pkgutil.iter_modules(stepwell.__path__) if not each.name.startswith("_"))


@pytest.mark.parametrize("module", MODULES)
def test_each_module_can_be_the_first(module: str) -> None:
    """No module needs that another was loaded before."""
    program = f"import importlib; importlib.import_module('stepwell.{module}')"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("module", ["callbacks", "device", "machine", "messages", "settings", "updates"])
def test_what_a_module_names_is_there(module: str) -> None:
    loaded = importlib.import_module(f"stepwell.{module}")
    assert all(hasattr(loaded, name) for name in loaded.__all__)
