//! Answers that are a type of the app's.

use crate::app::tools::typed::json_schema;
use schemars::JsonSchema;
use stepwell_core::tool::{OutputType, OutputTypeError};

/// The type of an answer, read off a type of the app's: what its comments say is told to the model. For what
/// [`Agent::run`](crate::Agent::run) does not do: other retries, another mode, the events of the turn.
///
/// ```
/// use schemars::JsonSchema;
/// use stepwell_io::{OutputMode, output_type};
///
/// /// A journey.
/// #[derive(JsonSchema)]
/// struct Trip {
///     city: String,
/// }
///
/// let trip = output_type::<Trip>()?.mode(OutputMode::Tool).retries(1);
/// assert_eq!(trip.name(), "Trip");
/// # Ok::<(), stepwell_io::OutputTypeError>(())
/// ```
///
/// # Errors
/// Its schema is none: one that is written by hand may be.
pub fn output_type<T: JsonSchema>() -> Result<OutputType, OutputTypeError> {
    // That of a generic type may have other characters.
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
