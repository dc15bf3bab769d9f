//! Answers that are a type of the app's.

use crate::agent::Agent;
use crate::output::OutputDecoder;
use crate::turn::{Finished, TurnFailed};
use crate::typed_tools::{json_schema, read};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::event::MessageContent;
use stepwell_core::tool::{OutputType, OutputTypeError};

/// Why [`Agent::run`] gives no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The type is none that an answer can have. Nothing was sent.
    #[error(transparent)]
    Type(#[from] OutputTypeError),
    /// The answer is not whole, or does not fit the type. The turn has its text: [`Finished::text`].
    #[error(transparent)]
    Turn(#[from] TurnFailed),
    /// A value that its decoder had taken is refused the second time.
    #[error("the answer was decoded before, and now cannot be: {0}")]
    Decoder(String),
}

/// The type of an answer, read off a type of the app's: what its comments say is told to the model. For what
/// [`Agent::run`] does not do: other retries, another mode, the events of the turn.
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

impl Agent {
    /// Says something to the model, and gives its answer as a value of the app's type. What does not fit the type goes back
    /// to the model with the path and the reason, twice; then the turn has failed.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Trip {
    ///     city: String,
    ///     /// At least one.
    ///     days: u8,
    /// }
    ///
    /// # async fn example(agent: stepwell_io::Agent) -> Result<(), Box<dyn std::error::Error>> {
    /// let trip: Trip = agent.run("Three days in Norway's rainiest city").await?;
    /// println!("{} days in {}", trip.days, trip.city);
    /// for trip in agent.run::<Vec<Trip>>("Two others").await? {
    ///     println!("{}", trip.city);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The answer is not whole, or does not fit ([`ProblemKind::OutputInvalid`](crate::ProblemKind::OutputInvalid)); its text
    /// is kept. The type is none that an answer can have.
    pub async fn run<T>(&self, content: impl Into<MessageContent>) -> Result<T, RunError>
    where
        T: JsonSchema + DeserializeOwned + 'static,
    {
        let decoder: Arc<dyn OutputDecoder> = Arc::new(|value: &Value| read::<T>(value));
        let agent = self.with_output(output_type::<T>()?, Some(decoder));
        agent.send(content).await?.output_as()
    }
}

impl Finished {
    /// The typed answer as a value of the app's type.
    ///
    /// # Errors
    /// The type does not take it, or there is none.
    pub fn output_as<T: DeserializeOwned>(&self) -> Result<T, RunError> {
        read(self.output.as_ref().unwrap_or(&Value::Null)).map_err(RunError::Decoder)
    }
}
