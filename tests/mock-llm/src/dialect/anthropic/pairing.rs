//! Tool calls and their results: the rule that clients break most.

use serde_json::Value;

use super::super::Refusal;
use super::check::refuse;

/// Every call is answered once, at the beginning of the turn behind it.
pub(super) fn pairing(messages: &[Value]) -> Result<(), Refusal> {
    let mut known = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut index = 0;
    while index < messages.len() {
        // Messages of one role side by side are one turn.
        let role = &messages[index]["role"];
        let same = messages[index..]
            .iter()
            .take_while(|message| message["role"] == *role);
        let length = same.count();
        let blocks: Vec<_> = messages[index..index + length]
            .iter()
            .flat_map(|message| message["content"].as_array().into_iter().flatten())
            .collect();
        if role == "assistant" {
            all_answered(&open, index)?;
            open.clear();
            for id in blocks.iter().filter(|block| block["type"] == "tool_use") {
                let id = id["id"].as_str().unwrap_or_default();
                if known.contains(&id) {
                    return refuse("messages: `tool_use` ids must be unique");
                }
                known.push(id);
                open.push(id);
            }
        } else {
            let asked = std::mem::take(&mut open);
            results(&blocks, &asked, index)?;
        }
        index += length;
    }
    all_answered(&open, messages.len())
}

fn results(blocks: &[&Value], asked: &[&str], index: usize) -> Result<(), Refusal> {
    let is_result = |block: &Value| block["type"] == "tool_result";
    let leading = blocks.iter().take_while(|block| is_result(block)).count();
    let mut answered = Vec::new();
    for (place, block) in blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| is_result(block))
    {
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        if !asked.contains(&id) {
            return refuse(format!(
                "messages.{index}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. \
                 Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            ));
        }
        if answered.contains(&id) {
            return refuse(format!(
                "messages.{index}.content.{place}: each tool_use must have a single result. Found multiple \
                 `tool_result` blocks with id: {id}"
            ));
        }
        if place < leading {
            answered.push(id);
        }
    }
    let open: Vec<_> = asked
        .iter()
        .copied()
        .filter(|id| !answered.contains(id))
        .collect();
    all_answered(&open, index)
}

/// `index` is the place of the message where the results were due.
fn all_answered(open: &[&str], index: usize) -> Result<(), Refusal> {
    if open.is_empty() {
        return Ok(());
    }
    let calls = index.saturating_sub(1);
    refuse(format!(
        "messages.{calls}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
         `tool_use` block must have a corresponding `tool_result` block in the next message.",
        open.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `a:xy` is an assistant's calls x and y, `u:x.` a user's result of x and then text.
    fn check(turns: &[&str]) -> String {
        let messages: Vec<_> = turns
            .iter()
            .map(|turn| {
                let (role, blocks) = turn.split_once(':').expect("a role");
                let blocks: Vec<_> = blocks
                    .chars()
                    .map(|block| match (role, block) {
                        (_, '.') => json!({"type": "text", "text": "x"}),
                        ("a", id) => json!({"type": "tool_use", "id": id.to_string()}),
                        (_, id) => json!({"type": "tool_result", "tool_use_id": id.to_string()}),
                    })
                    .collect();
                let role = if role == "a" { "assistant" } else { "user" };
                json!({"role": role, "content": blocks})
            })
            .collect();
        match pairing(&messages) {
            Ok(()) => "taken".to_owned(),
            Err(refusal) => refusal.message,
        }
    }

    #[test]
    fn a_round_that_is_answered_is_taken() {
        for turns in [
            &["u:.", "a:.xy", "u:xy"][..],
            &["u:.", "a:.xy", "u:yx.", "a:z", "u:z"],
            &["u:.", "a:x", "a:y", "u:x", "u:y", "u:."],
        ] {
            assert_eq!(check(turns), "taken", "{turns:?}");
        }
    }

    #[test]
    fn every_call_has_one_result_right_behind_it() {
        for (turns, words) in [
            (
                &["u:.", "a:xy"][..],
                "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: x, y.",
            ),
            (&["u:.", "a:xy", "u:y"], "immediately after: x."),
            (&["u:.", "a:x", "u:.x"], "immediately after: x."),
            (&["u:.", "a:x", "u:xx"], "single result"),
            (
                &["u:.", "a:x", "u:xz"],
                "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: z.",
            ),
            (&["u:x"], "unexpected `tool_use_id`"),
            (&["u:.", "a:x", "u:x", "a:x", "u:x"], "must be unique"),
        ] {
            assert!(check(turns).contains(words), "{turns:?}: {}", check(turns));
        }
    }
}
