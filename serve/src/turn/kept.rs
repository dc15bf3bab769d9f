//! What a stored turn was begun with, beside what is stored of every turn. It is kept with the turn's checkpoints, so that
//! whoever goes on with the turn has it too.

use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::event::ToolDefinition;

/// As a checkpoint has it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Kept {
    #[serde(default)]
    pub(crate) client_tools: Vec<ToolDefinition>,
    /// The name of the model that was asked for.
    #[serde(default)]
    pub(crate) chosen_model: Option<String>,
}

impl Kept {
    /// What a checkpoint has. What is wrong with it is said by who goes on from it.
    pub(crate) fn of(checkpoint: &str) -> Self {
        serde_json::from_str(checkpoint).unwrap_or_default()
    }
}

/// What is kept, as [`in_checkpoint`] takes it: the client's tools, which are a list in JSON, and the model's name.
pub(crate) fn kept(tools: Option<&str>, model: Option<&str>) -> Option<Arc<str>> {
    let tools = tools.map(|tools| format!("\"client_tools\":{tools},"));
    let model = model.map(|model| format!("\"chosen_model\":{},", Value::from(model)));
    let fields: String = tools.into_iter().chain(model).collect();
    (!fields.is_empty()).then(|| fields.into())
}

/// The checkpoint of a run with what is kept in it. Whoever does not know of that reads it as it was.
pub(crate) fn in_checkpoint(kept: &str, checkpoint: &str) -> String {
    match checkpoint.strip_prefix('{') {
        Some(rest) => format!("{{{kept}{rest}"),
        // The turn is closed, and keeps nothing.
        None => checkpoint.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_checkpoint_keeps_what_it_is_given_and_stays_what_it_is() {
        let tools = json!([{"name": "where", "description": "Where."}]).to_string();
        let fields = kept(Some(&tools), Some("a/\"b\"")).expect("something is kept");
        let kept = in_checkpoint(&fields, r#"{"v":1,"state":"Idle"}"#);
        let read = Kept::of(&kept);
        assert_eq!(json!(read.client_tools).to_string(), tools);
        assert_eq!(read.chosen_model.as_deref(), Some("a/\"b\""));
        let mut whole: Value = serde_json::from_str(&kept).expect("JSON");
        let own = whole.as_object_mut().expect("an object");
        own.remove("client_tools");
        own.remove("chosen_model");
        assert_eq!(whole, json!({"v": 1, "state": "Idle"}));
        assert_eq!(in_checkpoint(&fields, ""), "");
    }

    #[test]
    fn a_turn_that_was_begun_with_nothing_keeps_nothing() {
        assert_eq!(kept(None, None), None);
        let read = Kept::of("");
        assert!(read.client_tools.is_empty() && read.chosen_model.is_none());
    }
}
