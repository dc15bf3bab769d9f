//! The arguments of calls, parsed while they stream.

mod again;
mod asked;
mod properties;
mod spelled;
mod whole;

use crate::arguments::{cut, extends};
use crate::world::{ToolReply, World, offer};
use serde_json::Value;
use std::collections::BTreeMap;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{Output, PartialArgumentsUpdate, RunEvent, StateKind};
use stepwell_core::tool::{OwnedChange, Tool};
use stepwell_testing::reply::Call;

/// What a UI makes of the updates.
#[derive(Debug, Default, PartialEq)]
struct View {
    value: Value,
    stopped: Option<String>,
}

fn world(dialect: Dialect, is_on: bool) -> World {
    crate::world::with(dialect, |config| {
        offer(config, Tool::new("work", "Works."));
        config.partial_arguments = is_on;
    })
    .tool("work", |_| ToolReply::text("done"))
}

fn updates(outputs: &[Output]) -> impl Iterator<Item = &PartialArgumentsUpdate> {
    outputs.iter().filter_map(|output| match output {
        Output::Event(RunEvent::PartialArguments(update)) => Some(update),
        _ => None,
    })
}

/// Takes the turn to its end, and holds every step to the promises.
fn follow(world: &mut World) -> BTreeMap<String, View> {
    let mut views: BTreeMap<String, View> = BTreeMap::new();
    let mut seen = 0;
    world.send("Go on");
    while world.step() {
        for update in updates(&world.seen.outputs[seen..]) {
            let view = views.entry(update.tool_call_id.to_string()).or_default();
            assert_eq!(view.stopped, None, "{update:?} after it had stopped");
            let before = view.value.clone();
            for change in &update.changes {
                change.apply(&mut view.value).expect("in order");
            }
            let replaces = |change: &OwnedChange| matches!(change, OwnedChange::Replace { .. });
            assert!(
                before.is_null()
                    || update.changes.iter().any(replaces)
                    || extends(&before, &view.value),
                "{before} became {}",
                view.value
            );
            view.stopped.clone_from(&update.stopped);
        }
        seen = world.seen.outputs.len();
        let transcript = world.machine.transcript();
        for live in transcript.calls() {
            let call = transcript.tool_call(live).expect("a call has its message");
            let partial = world
                .machine
                .partial_arguments(&live.id)
                .expect("it is read");
            assert!(call.function.arguments.starts_with(partial.text()));
            let view = views.get(live.id.as_str());
            assert_eq!(
                partial.value(),
                view.map_or(Value::Null, |view| view.value.clone())
            );
        }
    }
    assert_eq!(world.machine.state(), StateKind::Completed);
    views
}

fn piecemeal(id: usize, text: &str, lengths: &[usize]) -> Call {
    let mut pieces = cut(text, lengths);
    pieces.retain(|piece| !piece.is_empty());
    Call {
        id: format!("c{id}"),
        name: "work".to_owned(),
        fragments: pieces,
    }
}
