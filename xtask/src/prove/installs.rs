use super::Step;
use crate::installs;

pub(super) const STEP: Step = Step {
    name: "installs",
    about: "each package, made as it would be published, taken from a registry on loopback as a user does, and its first program run",
    run: |context, log, options| installs::all(context, log, options.only.as_deref()),
};
