//! A tool that asks while it runs, for the scripted model behind a server.

use serde_json::json;
use stepwell_io::tool::{Question, Tool, ToolContext};

pub(crate) fn tool() -> Tool {
    Tool::new("order_tea", "Orders tea, as the user would like it.")
        .parameters(json!({ "type": "object", "properties": {}, "additionalProperties": false }))
        .label(|_| Some("Order tea".to_owned()))
        .idempotent()
}

pub(crate) async fn run(call: ToolContext) -> Result<String, String> {
    let order = json!({
        "type": "object",
        "properties": {
            "tea": { "type": "string", "enum": ["green", "black", "mint"], "title": "Tea" },
            "cups": { "type": "integer", "minimum": 1, "maximum": 6, "title": "Cups" },
            "note": { "type": "string", "title": "Note", "description": "Honey, say" },
        },
        "required": ["tea", "cups"],
        "additionalProperties": false,
    });
    let asked = call
        .ask(Question::new("Which tea shall it be?", order))
        .await;
    let answer = asked.map_err(|error| error.to_string())?;
    let Some(order) = answer.value() else {
        return Ok("The user would like no tea.".to_owned());
    };
    let tea = order["tea"].as_str().unwrap_or_default();
    let tea = match order["cups"].as_u64() {
        Some(1) => format!("a cup of {tea} tea"),
        cups => format!("{} cups of {tea} tea", cups.unwrap_or_default()),
    };
    let note = order["note"].as_str().filter(|note| !note.is_empty());
    let note = note.map_or(String::new(), |note| format!(" ({note})"));
    let sure = Question::yes_or_no(format!("Order {tea}{note}?"));
    let sure = call.ask(sure).await.map_err(|error| error.to_string())?;
    Ok(match sure.value().and_then(serde_json::Value::as_bool) {
        Some(true) => format!("Ordered: {tea}{note}."),
        _ => "Nothing was ordered.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell_io::tool::ToolInvocation;

    #[tokio::test]
    async fn without_an_answer_nothing_is_ordered() {
        let call = ToolInvocation::new("order_tea", json!({}));
        let said = run(call.into()).await;
        assert_eq!(said.as_deref(), Ok("The user would like no tea."));
    }
}
