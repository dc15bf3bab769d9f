use crate::call::compaction;
use crate::refused::Refused;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt::Display;
use stepwell_core::event::Message;
use stepwell_core::session::{self, MessageBuilder, TurnTree};
use stepwell_ffi::{Compaction, TurnRecord};

/// Stored turns: all of a thread, or a path of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredTurns {
    /// The turns, in any order.
    turns: Vec<TurnRecord>,
    /// The end of the path; if absent, the turn that ends last.
    turn: Option<String>,
}

/// The conversation of stored turns: to be shown, or for the next run to begin with.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct History {
    messages: Vec<Message>,
    shared_state: Value,
    /// What requests no longer carry of the messages, if they do not carry all.
    compaction: Option<Compaction>,
}

impl StoredTurns {
    /// Returns the conversation of the turns.
    ///
    /// # Errors
    /// The turns do not fit together, or a part of them cannot be read.
    pub(crate) fn history(self) -> Result<History, Refused> {
        let turns = self.turns.into_iter().map(session::Turn::try_from);
        let tree = TurnTree::new(turns.collect::<Result<_, _>>().map_err(unfit)?).map_err(unfit)?;
        let path = match self.turn {
            Some(turn) => tree.path_to(&turn).map_err(unfit)?,
            None => tree.shown(),
        };
        // Another host may drive the last turn: this one does not decide the results of its calls.
        let builder = MessageBuilder::new().keep_open_calls();
        let transcript = builder.transcript(path).map_err(unfit)?;
        Ok(History {
            messages: transcript.messages().to_vec(),
            shared_state: transcript.shared_state().clone(),
            compaction: compaction(&transcript),
        })
    }
}

pub(crate) fn unfit(error: impl Display) -> Refused {
    Refused::argument("the turns", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_blocks_of_a_turn_are_its_conversation() {
        let turn = |blocks: Value| {
            json!({ "turns": [{
                "id": "run-1",
                "message": { "id": "m", "role": "user", "content": "Hello" },
                "status": "complete",
                "outcome": { "outcome": "success" },
                "createdAtMs": 1,
                "updatedAtMs": 2,
                "blocks": blocks,
            }] })
        };
        let block =
            json!({ "sequence": 0, "hop": 0, "content": { "type": "state", "state": { "a": 1 } } });
        let stored: StoredTurns =
            serde_json::from_value(turn(json!([{ "block": block, "atMs": 2 }]))).unwrap();
        let history = stored.history().unwrap();
        assert_eq!(history.shared_state, json!({ "a": 1 }));
        assert_eq!(
            json!(history.messages),
            json!([{ "id": "m", "role": "user", "content": "Hello" }])
        );
        let call = json!({
            "sequence": 0, "hop": 0,
            "content": { "type": "tool_use", "call": { "hop": 0, "index": 0 }, "tool_call_id": "c", "name": "pay", "arguments": "{}" },
        });
        let mut waiting = turn(json!([{ "block": call, "atMs": 2 }]));
        let record = waiting["turns"][0].as_object_mut().unwrap();
        record.remove("outcome");
        record.insert("status".into(), json!("streaming"));
        let waiting: StoredTurns = serde_json::from_value(waiting).unwrap();
        let messages = json!(waiting.history().unwrap().messages);
        let roles = messages
            .as_array()
            .unwrap()
            .iter()
            .map(|message| &message["role"]);
        assert_eq!(roles.collect::<Vec<_>>(), ["user", "assistant"]);
        let block = json!({ "sequence": 3, "hop": 0, "content": { "type": "state", "state": 1 } });
        let gap: StoredTurns =
            serde_json::from_value(turn(json!([{ "block": block, "atMs": 2 }]))).unwrap();
        assert_eq!(gap.history().unwrap_err().kind, "invalidArgument");
    }
}
