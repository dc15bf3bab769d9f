"""Looks at the Dart sources without a Dart compiler: `check.py LIBRARY FOLDER...`.

Every file parses, and has none of the faults that `dart_rules.py` finds. The functions that the plugin looks up are
those of stepwell.h, and the inputs, questions and fields that it sends are known to the library. SQLite compiles the
statements of `SqliteStore`.
"""

import ctypes
import json
import re
import sqlite3
import sys
from pathlib import Path

from dart_model import PARSER
from dart_rules import findings

PLUGIN = Path(__file__).resolve().parent.parent
ROOT = PLUGIN.parent.parent
SECTIONS = {
    "GenerationSettings": "settings",
    "Limits": "limits",
    "RetryPolicy": "retry",
    "Timeouts": "timeouts",
    "DevicePolicy": "device",
    "TextOptions": "text",
    "CompactionPolicy": "compaction",
    "ContextGuard": "contextGuard",
    "AgUiOptions": "agUi",
}
wrong: list[str] = []


def parse(folders: list[Path]) -> int:
    """How many sources there are: files, and pages with the code that they show."""
    sources = {file: file.read_text() for folder in folders for file in folder.rglob("*.dart")}
    for page in [ROOT / "docs/flutter.md", PLUGIN / "README.md"]:
        blocks = re.findall(r"```dart\n(.*?)```", page.read_text(), re.DOTALL)
        shown = [block if "main()" in block else f"Future<void> shown() async {{ {block} }}" for block in blocks]
        sources[page] = "\n".join(shown)
    for file, source in sorted(sources.items()):
        if not source:
            wrong.append(f"{file.relative_to(ROOT)}: no Dart")
        nodes = [PARSER.parse(source.encode()).root_node]
        while nodes:
            node = nodes.pop()
            if node.is_error or node.is_missing:
                line = node.start_point[0] + 1
                text = node.text.decode()[:80]
                wrong.append(f"{file.relative_to(ROOT)}:{line}: {text!r} does not parse")
            elif node.has_error:
                nodes.extend(node.children)
    if not wrong:
        of_root = {file.relative_to(ROOT): source for file, source in sorted(sources.items())}
        wrong.extend(findings(of_root, (PLUGIN / "lib").relative_to(ROOT)))
    return len(sources)


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_uint8)), ("length", ctypes.c_size_t)]


class Library:
    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        for name in ["version", "machine_call", "machine_ask", "registry_call", "session_call"]:
            getattr(self.library, f"stepwell_{name}").restype = Text
        for name in ["machine_make", "registry_make"]:
            getattr(self.library, f"stepwell_{name}").restype = ctypes.c_void_p
        self.registry = self.library.stepwell_registry_make(None, ctypes.c_size_t(0), None)
        made = self.make({"config": {"provider": "ollama", "model": "m"}, "threadId": "t"})
        assert isinstance(made, int), made
        self.machine = made

    def taken(self, text: Text) -> str:
        said = ctypes.string_at(text.data, text.length).decode()
        self.library.stepwell_text_free(text)
        return said

    def make(self, making: object) -> int | str:
        """A machine, or why there is none."""
        said, refusal = json.dumps(making).encode(), Text()
        machine = self.library.stepwell_machine_make(said, ctypes.c_size_t(len(said)), ctypes.byref(refusal))
        return machine if machine else self.taken(refusal)

    def call(self, name: str) -> str:
        said = json.dumps({"input": name}).encode()
        machine = ctypes.c_void_p(self.machine)
        return self.taken(
            self.library.stepwell_machine_call(machine, said, ctypes.c_size_t(len(said)), ctypes.c_uint64(0))
        )

    def ask(self, name: str) -> str:
        said = json.dumps({"ask": name}).encode()
        return self.taken(
            self.library.stepwell_machine_ask(ctypes.c_void_p(self.machine), said, ctypes.c_size_t(len(said)))
        )

    def ask_registry(self, call: object) -> str:
        said = json.dumps(call).encode()
        registry = ctypes.c_void_p(self.registry)
        return self.taken(self.library.stepwell_registry_call(registry, said, ctypes.c_size_t(len(said))))

    def ask_session(self, call: object) -> str:
        said = json.dumps(call).encode()
        return self.taken(self.library.stepwell_session_call(said, ctypes.c_size_t(len(said))))


