//! The state that a run shares with its client, and the tool by which the model changes it.

use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use stepwell_core::CallKey;
use stepwell_core::event::{EventRef, StateDelta, StateSnapshot};
use stepwell_core::transcript::Applied;
use stepwell_io::AgentBuilder;
use stepwell_io::message::Transcript;
use stepwell_io::tool::{Tool, ToolInvocation};
use stepwell_io::turn::Event;

/// The tool's name.
pub const CHANGE_STATE: &str = "change_state";

/// The state of one run. Clones are the same state.
#[derive(Clone, Debug)]
pub(crate) struct SharedState(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    /// A conversation that holds the state alone: for the reducer's rules for patches, and its bounds.
    holder: Transcript,
    /// The changes that were not reported yet, in their order, each with its call.
    untold: Vec<(CallKey, Event)>,
}

impl SharedState {
    /// Creates the state as the client has it.
    pub(crate) fn new(state: Value) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            holder: Transcript::default().with_shared_state(state),
            untold: Vec::new(),
        })))
    }

    /// The client has changed it.
    pub(crate) fn replace(&self, state: Value) {
        self.lock().holder = Transcript::default().with_shared_state(state);
    }

    /// Returns the state as it is now.
    pub(crate) fn value(&self) -> Value {
        self.lock().holder.shared_state().clone()
    }

    /// Applies a change that the agent behind the server has reported itself.
    pub(crate) fn follow(&self, event: &Event) {
        if matches!(event, Event::StateSnapshot(_) | Event::StateDelta(_)) {
            let applied = self.lock().holder.apply(EventRef::from(event));
            if let Applied::Ignored(reason) = applied {
                tracing::warn!(target: "stepwell", reason, "a change of the state was ignored");
            }
        }
    }

    /// Takes the changes that were not reported yet.
    pub(crate) fn untold(&self) -> Vec<Event> {
        let untold = std::mem::take(&mut self.lock().untold);
        untold.into_iter().map(|(_, event)| event).collect()
    }

    /// Returns what must be sent to the client before the call's result: what the call changed, and what was changed
    /// before. A tool may be ahead of what was sent, so later changes wait for their own call.
    pub(crate) fn untold_before(&self, call: CallKey) -> Vec<Event> {
        let mut inner = self.lock();
        let last = inner.untold.iter().rposition(|(by, _)| *by == call);
        let told = inner.untold.drain(..last.map_or(0, |last| last + 1));
        told.map(|(_, event)| event).collect()
    }

    /// Runs a call of [`CHANGE_STATE`]: all of its changes, or none.
    pub(crate) fn change(&self, call: &ToolInvocation) -> Result<String, String> {
        let changes = call.arguments.value["changes"].as_array().cloned();
        let mut changes = changes.unwrap_or_default();
        for change in &mut changes {
            let op = change["op"].as_str().unwrap_or_default();
            if op == "remove" {
                if let Some(fields) = change.as_object_mut() {
                    fields.shift_remove("value");
                }
            } else if change.get("value").is_none() {
                return Err(format!("a change of the kind `{op}` needs a `value`"));
            }
        }
        let mut inner = self.lock();
        // A client that is shown a first value can take changes of any kind.
        let is_first = !inner.holder.shared_state().is_object();
        if is_first {
            inner.holder = Transcript::default();
        }
        let delta = Event::from(StateDelta {
            delta: changes,
            common: None,
        });
        if let Applied::Ignored(reason) = inner.holder.apply(EventRef::from(&delta)) {
            return Err(format!(
                "the state is as it was: {reason}; look at the state and ask again"
            ));
        }
        let told = if is_first {
            Event::from(StateSnapshot {
                snapshot: inner.holder.shared_state().clone(),
                common: None,
            })
        } else {
            delta
        };
        inner.untold.push((call.call, told));
        Ok(format!("The state is now {}", inner.holder.shared_state()))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing is left half-done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same agents, with the tool: each run gives it a state of its own.
#[must_use]
pub fn offered_by(agent: AgentBuilder) -> AgentBuilder {
    agent.tool(tool(), |_| async {
        Err::<String, _>("there is no state to change")
    })
}

/// The tool by which the model changes the state.
pub fn tool() -> Tool {
    let path = "A JSON Pointer, such as /todos/0/done; /todos/- is after the last of a list";
    Tool::new(
        CHANGE_STATE,
        "Changes the state that is shared with the app and shown to the user, by a JSON Patch: all changes, or none.",
    )
    .parameters(json!({
        "type": "object",
        "properties": {
            "changes": {
                "type": "array",
                "minItems": 1,
                "maxItems": 100,
                "items": {
                    "type": "object",
                    "properties": {
                        "op": { "enum": ["add", "replace", "remove"] },
                        "path": { "type": "string", "pattern": "^(/([^/~]|~[01])*)*$", "description": path },
                        "value": { "description": "What is put there; not for remove" },
                    },
                    "required": ["op", "path"],
                    "additionalProperties": false,
                },
            },
        },
        "required": ["changes"],
        "additionalProperties": false,
    }))
    .repeatable()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(changes: &Value) -> ToolInvocation {
        let value = json!({ "changes": changes });
        ToolInvocation::new(CHANGE_STATE, value)
    }

    #[test]
    fn a_change_is_reported_as_a_patch_of_the_clients_state() {
        let state = SharedState::new(json!({"todos": ["tea"]}));
        let changes = json!([
            {"op": "add", "path": "/todos/-", "value": "milk"},
            {"op": "remove", "path": "/todos/0", "value": "ignored"},
        ]);
        assert!(state.change(&call(&changes)).is_ok());
        assert_eq!(state.value(), json!({"todos": ["milk"]}));
        let mut client = Transcript::default().with_shared_state(json!({"todos": ["tea"]}));
        for event in state.untold() {
            assert_eq!(event.kind(), "STATE_DELTA");
            assert_eq!(client.apply(EventRef::from(&event)), Applied::Whole);
        }
        assert_eq!(*client.shared_state(), state.value());
        assert!(state.untold().is_empty(), "it is told once");
    }

    #[test]
    fn a_change_that_does_not_fit_changes_nothing() {
        let state = SharedState::new(json!({"a": 1}));
        for changes in [
            json!([{"op": "add", "path": "/b", "value": 2}, {"op": "remove", "path": "/none"}]),
            json!([{"op": "replace", "path": "/a"}]),
        ] {
            assert!(state.change(&call(&changes)).is_err());
            assert_eq!(state.value(), json!({"a": 1}));
            assert!(state.untold().is_empty());
        }
    }

    #[test]
    fn a_change_waits_for_the_result_of_its_call() {
        let state = SharedState::new(json!({}));
        let key = |index| CallKey { hop: 0, index };
        for index in 0..3 {
            let change = json!([{"op": "add", "path": format!("/{index}"), "value": 1}]);
            let call = ToolInvocation {
                call: key(index),
                ..call(&change)
            };
            assert!(state.change(&call).is_ok());
        }
        let told = |index| state.untold_before(key(index)).len();
        assert_eq!([told(9), told(1), told(0)], [0, 2, 0]);
        assert_eq!(state.untold().len(), 1);
    }

    #[test]
    fn a_state_that_is_no_object_is_replaced_as_a_whole() {
        let state = SharedState::new(json!([1]));
        let changes = json!([{"op": "add", "path": "/a", "value": 2}]);
        assert!(state.change(&call(&changes)).is_ok());
        let told = serde_json::to_value(state.untold()).expect("events are JSON");
        assert_eq!(
            told,
            json!([{"type": "STATE_SNAPSHOT", "snapshot": {"a": 2}}])
        );
    }
}
