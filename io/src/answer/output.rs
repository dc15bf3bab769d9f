//! The types of answers.

use crate::app::output::OutputDecoder;
use crate::turn::finished::Finished;
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::tool::{OutputType, OutputTypeError};

/// The type that the model is asked for, and its decoder.
pub(crate) type DecodedOutput = (OutputType, Arc<dyn OutputDecoder>);

/// A type of answers: `String` for text, and each type that is `Deserialize` and `JsonSchema`, whose schema the model
/// is given and whose values it makes. [`Value`] is for a type that is known only while the program runs.
pub trait Output: Sized + Send + 'static {
    /// Returns the type that the model is asked for, and its decoder; `None` for text.
    #[doc(hidden)]
    fn output_type() -> Result<Option<DecodedOutput>, OutputTypeError>;

    /// Returns the answer of a turn that has succeeded.
    #[doc(hidden)]
    fn of_end(end: &Finished) -> Result<Self, String>;
}

#[cfg(feature = "macros")]
impl<T> Output for T
where
    T: schemars::JsonSchema + serde::de::DeserializeOwned + Send + 'static,
{
    fn output_type() -> Result<Option<DecodedOutput>, OutputTypeError> {
        use crate::app::tools::typed::read;
        use std::any::TypeId;
        let own = TypeId::of::<T>();
        if own == TypeId::of::<String>() || own == TypeId::of::<Value>() {
            return Ok(None);
        }
        let decoder = Arc::new(|value: &Value| read::<T>(value));
        Ok(Some((
            crate::app::typed_output::output_type::<T>()?,
            decoder,
        )))
    }

    fn of_end(end: &Finished) -> Result<Self, String> {
        use std::any::Any;
        let mut own = None::<Self>;
        if let Some(text) = (&mut own as &mut dyn Any).downcast_mut::<Option<String>>() {
            *text = Some(end.text());
        } else {
            let value = end.output.as_ref().unwrap_or(&Value::Null);
            own = Some(crate::app::tools::typed::read(value)?);
        }
        own.ok_or_else(|| "the turn has no answer".to_owned())
    }
}

#[cfg(not(feature = "macros"))]
impl Output for String {
    fn output_type() -> Result<Option<DecodedOutput>, OutputTypeError> {
        Ok(None)
    }

    fn of_end(end: &Finished) -> Result<Self, String> {
        Ok(end.text())
    }
}

#[cfg(not(feature = "macros"))]
impl Output for Value {
    fn output_type() -> Result<Option<DecodedOutput>, OutputTypeError> {
        Ok(None)
    }

    fn of_end(end: &Finished) -> Result<Self, String> {
        Ok(end.output.clone().unwrap_or_default())
    }
}
