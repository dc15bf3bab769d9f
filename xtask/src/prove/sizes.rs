use super::Step;
use crate::suites::targets;

pub(super) const STEP: Step = Step {
    name: "sizes",
    about: "the libraries type-checked for iOS and Android, and those with the sans-IO API alone under their sizes",
    run: |context, log, _| targets::prove(context, log),
};
