//! The tools of a request, and the choice of them.

use super::at::{At, Breaches, is_word};
use super::schemas;
use std::collections::BTreeSet;

/// Tools in OpenAI's shape: `{"type":"function","function":{"name","description","parameters"}}`.
pub(super) fn nested(body: &At<'_>, breaches: &mut Breaches) -> BTreeSet<String> {
    let tools = body.get("tools");
    let mut names = BTreeSet::new();
    if tools.is_absent() || !breaches.filled(&tools) {
        return names;
    }
    for tool in tools.items() {
        let kind = tool.get("type");
        if kind.text() != "function" {
            let is_own = kind.is_text() && !tool.has("function");
            breaches.unless(is_own, &kind, "is function, or of the provider's own");
            continue;
        }
        let function = tool.get("function");
        name(&function.get("name"), &mut names, breaches);
        schemas::openai(&function.get("parameters"), breaches);
    }
    names
}

/// A tool's name: well-formed, and its own.
pub(super) fn name(at: &At<'_>, names: &mut BTreeSet<String>, breaches: &mut Breaches) {
    breaches.unless(is_word(at.text(), 64), at, "matches ^[a-zA-Z0-9_-]{1,64}$");
    breaches.unless(
        names.insert(at.text().to_owned()),
        at,
        "is a name of its own",
    );
}

/// A choice in OpenAI's shape: a word, or the name of a tool that is on offer.
pub(super) fn choice(
    body: &At<'_>,
    words: &[&str],
    names: &BTreeSet<String>,
    breaches: &mut Breaches,
) {
    let choice = body.get("tool_choice");
    if choice.is_absent() {
        return;
    }
    breaches.unless(
        !names.is_empty() || choice.text() == "none",
        &choice,
        "stands beside tools",
    );
    if choice.is_text() {
        breaches.one_of(&choice, words);
        return;
    }
    breaches.one_of(&choice.get("type"), &["function"]);
    let name = choice.get("function").get("name");
    breaches.unless(names.contains(name.text()), &name, "is the name of a tool");
}
