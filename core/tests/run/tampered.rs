//! Snapshots that someone has changed: each is refused, or is a run that keeps its promises.

use crate::cases::cases;
use crate::snapshot_scenes::scenes;
use crate::snapshots::Calm;
use crate::turn::BOTH;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};
use stepwell_core::Timestamp;
use stepwell_core::dialect::Dialect;
use stepwell_core::run::{Input, RunConfig, RunMachine, SnapshotError};
use stepwell_testing::StoredTurn;

/// A snapshot, and what it is restored with.
struct Moment {
    name: &'static str,
    dialect: Dialect,
    config: Arc<RunConfig>,
    now: u64,
    snapshot: Value,
    /// What is stored of the run, if anything was written, and the checkpoint of that.
    stored: Option<(StoredTurn, Value)>,
}

static MOMENTS: LazyLock<Vec<Moment>> = LazyLock::new(|| {
    let moments = |dialect| {
        scenes(dialect).into_iter().map(move |scene| Moment {
            name: scene.name,
            dialect,
            now: scene.world.now,
            snapshot: serde_json::from_str(&scene.world.machine.snapshot()).expect("it is JSON"),
            stored: scene.world.store.turn.checkpoint.as_ref().map(|text| {
                let checkpoint = serde_json::from_str(text).expect("it is JSON");
                (scene.world.store.turn.clone(), checkpoint)
            }),
            config: scene.world.config,
        })
    };
    BOTH.into_iter().flat_map(moments).collect()
});

/// What is put in the place of a part of a snapshot.
#[derive(Clone, Debug)]
enum Change {
    Put(Value),
    /// A number that is so much more, or less.
    Add(i64),
    Remove,
    /// The first of a list once more, or the list backwards.
    Repeat,
    Reverse,
    /// What another part is.
    Copy(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let value = prop_oneof![
        Just(json!(u64::MAX)),
        Just(json!(i64::MAX)),
        Just(json!(u32::MAX)),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(0.5)),
        Just(json!("")),
        Just(json!("🙂")),
        Just(json!([])),
        Just(json!({})),
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(false)),
    ];
    prop_oneof![
        4 => value.prop_map(Change::Put),
        4 => (-2..3_i64).prop_map(Change::Add),
        2 => Just(Change::Remove),
        1 => Just(Change::Repeat),
        1 => Just(Change::Reverse),
        2 => any::<Index>().prop_map(Change::Copy),
    ]
}

/// The paths of all parts.
fn paths(value: &Value, path: &str, all: &mut Vec<String>) {
    all.push(path.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                paths(value, &format!("{path}/{name}"), all);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                paths(value, &format!("{path}/{index}"), all);
            }
        }
        _ => {}
    }
}

impl Change {
    fn path(&self, snapshot: &Value, at: Index) -> String {
        let mut all = Vec::new();
        paths(snapshot, "", &mut all);
        all.swap_remove(at.index(all.len()))
    }

    fn make(&self, snapshot: &mut Value, path: &str) {
        let mut all = Vec::new();
        paths(snapshot, "", &mut all);
        let other = match self {
            Self::Copy(from) => snapshot.pointer(&all[from.index(all.len())]).cloned(),
            _ => None,
        };
        if let (Self::Remove, Some((parent, name))) = (self, path.rsplit_once('/')) {
            match snapshot.pointer_mut(parent) {
                Some(Value::Object(fields)) => drop(fields.remove(name)),
                Some(Value::Array(items)) => drop(items.remove(name.parse().expect("an index"))),
                _ => {}
            }
            return;
        }
        match (self, snapshot.pointer_mut(path)) {
            (Self::Put(value), Some(part)) => *part = value.clone(),
            (Self::Copy(_), Some(part)) => *part = other.unwrap_or_default(),
            (Self::Add(by), Some(part)) => {
                if let Some(number) = part.as_u64() {
                    *part = json!(number.wrapping_add_signed(*by));
                }
            }
            (Self::Repeat, Some(Value::Array(items))) if !items.is_empty() => {
                items.push(items[0].clone());
            }
            (Self::Reverse, Some(Value::Array(items))) => items.reverse(),
            _ => {}
        }
    }
}

/// What becomes of a changed snapshot.
fn try_out(moment: &Moment, snapshot: &Value, revives: bool, cancels: bool) {
    let (text, config) = (snapshot.to_string(), Arc::clone(&moment.config));
    let machine = if revives {
        RunMachine::revive(&text, config, Timestamp(moment.now))
    } else {
        RunMachine::restore(&text, config)
    };
    go_on_with(moment, machine, cancels);
}

