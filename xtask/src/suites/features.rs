use super::Suite;
use crate::features;

pub(super) const SUITE: Suite = Suite {
    name: "features",
    about: "each language has what Rust's agent can, or docs/features.md says why not",
    run: features::check,
};
