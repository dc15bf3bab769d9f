use crate::error::StepwellError;
use crate::event::ArgumentsChange;
use crate::json_value::JsonValue;
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use stepwell_core::tool::OwnedChange;

/// A value that streams: applies the changes in the events `PartialOutput` of a typed answer, and `PartialArguments` of
/// a call's arguments. A text in the value may still grow, and complete values stay; no value is checked.
#[derive(Debug, Default, uniffi::Object)]
pub struct PartialValue {
    value: Mutex<Option<Value>>,
}

#[uniffi::export]
impl PartialValue {
    /// Creates a value of which nothing is known yet.
    #[uniffi::constructor]
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies the changes of one event. Apply those of each event, in order: others do not fit.
    pub fn apply(&self, changes: Vec<ArgumentsChange>) -> Result<(), StepwellError> {
        let mut known = self.known();
        for change in changes {
            let change = into_core(change)?;
            let value = known.get_or_insert(Value::Null);
            change.apply(value).map_err(|error| {
                StepwellError::misuse(&error, "apply the changes of each event, in order")
            })?;
        }
        Ok(())
    }

    /// Returns what is known so far: any JSON. Absent while nothing is known. The cost grows with the value, so ask
    /// only for what is shown.
    pub fn value(&self) -> Option<JsonValue> {
        self.known().as_ref().map(JsonValue::of)
    }
}

impl PartialValue {
    fn known(&self) -> MutexGuard<'_, Option<Value>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn into_core(change: ArgumentsChange) -> Result<OwnedChange, StepwellError> {
    let parsed = |value: JsonValue| {
        serde_json::from_str(value.as_str()).map_err(|error| {
            StepwellError::misuse(&error, "apply the changes as the event has them")
        })
    };
    Ok(match change {
        ArgumentsChange::Add { path, value } => OwnedChange::Add {
            path: path.into(),
            value: parsed(value)?,
        },
        ArgumentsChange::Append { path, text } => OwnedChange::Append {
            path: path.into(),
            text: text.into(),
        },
        ArgumentsChange::End { path } => OwnedChange::End { path: path.into() },
        ArgumentsChange::Replace { path, value } => OwnedChange::Replace {
            path: path.into(),
            value: parsed(value)?,
        },
    })
}

#[test]
fn the_changes_of_a_stream_are_its_value() {
    let partial = PartialValue::new();
    assert_eq!(partial.value(), None);
    let add = |path: &str, value: &str| ArgumentsChange::Add {
        path: path.to_owned(),
        value: JsonValue::from_text(value.to_owned()),
    };
    let append = |path: &str, text: &str| ArgumentsChange::Append {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let begun = partial.apply(vec![
        add("", "{}"),
        add("/city", r#""""#),
        append("/city", "Ber"),
    ]);
    begun.expect("they fit");
    let shown = || partial.value().map(|value| value.as_str().to_owned());
    assert_eq!(shown().as_deref(), Some(r#"{"city":"Ber"}"#));
    partial
        .apply(vec![append("/city", "gen"), add("/days", "3")])
        .expect("they fit");
    assert_eq!(shown().as_deref(), Some(r#"{"city":"Bergen","days":3}"#));
    assert!(partial.apply(vec![append("/country", "Norway")]).is_err());
}