def names(library: Library) -> int:
    source = lambda name: (PLUGIN / "lib/src" / name).read_text()  # noqa: E731
    looked_up = set(re.findall(r"'(stepwell_\w+)'", source("native.dart")))
    header = (PLUGIN.parent / "c/include/stepwell.h").read_text()
    declared = set(re.findall(r"\b(stepwell_\w+)\(", header))
    if looked_up != declared:
        wrong.append(f"native.dart looks up {sorted(looked_up)}, stepwell.h has {sorted(declared)}")

    machine = source("machine.dart") + source("machine_calls.dart")
    inputs, questions = (set(re.findall(rf"{how}\('(\w+)'", machine)) for how in ("_tell", "_ask"))
    for name in inputs:
        if "unknown variant" in (said := library.call(name)):
            wrong.append(f"the machine is told {name}: {said}")
    for name in questions:
        if "unknown variant" in (said := library.ask(name)):
            wrong.append(f"the machine is asked {name}: {said}")

    calls = []
    for file, how, ask in [("registry_calls", "_call", library.ask_registry), ("session", "_ask", library.ask_session)]:
        found = re.findall(rf"{how}\('(\w+)'(.*?);", source(f"{file}.dart"), re.DOTALL)
        for name, given in found:
            sent = {field: None for field in re.findall(r"'(\w+)':", given)}
            said = ask({"call": name, **sent})
            if "unknown" in said or "missing" in said:
                wrong.append(f"{file}.dart calls {name} with {sorted(sent)}: {said}")
        calls += found

    fields = 0
    classes = re.split(r"^final class ", source("shapes.dart"), flags=re.MULTILINE)
    for text in classes:
        name, _, body = text.partition(" ")
        sent = set(re.findall(r"'(\w+)':", body.partition("toJson()")[2].partition("\n}")[0]))
        for field in sent:
            config: dict[str, object] = {"provider": "ollama", "model": "m"}
            if name == "RunConfig":
                config = {field: None}
            elif name == "ToolDefinition":
                config["tools"] = [{field: None}]
            elif name == "ContextEntry":
                config["settings"] = {"context": [{field: None}]}
            elif name == "RepeatLimit":
                config["limits"] = {"repeats": {field: None}}
            elif name in SECTIONS:
                config[SECTIONS[name]] = {field: None}
            else:
                continue
            fields += 1
            made = library.make({"config": config, "threadId": "t"})
            if isinstance(made, str) and "unknown field" in made:
                wrong.append(f"{name} sends {field}: {made}")
    if len(inputs) < 25 or len(questions) < 15 or len(calls) < 18 or fields < 50:
        found = f"{len(inputs)} inputs, {len(questions)} questions, {len(calls)} calls and {fields} fields"
        wrong.append(f"only {found} were found")
    return len(inputs) + len(questions) + len(calls) + fields


def statements() -> int:
    """How many statements of SQL SQLite compiles."""
    source = (PLUGIN / "lib/src/sqlite_store.dart").read_text()
    found = re.findall(r"^const (_\w+) =((?:\s*(?:'[^']*'|\"[^\"]*\"))+);", source, re.MULTILINE)
    all_sql = {name: "".join(a or b for a, b in re.findall(r"'([^']*)'|\"([^\"]*)\"", text)) for name, text in found}
    database = sqlite3.connect(":memory:")
    for name, sql in all_sql.items():
        try:
            database.execute(sql if sql.startswith("CREATE") else f"EXPLAIN {sql}", (None,) * sql.count("?"))
        except sqlite3.Error as error:
            wrong.append(f"sqlite_store.dart: {name}: {error}")
        if len(re.findall(rf"\b{name}\b", source)) < 2:
            wrong.append(f"sqlite_store.dart: {name} is not used")
    if len(all_sql) < 20:
        wrong.append(f"only {len(all_sql)} statements of SQL were found")
    return len(all_sql)


files = parse([Path(folder).resolve() for folder in sys.argv[2:]])
checked = names(Library(sys.argv[1]))
compiled = statements()
print("\n".join(wrong) or f"{files} sources of Dart pass, {checked} names are known to the library, {compiled} statements to SQLite")
sys.exit(bool(wrong) or files == 0)
