//! Which items need which: calls their outputs, outputs their calls, reasoning what it led to.

use serde_json::Value;

use super::super::Refusal;

/// Every call is answered, every output answers a call before it, and what the model says follows its reasoning.
pub(super) fn pairing(items: &[Value]) -> Result<(), Refusal> {
    for (index, item) in items.iter().enumerate() {
        let call_id = &item["call_id"];
        let is_other =
            |other: &Value, kind: &str| other["type"] == kind && other["call_id"] == *call_id;
        let (kind, counterpart) = match item["type"].as_str() {
            Some("function_call") => ("function call", "function_call_output"),
            Some("custom_tool_call") => ("custom tool call", "custom_tool_call_output"),
            Some("function_call_output") => ("function call output", "function_call"),
            Some("custom_tool_call_output") => ("custom tool call output", "custom_tool_call"),
            Some("reasoning") => {
                follower(item, items.get(index + 1))?;
                continue;
            }
            _ => continue,
        };
        let call_id = call_id.as_str().unwrap_or_default();
        let text = if counterpart.ends_with("_output") {
            if items[index..]
                .iter()
                .any(|other| is_other(other, counterpart))
            {
                continue;
            }
            format!("No tool output found for {kind} {call_id}.")
        } else {
            if items[..index]
                .iter()
                .any(|other| is_other(other, counterpart))
            {
                continue;
            }
            format!("No tool call found for {kind} with call_id {call_id}.")
        };
        return Err(Refusal::new(400, text).at("input"));
    }
    Ok(())
}

fn follower(reasoning: &Value, next: Option<&Value>) -> Result<(), Refusal> {
    let is_output = next.is_some_and(|next| match next["type"].as_str() {
        None | Some("message") => next["role"] == "assistant",
        Some(kind) => !kind.ends_with("_output"),
    });
    if is_output {
        return Ok(());
    }
    let id = reasoning["id"].as_str().unwrap_or_default();
    let text = format!(
        "Item '{id}' of type 'reasoning' was provided without its required following item."
    );
    Err(Refusal::new(400, text).at("input"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(items: &[Value]) -> Result<(), String> {
        pairing(items).map_err(|refusal| refusal.message)
    }

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
    }

    fn output(id: &str) -> Value {
        json!({"type": "function_call_output", "call_id": id, "output": "1"})
    }

    fn custom(id: &str) -> Value {
        json!({"type": "custom_tool_call", "call_id": id, "name": "f", "input": "x"})
    }

    fn custom_output(id: &str) -> Value {
        json!({"type": "custom_tool_call_output", "call_id": id, "output": "1"})
    }

    fn reasoning() -> Value {
        json!({"type": "reasoning", "id": "rs_1", "summary": []})
    }

    fn user() -> Value {
        json!({"role": "user", "content": "Hello"})
    }

    #[test]
    fn what_is_whole_passes() {
        let items = [
            user(),
            reasoning(),
            call("a"),
            call("b"),
            custom("c"),
            output("b"),
            custom_output("c"),
            output("a"),
            reasoning(),
            json!({"role": "assistant", "content": "x"}),
            user(),
        ];
        assert_eq!(check(&items), Ok(()));
    }

    #[test]
    fn what_lacks_its_counterpart_is_refused() {
        let cases: [(&[Value], &str); 8] = [
            (&[call("a")], "No tool output found for function call a."),
            (
                &[output("a"), call("a")],
                "No tool call found for function call output with call_id a.",
            ),
            (
                &[call("a"), output("a"), output("b")],
                "No tool call found for function call output with call_id b.",
            ),
            (
                &[custom("a")],
                "No tool output found for custom tool call a.",
            ),
            (
                &[custom("a"), output("a")],
                "No tool output found for custom tool call a.",
            ),
            (
                &[custom_output("a")],
                "No tool call found for custom tool call output with call_id a.",
            ),
            (
                &[reasoning()],
                "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            ),
            (
                &[reasoning(), user()],
                "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            ),
        ];
        for (items, expected) in cases {
            assert_eq!(check(items), Err(expected.to_owned()));
        }
    }
}
