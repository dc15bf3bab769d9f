"""The site: Sphinx with MyST, built by `cargo xtask docs`.

Pages are written for the repository: their links are paths in it. Here a link to a page becomes one to the site's page, and
a link to any other file or folder one to the repository on GitHub. A page whose text stands elsewhere, as `architecture.md`
does, is an `include` and nothing else.

Blocks of code in different languages, with nothing between them, become tabs, one for each language. The pages need no
markup for that, so that on GitHub they read as one block after another.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging
from sphinx.util.osutil import relative_uri

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PACKAGE = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
SOURCES = f"{PACKAGE['repository']}/tree/main/"

project = "Stepwell"
author = "The Stepwell authors"
project_copyright = author
version = release = PACKAGE["version"]

root_doc = "index"
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design", "sphinxcontrib.mermaid"]
exclude_patterns = ["recording"]
nitpicky = True

myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
# `cargo xtask docs` puts it there, of this version: no page asks another server for anything.
mermaid_version = "11.12.1"
mermaid_use_local = "mermaid/mermaid.esm.min.mjs"
# A `console` block shows what was typed and what came of it; only the former is copied.
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = "Stepwell"
html_baseurl = "https://stepwell.github.io/stepwell/"
html_copy_source = False
html_show_copyright = False
html_theme_options = {
    "source_repository": PACKAGE["repository"],
    "source_branch": "main",
    "source_directory": "docs/",
}

INCLUDE = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
FENCE = re.compile(r"^(```+|~~~+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!\[[^\]]*\]\(|\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
"""Marks for what runs the pages' code."""

TABS = {
    "rust": "Rust",
    "python": "Python",
    "kotlin": "Kotlin",
    "swift": "Swift",
    "dart": "Dart",
    "js": "TypeScript",
    "javascript": "TypeScript",
    "ts": "TypeScript",
}
"""The name of the tab of each language."""

CODE = r"```(?:" + "|".join(TABS) + r")\b[^\n]*\n(?:(?!```)[^\n]*\n)*```\n"
MARKED = r"(?:<!-- [^\n]* -->\n)*" + CODE
BLOCKS = re.compile(rf"^{MARKED}(?:\n{MARKED})+", re.MULTILINE)
"""Blocks of code with nothing but marks between them."""

TESTED = re.compile(r"^```rust,\w+$", re.MULTILINE)
"""What rustdoc is told of a block."""

log = logging.getLogger(__name__)


def texts() -> dict[str, Path]:
    """The file that each page's text stands in, by the page's name."""
    found = {}
    for page in DOCS.rglob("*.md"):
        included = INCLUDE.search(page.read_text(encoding="utf-8"))
        file = (page.parent / included[1]).resolve() if included else page
        found[page.relative_to(DOCS).with_suffix("").as_posix()] = file
    return found


PAGES = texts()
PAGE_OF = {file: page for page, file in PAGES.items()}


def outside_of_code(text: str, change: re.Pattern[str], to: object) -> str:
    """The text with a change made wherever it is no block of code."""
    parts, end = [], 0
    for block in FENCE.finditer(text):
        parts += [change.sub(to, text[end : block.start()]), block[0]]  # type: ignore[call-overload]
        end = block.end()
    return "".join([*parts, change.sub(to, text[end:])])  # type: ignore[call-overload]


def for_the_site(text: str, file: Path, page: str) -> str:
    """The text of a file with the links that it has as a page of the site."""

    def target(link: re.Match[str]) -> str:
        named = (file.parent / link[2]).resolve()
        anchor = link[3] or ""
        if link[1].startswith("!"):
            return f"{link[1]}{os.path.relpath(named, (DOCS / page).parent)}{link[4]}"
        if other := PAGE_OF.get(named):
            return f"{link[1]}{relative_uri(page, other)}.md{anchor}{link[4]}"
        if not named.exists():
            log.warning("%s links to %s, which is not there", file.relative_to(ROOT), link[2])
        return f"{link[1]}{SOURCES}{named.relative_to(ROOT).as_posix()}{anchor}{link[4]}"

    return outside_of_code(TESTED.sub("```rust", text), LINK, target)


def tabbed(text: str) -> str:
    """The text with tabs for blocks that show one thing in several languages.

    sphinx-design opens the same language in all tabs of a page, and remembers it for other pages and visits.
    """

    def tabs(run: re.Match[str]) -> str:
        blocks = [(TABS[re.split(r"\W", code[3:], maxsplit=1)[0]], code) for code in re.findall(CODE, run[0])]
        if len({name for name, _ in blocks}) < len(blocks):
            return run[0]
        items = [f"````{{tab-item}} {name}\n:sync: {name.lower()}\n\n{code}````\n" for name, code in blocks]
        return "`````{tab-set}\n:sync-group: language\n\n" + "\n".join(items) + "`````\n"

    return BLOCKS.sub(tabs, text)


def read(app: Sphinx, page: str, source: list[str]) -> None:
    if PAGES[page] == DOCS / f"{page}.md":
        source[0] = tabbed(for_the_site(source[0], PAGES[page], page))


def read_included(app: Sphinx, path: Path, page: str, content: list[str]) -> None:
    content[0] = tabbed(for_the_site(content[0], (DOCS / path).resolve(), page))


def summary(app: Sphinx, page: str) -> str:
    """The first sentence of a page."""
    prose = next(app.env.get_doctree(page).findall(nodes.paragraph), None)
    said = " ".join(prose.astext().split()) if prose else ""
    return re.split(r"(?<=\.) (?=[A-Z])", said)[0]


def for_models(app: Sphinx, failed: Exception | None) -> None:
    """Each page as Markdown beside its HTML, and `llms.txt`, which lists them (<https://llmstxt.org>)."""
    if failed or app.builder.name != "html":
        return
    out = Path(app.outdir)
    pages = app.env.toctree_includes[root_doc]
    for name in [root_doc, *pages]:
        text = COMMENT.sub("", for_the_site(PAGES[name].read_text(encoding="utf-8"), PAGES[name], name))
        (out / f"{name}.md").write_text(text, encoding="utf-8")
    listed = [f"- [{app.env.titles[name].astext()}]({html_baseurl}{name}.md): {summary(app, name)}" for name in pages]
    lines = ["# Stepwell", "", f"> {summary(app, root_doc)}", "", "## Pages", "", *listed, ""]
    (out / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("source-read", read)
    app.connect("include-read", read_included)
    app.connect("build-finished", for_models)

# Pygments does not know Swift's key paths (`\.offset`).
suppress_warnings = ["misc.highlighting_failure"]
