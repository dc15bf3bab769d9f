"""The scenario files come to the same effects, digests and chat screens as in Rust."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from scenarios import EPOCH, MILLISECOND, Host, files, load, outcome_line

from stepwell.machine import RunMachine

FILES = files()


def test_there_are_at_least_sixty() -> None:
    assert len(FILES) >= 60


def _history(machine: RunMachine) -> list[str]:
    lines = []
    for message in machine.messages:
        role, content = message["role"], message.get("content")
        if isinstance(content, list):
            content = " ".join(part.get("text", f"[{part['type']}]") for part in content)
        if content and role != "activity":
            lines.append(f"{role}: {content}")
        for call in message.get("toolCalls", []):
            lines.append(f"{role} calls {call['function']['name']} {call['function']['arguments']}")
    return lines


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_scenario(path: Path) -> None:
    scenario = load(path)
    host = Host(scenario)
    for number, step in enumerate(scenario["steps"], 1):
        assert host.step(step) == step["gives"], f"step {number}, {step['input']}"
    assert host.digests() == scenario["digests"]
    assert host.chats() == scenario["chats"]
    expect = scenario["expect"]
    machine = host.runs["run"]
    outcome = machine.outcome
    assert _history(machine) == expect["history"]
    if "outcome" in expect:
        assert outcome is not None and outcome_line(outcome).partition(":")[0] == expect["outcome"]
    if "state" in expect:
        assert machine.state.value == expect["state"]
    if "text" in expect:
        assert machine.text == expect["text"]


def test_a_changed_input_changes_the_digest() -> None:
    text = FILES[0].read_text(encoding="utf-8")
    scenario: Any = json.loads(text.replace('"Hello', '"Hallo'))
    host = Host(scenario)
    gives = [host.step(step) for step in scenario["steps"]]
    assert host.digests() != scenario["digests"]
    assert gives != [step["gives"] for step in scenario["steps"]]


@pytest.mark.skipif("STEPWELL_RING" not in os.environ, reason="only in the ring's own suite")
def test_a_leg_of_the_ring() -> None:
    """Restores what another language stored, plays this one's part of the steps, and stores the runs for the next."""
    folder = Path(os.environ["STEPWELL_RING"])
    leg, legs = map(int, os.environ["STEPWELL_RING_LEG"].split("/"))
    played = 0
    for path in FILES:
        scenario = load(path)
        steps = scenario["steps"]
        if any(step["input"] == "dispose" for step in steps):
            continue
        host = Host(scenario)
        if leg > 1:
            stored = json.loads((folder / f"{path.stem}.{leg - 1}.json").read_text(encoding="utf-8"))
            host.now, host.written = EPOCH + stored["now"] * MILLISECOND, stored["written"]
            for name, snapshot in stored["runs"].items():
                host.runs[name] = RunMachine.restore(snapshot, host.config)
        for step in steps[len(steps) * (leg - 1) // legs : len(steps) * leg // legs]:
            assert host.step(step) == step["gives"], (path.stem, step)
        if leg == legs:
            assert host.digests() == scenario["digests"], path.stem
        runs = {name: machine.snapshot() for name, machine in host.runs.items()}
        stored = {"now": (host.now - EPOCH) // MILLISECOND, "runs": runs, "written": host.written}
        (folder / f"{path.stem}.{leg}.json").write_text(json.dumps(stored), encoding="utf-8")
        played += 1
    assert played >= 50
