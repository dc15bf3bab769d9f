"""Runs the code of a notebook as a plain program, for those who have no Jupyter: `python run_notebook.py NOTEBOOK`.

Cells with the tag `extra` are left out: they are about what `stepwell[notebook]` adds.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import sys
import types
from pathlib import Path


async def play(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    plain = [cell for cell in cells if cell["cell_type"] == "code" and "extra" not in cell["metadata"].get("tags", ())]
    source = "\n\n".join("".join(cell["source"]) for cell in plain)
    # What a dataclass looks up is its module.
    module = sys.modules["notebook"] = types.ModuleType("notebook")
    result = eval(compile(source, "notebook", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), vars(module))
    if inspect.isawaitable(result):
        await result


if __name__ == "__main__":
    asyncio.run(play(Path(sys.argv[1])))
