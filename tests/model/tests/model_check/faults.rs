//! Wrong behaviours seeded into the real code: the checker finds each, with the abstractions and without.

use crate::bounds::{Bounds, small, tiny};
use crate::search::{Extras, Report, breadth_first};
use std::time::Instant;
use stepwell_core::run::model_check::{Abstraction, Fault, seed};

/// Searches until the fault shows.
fn hunt(fault: Fault, spaces: &[Bounds], limit: usize) -> Option<(&'static str, Report)> {
    seed(Some(fault));
    let found = spaces.iter().find_map(|bounds| {
        let report = breadth_first(bounds, limit, Extras::ALL);
        report.fault.is_some().then_some((bounds.name, report))
    });
    seed(None);
    found
}

#[test]
fn every_seeded_fault_is_found() {
    let (small, started) = (small(), Instant::now());
    let mut missed = Vec::new();
    for fault in Fault::ALL {
        let Some((name, report)) = hunt(*fault, &small, 100_000) else {
            missed.push(fault);
            continue;
        };
        let example = report.fault.expect("it was found");
        println!(
            "{fault:?}: {} ({name}: after {} states, {} moves)",
            example.what.lines().next().unwrap_or_default(),
            report.states,
            example.moves.len(),
        );
    }
    println!(
        "{} faults, {:.1} s",
        Fault::ALL.len(),
        started.elapsed().as_secs_f64()
    );
    assert!(missed.is_empty(), "not found: {missed:?}");
}

/// A fault that the abstractions would hide, or invent, shows in one of the two only.
#[test]
fn every_fault_of_small_spaces_is_found_with_and_without_the_abstractions() {
    let with = tiny();
    let without: Vec<_> = tiny()
        .into_iter()
        .map(|bounds| bounds.with(Abstraction::NONE))
        .collect();
    let mut differs = Vec::new();
    for fault in Fault::ALL {
        let verdicts = [&with, &without].map(|spaces| hunt(*fault, spaces, 150_000).is_some());
        println!(
            "{fault:?}: found {} with, {} without",
            verdicts[0], verdicts[1]
        );
        if verdicts[0] != verdicts[1] {
            differs.push(fault);
        }
    }
    assert!(differs.is_empty(), "the verdicts differ: {differs:?}");
}
