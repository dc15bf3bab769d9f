use crate::machine::{guard, written_answer};
use crate::read::read_call;
use crate::refused::Refused;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_ffi::{Outcome, RunHandle, RunRegistry, ThreadKey};

/// The owners of threads, with an interface in JSON: `{"call": "register", "thread": {"thread": …}}`. Each call returns
/// `{"answer": …}`, or `{"refused": {"kind", "reason", "advice"}}`, which changes nothing: of the kind `stale` for a
/// stale handle.
#[derive(Debug)]
pub struct Registry(Arc<RunRegistry>);

/// A call, with the name and the arguments of `RunRegistry` in the bindings.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Call {
    Register {
        thread: ThreadKey,
    },
    Replace {
        old: RunHandle,
    },
    Check {
        handle: RunHandle,
    },
    Complete {
        handle: RunHandle,
        outcome: Box<Outcome>,
    },
    DisposalFailed {
        handle: RunHandle,
        message: String,
    },
    Current {
        thread: ThreadKey,
    },
    Running {},
    LookAt {
        thread: Option<ThreadKey>,
    },
    LookedAt {},
    Unread {
        thread: ThreadKey,
    },
    UnreadThreads {},
    Remove {
        thread: ThreadKey,
    },
    TakeEvents {},
    Snapshot {},
}

impl Registry {
    /// Creates a registry with no runs, or restores a stored one.
    ///
    /// # Errors
    /// The text is no registry's snapshot.
    pub fn make(snapshot: Option<&str>) -> Result<Self, Refused> {
        Ok(Self(match snapshot {
            None => RunRegistry::new(),
            Some(snapshot) => RunRegistry::restore(snapshot)?,
        }))
    }

    /// Carries out a call.
    pub fn call(&self, json: &str) -> String {
        let answer = read_call("call", json).and_then(|call| guard(|| self.answer(call)));
        written_answer(answer)
    }

    fn answer(&self, call: Call) -> Result<Value, Refused> {
        let Self(registry) = self;
        Ok(match call {
            Call::Register { thread } => json!(registry.register(thread)),
            Call::Replace { old } => json!(registry.replace(old)?),
            Call::Check { handle } => json!(registry.check(handle)?),
            Call::Complete { handle, outcome } => json!(registry.complete(handle, *outcome)?),
            Call::DisposalFailed { handle, message } => {
                json!(registry.disposal_failed(handle, &message)?)
            }
            Call::Current { thread } => json!(registry.current(thread)),
            Call::Running {} => json!(registry.running()),
            Call::LookAt { thread } => json!(registry.look_at(thread)),
            Call::LookedAt {} => json!(registry.looked_at()),
            Call::Unread { thread } => registry.unread(thread).into(),
            Call::UnreadThreads {} => json!(registry.unread_threads()),
            Call::Remove { thread } => json!(registry.remove(thread)),
            Call::TakeEvents {} => json!(registry.take_events()),
            Call::Snapshot {} => registry.snapshot().into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_taken_over_and_what_is_stale_says_so() {
        let registry = Registry::make(None).unwrap();
        let call = |said: Value| -> Value {
            serde_json::from_str(&registry.call(&said.to_string())).unwrap()
        };
        let thread = json!({ "thread": "a", "room": "", "server": "" });
        let register = json!({ "call": "register", "thread": { "thread": "a" } });
        let first = call(register.clone())["answer"]["handle"].take();
        assert_eq!(first, json!({ "key": thread, "generation": 1, "hop": 0 }));
        let second = call(register);
        assert_eq!(second["answer"]["replaced"], first);
        let stale = call(json!({ "call": "check", "handle": first }));
        assert_eq!(stale["refused"]["kind"], "stale");
        let second = &second["answer"]["handle"];
        // The form in which a machine writes an outcome, with its problem.
        let outcome = json!({ "outcome": "cancelled", "problem": { "kind": "stopped" } });
        let completed = call(json!({ "call": "complete", "handle": second, "outcome": outcome }));
        assert_eq!(completed, json!({ "answer": null }));
        assert_eq!(
            call(json!({ "call": "unreadThreads" })),
            json!({ "answer": [thread] })
        );
        let events = call(json!({ "call": "takeEvents" }))["answer"].take();
        let kinds: Vec<_> = events.as_array().unwrap().iter().collect();
        let kinds: Vec<_> = kinds.iter().map(|event| &event["type"]).collect();
        let expected = [
            "runStarted",
            "runCompleted",
            "runStarted",
            "staleInput",
            "runCompleted",
            "unread",
        ];
        assert_eq!(kinds, expected);
        let snapshot = call(json!({ "call": "snapshot" }))["answer"].take();
        let again = Registry::make(snapshot.as_str()).unwrap();
        let unread = json!({ "call": "unread", "thread": { "thread": "a" } });
        assert_eq!(again.call(&unread.to_string()), r#"{"answer":true}"#);
        assert_eq!(Registry::make(Some("{}")).unwrap_err().kind, "snapshot");
    }
}
