//! What holds of any arguments, however they are cut and stored.

use super::{follow, piecemeal, updates, world};
use crate::arguments::{arguments, lengths, mad};
use crate::cases::cases;
use crate::turn::BOTH;
use crate::world::Cut;
use proptest::prelude::*;
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{RunMachine, StateKind};
use stepwell_core::tool::parse_arguments;
use stepwell_testing::reply::{Part, text};

proptest! {
    #![proptest_config(cases(10))]

    /// Through the real machine, with the bytes cut anywhere, several calls interleaved, and the run stored and
    /// restored after every chunk.
    #[test]
    fn i16_what_is_said_of_streaming_arguments_is_never_taken_back_and_ends_as_the_whole(
        texts in prop::collection::vec((prop_oneof![2 => arguments(), 1 => mad()], lengths()), 1..4),
        dialect in 0..2usize,
        seed: u64,
    ) {
        let calls = texts.iter().enumerate().map(|(id, (text, lengths))| piecemeal(id, text, lengths));
        let script = || world(BOTH[dialect], true).seed(seed).streams([Part::Calls(calls.clone().collect())]).streams([text("Done.")]);
        let mut plain = script();
        let mut restored = script();
        restored.restores = true;
        let views = follow(&mut plain);
        prop_assert_eq!(&views, &follow(&mut restored));
        prop_assert_eq!(plain.seen.outputs, restored.seen.outputs);
        for (id, (text, _)) in texts.iter().enumerate() {
            let view = &views[&format!("c{id}")];
            match parse_arguments(text) {
                Ok(value) => {
                    prop_assert_eq!(&view.stopped, &None);
                    prop_assert_eq!(&view.value, &value);
                }
                Err(error) => prop_assert!(view.stopped.is_some(), "{error}: {view:?}"),
            }
        }
    }

    /// Stored with some outputs taken and some not: the changes go on from where they were.
    #[test]
    fn i16_a_restore_between_two_outputs_changes_no_update(text in arguments(), lengths in lengths(), at in 0..12usize) {
        let whole = || {
            let mut world = world(Dialect::AgUi, true);
            world.cut = Cut::Whole;
            let calls = vec![piecemeal(0, &text, &lengths), piecemeal(1, &text, &[3])];
            world = world.streams([Part::Calls(calls)]);
            world.send("Go on");
            world.drive_to(StateKind::Streaming);
            let (_, input) = world.scheduled.pop_first().expect("the body is to come");
            world.machine.handle(input, stepwell_core::Timestamp(world.now)).expect("in its place");
            world
        };
        let (mut plain, mut restored) = (whole(), whole());
        let mut outputs = Vec::new();
        outputs.extend(std::iter::from_fn(|| restored.machine.poll_output()).take(at));
        let snapshot = restored.machine.snapshot();
        let mut machine = RunMachine::restore(&snapshot, Arc::clone(&restored.config)).expect("it was just written");
        outputs.extend(std::iter::from_fn(|| machine.poll_output()));
        let expected: Vec<_> = std::iter::from_fn(|| plain.machine.poll_output()).collect();
        prop_assert_eq!(&outputs, &expected);
        let mut view = Value::Null;
        for update in updates(&outputs).filter(|update| update.tool_call_id == "c0") {
            for change in &update.changes {
                change.apply(&mut view).expect("in order");
            }
        }
        prop_assert_eq!(view, parse_arguments(&text).expect("they are sound"));
    }
}
