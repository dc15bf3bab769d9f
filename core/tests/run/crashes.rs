//! The invariants over a host that dies at any time and comes back with what its store has.

use crate::cases::cases;
use crate::rules::openai_chat;
use proptest::prelude::*;
use std::sync::Arc;
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::event::Message;
use stepwell_core::run::{Effect, Input, Output, RunMachine, Start};
use stepwell_testing::chaos::{Action, Chaos, actions};
use stepwell_testing::settings;

proptest! {
    #![proptest_config(cases(80))]

    /// The blocks have no gap, what builds on them waits for them, no tool runs twice, and nothing that was shown is lost.
    #[test]
    fn i06_i07_i15_hold_over_any_crashes(setting in settings(), actions in actions(), written: bool) {
        let mut chaos = Chaos::new(setting.storing().config());
        for action in actions {
            chaos.apply(action);
        }
        chaos.finish()?;
        chaos.apply(Action::Crash { written });
        chaos.finish()?;
    }

    #[test]
    fn i13_every_request_is_legal(setting in settings(), actions in actions()) {
        let mut chaos = Chaos::new(setting.storing().speaking(Dialect::OpenAiChat).config());
        for action in actions {
            chaos.apply(action);
        }
        chaos.finish()?;
        // However the turn ended, the next one can be asked for.
        let history = chaos.machine().transcript().clone();
        let mut next = RunMachine::new(Arc::clone(chaos.config()), "thread".into(), history);
        let start = Start::new("run-2", Message::user("user-2", "And now?"));
        prop_assert_eq!(next.handle(Input::Start(Box::new(start)), Timestamp(1 << 40)), Ok(()));
        let asked: Vec<_> = std::iter::from_fn(|| next.poll_output()).collect();
        prop_assert!(!asked.is_empty());
        for output in chaos.outputs().iter().chain(&asked) {
            // What goes to models of other providers is checked as it is sent.
            if let Output::Effect(id, Effect::OpenStream { request }) = output
                && request.url.ends_with("/chat/completions")
            {
                let body = serde_json::from_slice(&request.body).expect("requests are JSON");
                if let Err(fault) = openai_chat(&body) {
                    prop_assert!(false, "I13: {id}: {fault}\n{body:#}");
                }
            }
        }
    }
}
