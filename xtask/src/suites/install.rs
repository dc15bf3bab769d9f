use super::Suite;
use crate::{installs, packages::crates};

pub(super) const SUITE: Suite = Suite {
    name: "install",
    about: "the crates: packed, taken from a registry as a user does, and the first program run; other suites try theirs",
    run: |context, log| {
        let packed = crates::pack(context, log)?;
        installs::one(context, log, &installs::CARGO, &packed)
    },
};
