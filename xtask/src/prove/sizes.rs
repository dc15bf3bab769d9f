use super::Step;
use crate::packages::sizes;

pub(super) const STEP: Step = Step {
    name: "sizes",
    about: "the libraries with the sans-IO API alone: each under its size, and a static one for iOS comes of it",
    run: |context, log, _| {
        let folder = sizes::make(context, log)?;
        Ok(format!(
            "each is under its size, and there is one for iOS: {}",
            folder.display()
        ))
    },
};