/// What becomes of a changed checkpoint.
fn try_out_stored(moment: &Moment, stored: &StoredTurn, checkpoint: &Value, cancels: bool) {
    let mut stored = stored.clone();
    stored.checkpoint = Some(checkpoint.to_string());
    let machine = stored.revive(&moment.config, Timestamp(moment.now));
    go_on_with(moment, machine, cancels);
}

fn go_on_with(moment: &Moment, machine: Result<RunMachine, SnapshotError>, cancels: bool) {
    let Ok(machine) = machine else { return };
    // Whoever reads it next sees the same run.
    let again = RunMachine::restore(&machine.snapshot(), Arc::clone(&moment.config));
    let again = again.expect("it was just written");
    assert_eq!(again.snapshot(), machine.snapshot());
    let mut host = Calm::new(moment.dialect, moment.now, machine);
    host.take_pending();
    host.take_outputs();
    // What stands still in the background, or waits for the network, goes on.
    for input in [Input::EnteredForeground, Input::NetworkAvailable] {
        host.feed(input);
    }
    if cancels {
        host.feed(Input::Cancel);
        assert!(host.machine.outcome().is_some());
    }
    host.end();
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn i04_a_changed_snapshot_is_refused_or_is_a_run_that_keeps_its_promises(
        moment in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), change()), 1..3),
        revives in any::<bool>(),
        cancels in any::<bool>(),
    ) {
        let moment = &MOMENTS[moment.index(MOMENTS.len())];
        let mut snapshot = moment.snapshot.clone();
        let mut said = moment.name.to_owned();
        for (at, change) in changes {
            let path = change.path(&snapshot, at);
            said.push_str(&format!(", {path}: {change:?}"));
            change.make(&mut snapshot, &path);
        }
        let tried = catch_unwind(AssertUnwindSafe(|| {
            try_out(moment, &snapshot, revives, cancels);
        }));
        prop_assert!(tried.is_ok(), "{said}; revives: {revives}, cancels: {cancels}");
    }

    #[test]
    fn i04_a_changed_checkpoint_is_refused_or_is_a_run_that_keeps_its_promises(
        moment in any::<Index>(),
        changes in prop::collection::vec((any::<Index>(), change()), 1..3),
        cancels in any::<bool>(),
    ) {
        let stored: Vec<_> = MOMENTS.iter().filter(|moment| moment.stored.is_some()).collect();
        let moment = stored[moment.index(stored.len())];
        let (turn, checkpoint) = moment.stored.as_ref().expect("it was stored");
        let mut checkpoint = checkpoint.clone();
        let mut said = moment.name.to_owned();
        for (at, change) in changes {
            let path = change.path(&checkpoint, at);
            said.push_str(&format!(", {path}: {change:?}"));
            change.make(&mut checkpoint, &path);
        }
        let tried = catch_unwind(AssertUnwindSafe(|| {
            try_out_stored(moment, turn, &checkpoint, cancels);
        }));
        prop_assert!(tried.is_ok(), "{said}; cancels: {cancels}");
    }
}

#[test]
fn an_effect_of_another_hop_is_refused() {
    let mut kinds = BTreeSet::new();
    for moment in MOMENTS.iter() {
        let mut all = Vec::new();
        paths(&moment.snapshot, "", &mut all);
        let hops = all.iter().filter(|path| path.contains("/core/effects/"));
        for path in hops.filter(|path| path.ends_with("/hop")) {
            let mut changed = moment.snapshot.clone();
            Change::Add(1).make(&mut changed, path);
            let restored = RunMachine::restore(&changed.to_string(), Arc::clone(&moment.config));
            assert!(restored.is_err(), "{}: {path}", moment.name);
            kinds.extend(path.rsplit('/').nth(1).map(str::to_owned));
        }
    }
    let expected = [
        "answer",
        "approve",
        "call",
        "create_run",
        "open",
        "output",
        "tool",
    ];
    assert!(kinds.iter().eq(expected), "{kinds:?}");
}

#[test]
fn a_snapshot_with_numbers_that_no_run_counts_to_is_refused() {
    let mut world = crate::world::with(Dialect::OpenAiChat, |config| {
        config.durability = stepwell_core::run::Durability::Blocks { attempts: 2 };
    })
    .streams([stepwell_testing::reply::text("Done.")]);
    world.send("Hello");
    world.drive();
    let snapshot = world.machine.snapshot();
    let mut changed: Value = serde_json::from_str(&snapshot).expect("it is JSON");
    let durable = changed.pointer_mut("/run/core/recorder/durable");
    *durable.expect("it has stored blocks") = json!(u64::MAX);
    let refused = RunMachine::restore(&changed.to_string(), Arc::clone(&world.config));
    let refused = refused.expect_err("so much was never stored");
    assert!(matches!(refused, SnapshotError::Impossible(_)), "{refused}");
    assert!(!refused.to_string().contains("Hello"));
}
