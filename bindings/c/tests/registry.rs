//! The registry, and calls about stored turns, through the functions that C calls.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::ptr;
use stepwell_c::{
    StepwellRegistry, StepwellText, stepwell_registry_call, stepwell_registry_free,
    stepwell_registry_make, stepwell_session_call, stepwell_text_free,
};

fn taken(text: StepwellText) -> Value {
    // SAFETY: the library returned the text, which is freed once.
    let value = unsafe {
        let bytes = std::slice::from_raw_parts(text.data, text.length).to_vec();
        stepwell_text_free(text);
        serde_json::from_slice(&bytes)
    };
    value.unwrap()
}

/// A registry as C has it.
struct Registry(*mut StepwellRegistry);

impl Registry {
    fn make(snapshot: Option<&str>) -> Result<Self, Value> {
        let mut refusal = StepwellText {
            data: ptr::null_mut(),
            length: 0,
        };
        let (data, length) = snapshot.map_or((ptr::null(), 0), |text| (text.as_ptr(), text.len()));
        // SAFETY: the pointers point to values of this function.
        let registry = unsafe { stepwell_registry_make(data, length, &raw mut refusal) };
        if registry.is_null() {
            return Err(taken(refusal));
        }
        Ok(Self(registry))
    }

    fn call(&self, call: &Value) -> Value {
        let json = call.to_string();
        // SAFETY: as above.
        taken(unsafe { stepwell_registry_call(self.0, json.as_ptr(), json.len()) })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // SAFETY: the registry was created here, and is freed once.
        unsafe { stepwell_registry_free(self.0) };
    }
}

#[test]
fn a_thread_has_one_run_and_is_unread_when_it_has_ended() {
    let registry = Registry::make(None).unwrap();
    let thread = json!({ "thread": "diary" });
    let register = json!({ "call": "register", "thread": thread });
    let first = registry.call(&register)["answer"]["handle"].take();
    let second = registry.call(&register)["answer"].take();
    assert_eq!(second["replaced"], first);
    let stale = registry.call(&json!({ "call": "replace", "old": first }));
    assert_eq!(stale["refused"]["kind"], "stale");
    let handle = registry.call(&json!({ "call": "replace", "old": second["handle"] }));
    let complete = json!({ "call": "complete", "handle": handle["answer"], "outcome": { "outcome": "success" } });
    assert_eq!(registry.call(&complete), json!({ "answer": null }));
    let unread = json!({ "call": "unreadThreads" });
    assert_eq!(registry.call(&unread)["answer"][0]["thread"], "diary");

    let snapshot = registry.call(&json!({ "call": "snapshot" }));
    let stored = Registry::make(snapshot["answer"].as_str()).unwrap();
    assert_eq!(stored.call(&unread)["answer"][0]["thread"], "diary");
    stored.call(&json!({ "call": "lookAt", "thread": thread }));
    assert_eq!(stored.call(&unread), json!({ "answer": [] }));
}

#[test]
fn what_cannot_be_done_is_refused() {
    assert_eq!(
        Registry::make(Some("{}")).err().unwrap()["refused"]["kind"],
        "snapshot"
    );
    let registry = Registry::make(None).unwrap();
    for wrong in [json!({ "call": "nothing" }), json!([])] {
        let refused = registry.call(&wrong);
        assert_eq!(refused["refused"]["kind"], "invalidArgument", "{refused}");
    }
    // SAFETY: a null is no registry, and bytes that are no text are here.
    let (none, no_text) = unsafe {
        (
            taken(stepwell_registry_call(ptr::null(), [].as_ptr(), 0)),
            taken(stepwell_registry_call(registry.0, [0xff].as_ptr(), 1)),
        )
    };
    assert_eq!(none["refused"]["kind"], "invalidArgument");
    assert_eq!(no_text["refused"]["kind"], "invalidArgument");
}

#[test]
fn stored_turns_are_asked_without_a_run() {
    let call = json!({ "call": "notStored", "message": "no disk" }).to_string();
    // SAFETY: the pointers point to values of this function.
    let (outcome, no_text) = unsafe {
        (
            taken(stepwell_session_call(call.as_ptr(), call.len())),
            taken(stepwell_session_call([0xff].as_ptr(), 1)),
        )
    };
    assert_eq!(outcome["answer"]["outcome"], "failed");
    assert_eq!(no_text["refused"]["kind"], "invalidArgument");
}
