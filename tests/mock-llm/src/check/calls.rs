//! Tool calls and their results in the formats that have a message for each result.

use super::at::{At, Breaches, is_object_text, is_word};
use std::collections::BTreeSet;

/// A provider's rules for the calls in assistant messages.
pub(super) struct CallRules {
    /// Whether an id is well-formed.
    pub(super) is_id: fn(&str) -> bool,
    /// The required form of an id, in words.
    pub(super) id: &'static str,
    /// Whether the arguments must be the text of an object.
    pub(super) object: bool,
}

/// The calls of one assistant message.
pub(super) fn calls(at: &At<'_>, rules: &CallRules, breaches: &mut Breaches) {
    if at.is_absent() || !breaches.filled(at) {
        return;
    }
    for call in at.items() {
        let id = call.get("id");
        breaches.unless((rules.is_id)(id.text()), &id, rules.id);
        breaches.one_of(&call.get("type"), &["function"]);
        let function = call.get("function");
        let name = function.get("name");
        breaches.unless(
            is_word(name.text(), 64),
            &name,
            "matches ^[a-zA-Z0-9_-]{1,64}$",
        );
        let arguments = function.get("arguments");
        breaches.unless(arguments.is_text(), &arguments, "is a string");
        if rules.object {
            let is_object = is_object_text(arguments.text());
            breaches.unless(is_object, &arguments, "is the text of an object");
        }
    }
}

/// Every call has one result, right behind the message with the calls; no result is without a call; no id comes twice.
pub(super) fn pairing(messages: &[At<'_>], breaches: &mut Breaches) {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        if message.get("role").text() == "tool" {
            let id = message.get("tool_call_id");
            match open.iter().position(|call| *call == id.text()) {
                Some(at) => drop(open.remove(at)),
                None => breaches.add(&id, "answers a call of the assistant message before"),
            }
            continue;
        }
        let left = std::mem::take(&mut open);
        breaches.unless(
            left.is_empty(),
            message,
            format!("comes after the results of {left:?}"),
        );
        for call in message.get("tool_calls").items() {
            let id = call.get("id");
            let is_twice = open.contains(&id.text());
            breaches.unless(!is_twice, &id, "is an id of its own");
            let is_new = seen.insert(id.text());
            breaches.tidy(is_new || is_twice, &id, "is an id of its own");
            open.push(id.text());
        }
    }
    if let Some(last) = messages.last() {
        breaches.unless(
            open.is_empty(),
            last,
            format!("is not the last: {open:?} have no result"),
        );
    }
}
