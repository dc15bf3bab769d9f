//! For a core with one of the faults of `tests/faults/run.toml` in it, which `cargo xtask test model` makes.

use crate::bounds::tiny;
use crate::search::{Extras, breadth_first};
use stepwell_core::run::model_check::Abstraction;

/// A fault that the abstractions would hide, or invent, shows in one of the two only.
#[test]
#[ignore = "of a core without a fault it says nothing"]
fn the_abstractions_neither_hide_nor_invent_a_fault() {
    let [with, without] = [Abstraction::ALL, Abstraction::NONE].map(|abstraction| {
        let is_found_within = |limit| {
            tiny().into_iter().any(|bounds| {
                let bounds = bounds.with(abstraction);
                let report = breadth_first(&bounds, limit, Extras::ALL);
                report.print(bounds.name);
                report
                    .fault
                    .inspect(|fault| println!("{}", fault.what))
                    .is_some()
            })
        };
        // Nearly all show soon, but not in every space.
        is_found_within(2_000) || is_found_within(150_000)
    });
    assert_eq!(with, without);
}
