//! Who asks for them, and how long they are there.

use super::{updates, world};
use crate::world::Cut;
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{RunMachine, StateKind};
use stepwell_core::tool::PartialState;
use stepwell_testing::reply::{call, text};

#[test]
fn they_are_off_unless_asked_for() {
    let mut off = world(Dialect::AgUi, false)
        .streams([call("c", "work", r#"{"a":1}"#)])
        .streams([text("Done.")]);
    off.send("Go on");
    while off.step() {
        assert!(off.machine.partial_arguments("c").is_none());
    }
    assert_eq!(updates(&off.seen.outputs).count(), 0);
    assert!(!off.machine.snapshot().contains("partial"));
}

#[test]
fn a_call_is_looked_up_until_its_result_is_in_the_history() {
    let mut world = world(Dialect::OpenAiChat, true)
        .streams([call("c", "work", r#"{"a":1}"#)])
        .streams([text("Done.")]);
    world.send("Go on");
    world.drive_to(StateKind::ExecutingTools);
    let partial = world.machine.partial_arguments("c").expect("it is live");
    assert_eq!(partial.state(), PartialState::Complete);
    let snapshot = world.machine.snapshot();
    let restored = RunMachine::restore(&snapshot, Arc::clone(&world.config)).expect("just written");
    assert_eq!(restored.partial_arguments("c"), Some(partial));
    world.drive();
    assert!(world.machine.partial_arguments("c").is_none());
}

#[test]
fn who_asks_only_after_a_restore_is_told_from_the_beginning() {
    let mut config = None;
    let mut late =
        world(Dialect::AgUi, false).streams([call("c", "work", r#"{"a":"one two three"}"#)]);
    late.cut = Cut::Every(40);
    late.send("Go on");
    late.drive_until(|world| {
        let transcript = world.machine.transcript();
        transcript
            .tool_calls()
            .any(|call| call.function.arguments.len() > 5)
    });
    let on = config.get_or_insert((*late.config).clone());
    on.partial_arguments = true;
    let on = Arc::new(on.clone());
    let machine =
        RunMachine::restore(&late.machine.snapshot(), Arc::clone(&on)).expect("just written");
    late.config = on;
    late.put_back(machine);
    let seen = late.seen.outputs.len();
    late.drive_to(StateKind::ExecutingTools);
    let mut view = Value::Null;
    for update in updates(&late.seen.outputs[seen..]) {
        for change in &update.changes {
            change.apply(&mut view).expect("in order");
        }
    }
    assert_eq!(view, json!({"a": "one two three"}));
}
