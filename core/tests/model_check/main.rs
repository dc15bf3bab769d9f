//! The model checker: an exhaustive search over the real run; see `docs/model-checker.md`.
#![allow(unreachable_pub)] // the modules are this one test's

mod bounds;
mod invariants;
mod look;
mod mad;
mod moves;
mod outputs;
mod peer;
mod search;
mod second;
mod world;

use search::{Extras, breadth_first};

#[test]
fn small_bounds_hold_with_everything_checked() {
    for bounds in bounds::small() {
        let report = breadth_first(&bounds, usize::MAX, Extras::ALL);
        report.print(bounds.name);
        report.assert_right(&bounds);
    }
}
