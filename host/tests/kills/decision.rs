//! The user's decision on a call that asks to run. It follows from the call's id, so that a user who is asked again
//! after a kill decides the same.

use crate::clients::chance::Chance;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Decision {
    Granted,
    Denied,
    Edited,
}

impl Decision {
    pub(crate) fn of(call: &str) -> Self {
        match Chance::of(0, call).below(4) {
            0 => Self::Denied,
            1 => Self::Edited,
            _ => Self::Granted,
        }
    }

    /// The answer to a question about the call.
    pub(crate) fn entry(self, question: &str, call: &str) -> Value {
        let payload = match self {
            Self::Granted => json!({ "approved": true }),
            Self::Denied => json!({ "approved": false, "reason": "not now" }),
            Self::Edited => {
                json!({ "approved": true, "editedArgs": { "id": call, "note": "edited" } })
            }
        };
        json!({ "interruptId": question, "status": "resolved", "payload": payload })
    }
}
