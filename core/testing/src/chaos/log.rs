//! A log of the steps of a run, in the form of scenario files.

use crate::scenario;
use serde_json::{Value, json};
use stepwell_core::run::{EffectId, Input, RunConfig};

#[derive(Debug, Default)]
pub(super) struct Log {
    steps: Vec<Value>,
    /// The bytes of a character that the next chunk completes: files hold text. Where a stream is cut changes nothing.
    rest: Vec<u8>,
    /// Whether there was an input that scenarios have no form for.
    is_partial: bool,
}

impl Log {
    pub(super) fn input(&mut self, now: u64, input: &Input<'_>) {
        let step = match input {
            Input::Received { effect, bytes } => {
                self.rest.extend_from_slice(bytes);
                let whole = match std::str::from_utf8(&self.rest) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => self.rest.len(),
                };
                let text: Vec<u8> = self.rest.drain(..whole).collect();
                let text = String::from_utf8_lossy(&text);
                Some(json!({"input": "receive", "effect": effect.to_string(), "text": text}))
            }
            _ => {
                self.rest.clear();
                scenario::step(input)
            }
        };
        match step {
            Some(mut step) => {
                step["at"] = now.into();
                self.steps.push(step);
            }
            None => self.is_partial = true,
        }
    }

    /// Returns whether the scenario has all that happened.
    pub(super) const fn is_complete(&self) -> bool {
        !self.is_partial
    }

    /// Logs that another host takes over: from a write, or from the present run.
    pub(super) fn revived(&mut self, now: u64, written: Option<EffectId>) {
        let mut step = json!({"input": "revive", "at": now});
        if let Some(written) = written {
            step["written"] = written.to_string().into();
        }
        self.steps.push(step);
    }

    /// Logs that another host begins the run again, since nothing is stored.
    pub(super) fn began_again(&mut self, now: u64) {
        self.steps
            .push(json!({"input": "new_run", "thread_id": "thread", "at": now}));
    }

    pub(super) fn scenario(&self, config: &RunConfig) -> Value {
        let begins = json!({"input": "new_run", "thread_id": "thread"});
        let steps: Vec<_> = std::iter::once(&begins).chain(&self.steps).collect();
        json!({
            "config": scenario::config(config),
            "steps": steps,
        })
    }
}
