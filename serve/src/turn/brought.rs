//! The data that a client brought to a turn, in addition to what is stored of every turn. It is kept with the turn's
//! checkpoints, so that the next owner of the turn has it too.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use stepwell_core::event::{Context, ResumeEntry, ToolDefinition};
use stepwell_core::{MessageId, ToolCallId};
use stepwell_io::RunId;
use stepwell_io::tool::ToolResult;

/// The data that a client brought to a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Brought {
    /// Its tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ToolDefinition>,
    /// The name of the model that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_model: Option<String>,
    /// The run that the turn is reported in, where a run ends when the turn waits for the user or the client.
    // A checkpoint has a `run` of its own.
    #[serde(rename = "client_run", skip_serializing_if = "Option::is_none")]
    pub run: Option<RunTerms>,
    /// The answers and results for what the run before left open. They are kept until all are stored: where the host
    /// dies after a part, the next owner applies the rest.
    #[serde(rename = "client_given", skip_serializing_if = "Given::is_empty")]
    pub given: Given,
}

/// The client's answers to what a run has left open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Given {
    /// The user's answers to all open questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<ResumeEntry>,
    /// The results of the client's tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<(ToolCallId, ToolResult)>,
}

impl Given {
    fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.results.is_empty()
    }
}

/// The terms that a client set for a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTerms {
    /// The run's id.
    pub id: RunId,
    /// The run that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// The message that a chat's answer belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The shared state as the client has it; absent if none is shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// The part of the instructions that a trusted client adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub situation: Option<String>,
    /// The context for an AG-UI agent behind the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<Context>,
    /// The properties that are forwarded to an AG-UI agent behind the server.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub forwarded_props: Map<String, Value>,
    /// Whether the run continues without readers.
    #[serde(default)]
    pub is_background: bool,
}

impl Brought {
    /// Reads the fields of a checkpoint. The owner that continues from the checkpoint reports its errors.
    pub(crate) fn of_checkpoint(checkpoint: &str) -> Self {
        serde_json::from_str(checkpoint).unwrap_or_default()
    }

    /// Returns the same without what the client gave: it is stored.
    pub(crate) fn with_given_stored(&self) -> Self {
        Self {
            given: Given::default(),
            ..self.clone()
        }
    }

    /// Returns the fields that [`in_checkpoint`] adds; nothing if there are none.
    pub(crate) fn fields(&self) -> Option<Arc<str>> {
        let json = serde_json::to_string(self).ok()?;
        let fields = json.strip_prefix('{')?.strip_suffix('}')?;
        (!fields.is_empty()).then(|| format!("{fields},").into())
    }
}

/// Returns the checkpoint of a run with these fields in it. A reader that does not know them ignores them.
pub(crate) fn in_checkpoint(fields: &str, checkpoint: &str) -> String {
    match checkpoint.strip_prefix('{') {
        Some(rest) => format!("{{{fields}{rest}"),
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
        let brought: Brought = serde_json::from_value(json!({
            "client_tools": [{"name": "where", "description": "Where."}],
            "chosen_model": "a/\"b\"",
            "client_run": {"id": "r", "state": {"a": 1}, "is_background": true},
            "client_given": {"results": [["c", {"Ok": "done"}]]},
        }))
        .expect("it is read");
        let fields = brought.fields().expect("something is kept");
        let kept = in_checkpoint(&fields, r#"{"v":1,"state":"Idle"}"#);
        assert_eq!(Brought::of_checkpoint(&kept), brought);
        let mut whole: Value = serde_json::from_str(&kept).expect("JSON");
        let own = whole.as_object_mut().expect("an object");
        for field in ["client_tools", "chosen_model", "client_run", "client_given"] {
            assert!(own.remove(field).is_some(), "{field}");
        }
        assert_eq!(whole, json!({"v": 1, "state": "Idle"}));
        assert_eq!(in_checkpoint(&fields, ""), "");
    }

    #[test]
    fn a_turn_that_was_begun_with_nothing_keeps_nothing() {
        assert_eq!(Brought::default().fields(), None);
        assert_eq!(Brought::of_checkpoint(""), Brought::default());
    }
}
