"""Makes the core's table of prices from the data of genai-prices, and compares the two.

    python prices.py TABLE --write     writes the table, of the version that is installed
    python prices.py TABLE             says what differs from the version that is installed, with exit code 1
"""

import datetime
import decimal
import importlib.metadata
import pathlib
import re
import sys

from genai_prices import data
from genai_prices import types as genai

# Ours, and theirs. OpenRouter says itself what an answer cost; the others have no prices for everyone.
PROVIDERS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "mistral": "mistral",
    "cohere": "cohere",
    "groq": "groq",
    "together": "together",
    "fireworks": "fireworks",
}
KINDS = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "output_mtok")
# What is priced by sound or pictures cannot be told by its tokens of text.
NOT_TEXT = re.compile("audio|realtime|live|tts|image|embed|transcribe|whisper|moderation|guard|davinci|curie|babbage|banana|^ada$|text-ada")
# Other spellings of names, which no vendor's API has.
ALIAS = re.compile(r"gpt-\d-\d(?!\d)|claude-[4-9][-.]|claude-v|.*\.ft-")
MICRO = decimal.Decimal(1_000_000)
# As `is_version_of` in core/llm/src/provider/prices/mod.rs has it.
VERSION = re.compile(r"(?:[-@](?:latest|preview|exp|default|\d{3,})(?:[-@](?:latest|preview|exp|default|\d+))*)?", re.IGNORECASE)


def price_now(model: genai.ModelInfo) -> genai.ModelPrice:
    """What the model costs today; what only holds for some hours of the day is left out."""
    if isinstance(model.prices, genai.ModelPrice):
        return model.prices
    today = datetime.date.today()
    started = [
        conditional.prices
        for conditional in model.prices
        if conditional.constraint is None
        or (isinstance(conditional.constraint, genai.StartDateConstraint) and conditional.constraint.start_date <= today)
    ]
    return started[-1]


def row(price: genai.ModelPrice) -> tuple | None:
    """The four prices in millionths of a dollar, and from how many tokens on they are others."""
    if price.input_mtok is None or price.output_mtok is None:
        return None
    kinds = [getattr(price, kind) for kind in KINDS]
    starts = {tier.start for kind in kinds if isinstance(kind, genai.TieredPrices) for tier in kind.tiers}
    if len(starts) > 1:
        return None

    def at(long: bool) -> tuple[int, ...]:
        def one(kind):
            if isinstance(kind, genai.TieredPrices):
                return kind.tiers[0].price if long else kind.base
            return kind

        found = [one(kind) for kind in kinds]
        filled = [found[0] if value is None else value for value in found]
        return tuple(int((value * MICRO).to_integral_exact()) for value in filled)

    return at(False), (starts.pop(), at(True)) if starts else None


def names(clause) -> list[str]:
    """The names that the clause is about; what it takes beside them is left out."""
    match clause:
        case genai.ClauseOr(or_=clauses):
            return [name for one in clauses for name in names(one)]
        case genai.ClauseEquals(equals=name) | genai.ClauseStartsWith(starts_with=name):
            return [name.rstrip("-")]
        case _:
            return []


def lookup(rows: dict, model: str):
    """The row that the core takes for the model."""
    fitting = [name for name in rows if model.lower().startswith(name.lower()) and VERSION.fullmatch(model[len(name) :])]
    return rows[max(fitting, key=len)] if fitting else None


def table() -> dict[str, dict[str, tuple]]:
    """All rows by our provider and the model's name."""
    found = {}
    for ours, theirs in PROVIDERS.items():
        (provider,) = (one for one in data.providers if one.id == theirs)
        rows = {}
        for model in provider.models:
            priced = row(price_now(model))
            listed = [model.id, *names(model.match)]
            for name in listed:
                foreign = theirs == "google" and not name.startswith(("gemini", "gemma"))
                odd = NOT_TEXT.search(name) or ALIAS.match(name) or not re.fullmatch(r"[\w./-]+", name)
                if priced is None or foreign or odd:
                    continue
                # Its own name must be one that the provider takes, and mean this model.
                meant = provider.find_model(name.lower(), all_providers=data.providers)
                if meant is not None and meant.id == model.id:
                    rows[name] = priced
        # A version that costs what its model costs needs no row.
        for name in sorted(rows, key=len, reverse=True):
            others = {other: row for other, row in rows.items() if other != name}
            if lookup(others, name) == rows[name]:
                rows = others
        found[ours] = rows
    return found


def written(tables: dict[str, dict[str, tuple]]) -> str:
    """The table as Rust has it."""

    def numbers(values: tuple[int, ...]) -> str:
        return "[" + ", ".join(f"{value:_}" for value in values) + "]"

    version = importlib.metadata.version("genai-prices")
    lines = [
        f"//! The vendors' list prices, of {datetime.date.today():%-d %B %Y}: made from the data of genai-prices {version} (MIT,",
        "//! Copyright (c) Pydantic Services Inc. 2025 to present), <https://github.com/pydantic/genai-prices>, by",
        "//! `tests/prices/prices.py --write`, and compared with them by `cargo xtask prove prices`. Not written by hand; the\n//! licence of the data is beside it.",
        "",
        "use super::Row;",
        "",
        "#[rustfmt::skip]",
        "pub(super) const PRICES: &[(&str, &[Row])] = &[",
    ]
    for provider, rows in tables.items():
        lines.append(f'    ("{provider}", &[')
        for name, (usual, long) in sorted(rows.items()):
            tail = f"Some(({long[0]:_}, {numbers(long[1])}))" if long else "None"
            lines.append(f'        ("{name}", {numbers(usual)}, {tail}),')
        lines.append("    ]),")
    lines.append("];\n")
    return "\n".join(lines)


def rows_of(text: str) -> dict[tuple[str, str], str]:
    """The rows of a written table, by provider and model."""
    found, provider = {}, ""
    for line in text.splitlines():
        if begins := re.fullmatch(r'    \("([\w-]+)", &\[', line):
            provider = begins[1]
        elif one := re.fullmatch(r'        \("([^"]+)", (.*)\),', line):
            found[provider, one[1]] = one[2]
    return found


def main() -> int:
    path = pathlib.Path(sys.argv[1])
    new = written(table())
    if "--write" in sys.argv:
        path.write_text(new)
        return 0
    ours, theirs = rows_of(path.read_text()), rows_of(new)
    for key in sorted(ours.keys() | theirs.keys()):
        if ours.get(key) != theirs.get(key):
            print(f"{key[0]} {key[1]}: ours {ours.get(key, 'none')}, theirs {theirs.get(key, 'none')}")
    print(f"{len(ours)} models, compared with genai-prices {importlib.metadata.version('genai-prices')}")
    return int(ours != theirs)


if __name__ == "__main__":
    sys.exit(main())
