//! What is thrown: an `Error` of the name `StepwellError` with a `kind` and `advice`.

use js_sys::{Error, Reflect};
use stepwell_core::run::{Misuse, SnapshotError};
use wasm_bindgen::JsValue;

/// A call that cannot be done, as JavaScript throws it.
pub(crate) struct Thrown(stepwell_json::Refused);

impl Thrown {
    pub(crate) fn argument(what: &str, reason: impl std::fmt::Display) -> Self {
        Self(stepwell_json::Refused::argument(what, reason))
    }
}

impl From<stepwell_json::Refused> for Thrown {
    fn from(refused: stepwell_json::Refused) -> Self {
        Self(refused)
    }
}

impl From<Misuse> for Thrown {
    fn from(misuse: Misuse) -> Self {
        Self(misuse.into())
    }
}

impl From<SnapshotError> for Thrown {
    fn from(error: SnapshotError) -> Self {
        Self(error.into())
    }
}

impl From<Thrown> for JsValue {
    fn from(Thrown(refused): Thrown) -> Self {
        let error = Error::new(&refused.reason);
        error.set_name("StepwellError");
        for (name, value) in [("kind", refused.kind), ("advice", &refused.advice)] {
            // A new object takes every property.
            let _ = Reflect::set(&error, &name.into(), &value.into());
        }
        error.into()
    }
}
