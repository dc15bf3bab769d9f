//! Answers that are a type of the app's.

use crate::app::tools::typed::json_schema;
use schemars::JsonSchema;
use stepwell_core::tool::{OutputType, OutputTypeError};

/// Returns the type of an answer that is a type of the app's; the model sees its doc comments. It is for what
/// [`Agent::run`](crate::Agent::run) does not do: other retries, another mode, the events of the turn.
///
/// ```
/// use schemars::JsonSchema;
/// use stepwell_io::output::{output_type, OutputMode};
///
/// /// A journey.
/// #[derive(JsonSchema)]
/// struct Trip {
///     city: String,
/// }
///
/// let trip = output_type::<Trip>()?.mode(OutputMode::Tool).retries(1);
/// assert_eq!(trip.name(), "Trip");
/// # Ok::<(), stepwell_io::output::OutputTypeError>(())
/// ```
///
/// # Errors
/// The type's schema is invalid: a schema that is written by hand may be.
pub fn output_type<T: JsonSchema>() -> Result<OutputType, OutputTypeError> {
    // The name of a generic type may have other characters.
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() => letter,
        _ => '_',
    };
    let name = T::schema_name();
    OutputType::new(
        name.chars().map(plain).take(64).collect::<String>(),
        json_schema::<T>(),
    )
}
