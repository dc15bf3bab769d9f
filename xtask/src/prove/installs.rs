use super::Step;
use crate::installs;

pub(super) const STEP: Step = Step {
    name: "installs",
    about: "each package, made as it would be published and taken as its page says, and its first program run",
    run: |context, log, options| installs::all(context, log, options.only.as_deref()),
};
