//! What is thrown: an `Error` of the name `StepwellError` with a `kind`, a `reason` and `advice`.

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
        let error = Error::new(&format!("{}; {}", refused.reason, refused.advice));
        error.set_name("StepwellError");
        let parts = [
            ("kind", refused.kind),
            ("reason", &refused.reason),
            ("advice", &refused.advice),
        ];
        for (name, value) in parts {
            // A new object takes every property.
            let _ = Reflect::set(&error, &name.into(), &value.into());
        }
        error.into()
    }
}
