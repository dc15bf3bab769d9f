//! Tool calls and their answers: the rule that clients break most.

use serde_json::Value;
use std::collections::BTreeMap;

use super::super::Refusal;

/// Every tool call is answered once, right after the message that made it.
pub(super) fn pairing(messages: &[Value]) -> Result<(), Refusal> {
    // The calls of the last assistant message, with whether each was answered.
    let mut open: Vec<(&str, bool)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut after_calls = false;
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            if !after_calls {
                let text = "Invalid parameter: messages with role 'tool' must be a response to a \
                            preceeding message with 'tool_calls'.";
                return Err(Refusal::new(400, text).at(format!("messages.[{index}].role")));
            }
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let call = places.get(id).and_then(|place| open.get_mut(*place));
            let text = match call.map(|(_, answered)| std::mem::replace(answered, true)) {
                Some(false) => continue,
                Some(true) => format!("Duplicate value for 'tool_call_id' of '{id}'."),
                None => format!(
                    "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous \
                     message."
                ),
            };
            return Err(Refusal::new(400, text).at(format!("messages.[{index}].tool_call_id")));
        }
        all_answered(&open, index)?;
        let calls = message["tool_calls"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        open = calls
            .iter()
            .filter_map(|call| Some((call["id"].as_str()?, false)))
            .collect();
        after_calls = !open.is_empty();
        places.clear();
        let mut known = open.iter().enumerate();
        let twice = known.find(|(place, (id, _))| places.insert(id, *place).is_some());
        if let Some((place, (id, _))) = twice {
            let text = format!("Duplicate value for 'id' of '{id}' in 'tool_calls'.");
            let path = format!("messages.[{index}].tool_calls.[{place}].id");
            return Err(Refusal::new(400, text).at(path));
        }
    }
    all_answered(&open, messages.len())
}

/// `index` is the place of the message where an answer was due.
fn all_answered(open: &[(&str, bool)], index: usize) -> Result<(), Refusal> {
    let unanswered: Vec<_> = open
        .iter()
        .filter(|(_, answered)| !answered)
        .map(|(id, _)| *id)
        .collect();
    if unanswered.is_empty() {
        return Ok(());
    }
    let text = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
         'tool_call_id'. The following tool_call_ids did not have response messages: {}",
        unanswered.join(", ")
    );
    Err(Refusal::new(400, text).at(format!("messages.[{index}].role")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(messages: &Value) -> Result<(), String> {
        pairing(messages.as_array().map_or(&[][..], Vec::as_slice)).map_err(|refusal| {
            format!("{}: {}", refusal.param.unwrap_or_default(), refusal.message)
        })
    }

    fn calls(ids: &[&str]) -> Value {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
        json!({"role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>()})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": "1"})
    }

    fn user() -> Value {
        json!({"role": "user", "content": "Hello"})
    }

    #[test]
    fn answered_calls_pass_in_any_order() {
        let again = [
            user(),
            calls(&["a", "b"]),
            result("b"),
            result("a"),
            calls(&["c"]),
            result("c"),
        ];
        assert_eq!(check(&json!(again)), Ok(()));
        assert_eq!(
            check(&json!([user(), calls(&["a"]), result("a"), user()])),
            Ok(())
        );
    }

    #[test]
    fn an_unanswered_call_is_refused_where_the_answer_was_due() {
        let cases = [
            (json!([user(), calls(&["a"])]), 2, "a"),
            (
                json!([user(), calls(&["a", "b"]), result("a"), user()]),
                3,
                "b",
            ),
            (
                json!([user(), calls(&["a", "b"]), user(), result("a"), result("b")]),
                2,
                "a, b",
            ),
            (json!([calls(&["a"]), calls(&["b"]), result("b")]), 1, "a"),
        ];
        for (messages, place, ids) in cases {
            let error = check(&messages).unwrap_err();
            assert!(
                error.starts_with(&format!("messages.[{place}].role: ")),
                "{error}"
            );
            assert!(
                error.ends_with(&format!("did not have response messages: {ids}")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_result_answers_one_open_call_once() {
        let stray = check(&json!([user(), result("a")])).unwrap_err();
        assert!(
            stray.contains("must be a response to a preceeding message"),
            "{stray}"
        );
        let twice = check(&json!([user(), calls(&["a"]), result("a"), result("a")])).unwrap_err();
        assert!(
            twice.starts_with("messages.[3].tool_call_id: Duplicate"),
            "{twice}"
        );
        let other = check(&json!([user(), calls(&["a"]), result("x")])).unwrap_err();
        assert!(other.contains("'x' not found in 'tool_calls'"), "{other}");
        let same = check(&json!([user(), calls(&["a", "a"]), result("a")])).unwrap_err();
        assert!(same.starts_with("messages.[1].tool_calls.[1].id"), "{same}");
    }
}
