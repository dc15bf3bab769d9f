//! A run goes around the languages: each restores what the one before stored, plays its part of the steps, and stores
//! the run for the next; the last one has the digest. `cargo xtask test ring` turns it.

use crate::scenarios;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use stepwell_core::run::RunMachine;
use stepwell_testing::scenario::Host;

/// The part of the steps that is this one's: the `leg`th of `legs`, from 1.
fn part(steps: usize, leg: usize, legs: usize) -> std::ops::Range<usize> {
    steps * (leg - 1) / legs..steps * leg / legs
}

/// A run that has left its host cannot be stored as such.
fn goes_around(scenario: &Value) -> bool {
    let steps = scenario["steps"].as_array().expect("steps");
    !steps.iter().any(|step| step["input"] == "dispose")
}

fn take_over(host: &mut Host, stored: &Value) {
    host.now = stored["now"].as_u64().expect("a time");
    for (name, snapshot) in stored["runs"].as_object().expect("runs") {
        let snapshot = snapshot.as_str().expect("a text");
        let machine = RunMachine::restore(snapshot, Arc::clone(&host.config));
        host.runs
            .insert(name.clone(), machine.expect("a snapshot can be read"));
    }
    for (name, snapshot) in stored["written"].as_object().expect("writes") {
        let snapshot = snapshot.as_str().expect("a text").to_owned();
        host.written.insert(name.clone(), snapshot);
    }
}

#[test]
fn a_leg_of_the_ring() {
    let Some(folder) = std::env::var_os("STEPWELL_RING").map(PathBuf::from) else {
        return; // Only in the ring's own suite.
    };
    let leg = std::env::var("STEPWELL_RING_LEG").expect("a leg");
    let (leg, legs) = leg.split_once('/').expect("a leg of so many");
    let (leg, legs) = (
        leg.parse().expect("a number"),
        legs.parse().expect("a number"),
    );
    let mut played = 0;
    for scenario in scenarios().iter().filter(|one| goes_around(&one.content)) {
        let name = &scenario.name;
        let mut host = Host::new(&scenario.content);
        if leg > 1 {
            let path = folder.join(format!("{name}.{}.json", leg - 1));
            let stored = std::fs::read_to_string(path).expect("the leg before has been");
            take_over(&mut host, &serde_json::from_str(&stored).expect("JSON"));
        }
        let steps = scenario.content["steps"].as_array().expect("steps");
        for step in &steps[part(steps.len(), leg, legs)] {
            let gives = host.step(step);
            assert_eq!(gives, step["gives"], "{name} at {step}");
        }
        if leg == legs {
            let digests = Value::Object(host.digests());
            assert_eq!(digests, scenario.content["digests"], "{name}");
        }
        let runs = host.runs.iter();
        let runs: serde_json::Map<_, _> = runs
            .map(|(name, machine)| (name.clone(), machine.snapshot().into()))
            .collect();
        let stored = json!({ "now": host.now, "runs": runs, "written": host.written });
        let path = folder.join(format!("{name}.{leg}.json"));
        std::fs::write(path, stored.to_string()).expect("it can be written");
        played += 1;
    }
    assert!(played >= 50, "{played}");
}
