//! The model checker: an exhaustive search over the real run; see `core/docs/model-checker.md`.
#![allow(unreachable_pub)] // the modules are this one test's

mod bounds;
mod faults;
mod invariants;
mod look;
mod mad;
mod moves;
mod outputs;
mod peer;
mod search;
mod second;
mod world;

use search::{Extras, breadth_first, depth_first};
use std::collections::HashSet;
use stepwell_core::run::model_check::Abstraction;
use stepwell_core::run::{EDGES, EdgeRow};

fn number(variable: &str) -> Option<usize> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

/// Returns the number of states that a search must see at least, if `STEPWELL_STATES` sets it.
fn states() -> Option<usize> {
    number("STEPWELL_STATES")
}

/// Returns which new states of the small bounds are also restored and fed every mad input: all of them, or one in as
/// many as `STEPWELL_SHARE` says.
fn share() -> Extras {
    number("STEPWELL_SHARE").map_or(Extras::ALL, |share| Extras(share as u64))
}

/// All small bounds, or those of the name that `STEPWELL_BOUNDS` has.
#[test]
fn small_bounds_hold_with_everything_checked_and_walk_every_edge() {
    println!("checked in every state: {}", invariants::CHECKED.join(" "));
    let mut walked: HashSet<EdgeRow> = HashSet::new();
    let only = std::env::var("STEPWELL_BOUNDS").unwrap_or_default();
    for bounds in bounds::small() {
        if !only.is_empty() && bounds.name != only {
            continue;
        }
        let report = breadth_first(&bounds, usize::MAX, share());
        report.print(bounds.name);
        report.assert_right(&bounds);
        walked.extend(report.walked);
    }
    if !only.is_empty() {
        return;
    }
    let table: HashSet<EdgeRow> = EDGES.iter().copied().collect();
    let never: Vec<_> = table.difference(&walked).collect();
    assert!(
        never.is_empty(),
        "in the table, and never walked: {never:?}"
    );
    let unknown: Vec<_> = walked.difference(&table).collect();
    assert!(
        unknown.is_empty(),
        "walked, and not in the table: {unknown:?}"
    );
}

/// Depth first, and stateright, come to the same states. Spaces with more than half of `STEPWELL_STATES` are left out.
#[test]
fn the_second_opinion_counts_the_same_states() {
    let limit = states().map_or(usize::MAX, |states| states / 2);
    for bounds in bounds::small() {
        let first = breadth_first(&bounds, limit, Extras::NONE);
        first.assert_right(&bounds);
        if first.is_cut {
            continue;
        }
        let deep = depth_first(&bounds, usize::MAX, Extras::NONE);
        deep.assert_right(&bounds);
        let second = second::states(&bounds);
        println!(
            "{}: {} states, depth first {}, stateright {second}",
            bounds.name, first.states, deep.states
        );
        assert_eq!(
            (first.states, first.transitions),
            (deep.states, deep.transitions)
        );
        assert_eq!(first.states, second);
    }
}

/// The canonical form hides no fault: with all that it leaves out kept, and with each part of it, all is still right.
/// Spaces with more states than `STEPWELL_STATES` are searched in part.
#[test]
fn the_abstractions_do_not_change_the_verdict() {
    let all = Abstraction::ALL;
    let variants = [
        ("all left out", all),
        ("times kept", Abstraction { time: false, ..all }),
        (
            "numbers kept",
            Abstraction {
                numbers: false,
                ..all
            },
        ),
        (
            "history kept",
            Abstraction {
                history: false,
                ..all
            },
        ),
        (
            "results kept",
            Abstraction {
                results: false,
                ..all
            },
        ),
        ("nothing left out", Abstraction::NONE),
    ];
    for bounds in bounds::tiny() {
        for (name, abstraction) in variants {
            let bounds = bounds.clone().with(abstraction);
            let limit = states().unwrap_or(usize::MAX);
            let report = breadth_first(&bounds, limit, Extras::NONE);
            report.print(&format!("{}, {name}", bounds.name));
            report.assert_right(&bounds);
        }
    }
}

/// Up to three calls in each of three hops, until this many distinct states were seen: 1 000 000, or the value of
/// `STEPWELL_STATES`.
#[test]
fn large_bounds_hold() {
    let wanted = states().unwrap_or(1_000_000);
    // The longer the run, the fewer of its states are also restored and fed mad inputs.
    let extras = Extras((wanted as u64 / 100_000).max(share().0));
    let mut seen = 0;
    for bounds in bounds::large() {
        let report = depth_first(&bounds, wanted - seen, extras);
        report.print(bounds.name);
        report.assert_right(&bounds);
        seen += report.states;
        if seen >= wanted {
            break;
        }
    }
    println!(
        "{seen} distinct states; one in {} restored and fed everything mad",
        extras.0
    );
    assert!(seen >= wanted, "the bounds have {seen} states only");
}

/// Answers in the background with two crashes, until a tenth as many distinct states were seen, or all.
#[test]
fn large_bounds_in_the_background_hold() {
    let wanted = states().unwrap_or(1_000_000) / 10;
    let extras = Extras((wanted as u64 / 10_000).max(share().0));
    let bounds = bounds::large_in_background();
    let report = depth_first(&bounds, wanted, extras);
    report.print(bounds.name);
    report.assert_right(&bounds);
}
