//! Turns whose answer is a type of the app's.

use crate::agent::Agent;
use crate::app::output::OutputDecoder;
use crate::app::tools::typed::read;
use crate::app::typed_output::output_type;
use crate::turn::finished::{Finished, TurnFailed};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use stepwell_core::event::MessageContent;
use stepwell_core::tool::OutputTypeError;

/// Why [`Agent::run`] returns no value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// An answer cannot have this type. Nothing was sent.
    #[error(transparent)]
    Type(#[from] OutputTypeError),
    /// The answer is incomplete, or does not fit the type. Its text is [`Finished::text`].
    #[error(transparent)]
    Turn(#[from] TurnFailed),
    /// The decoder refused a value that it had taken before.
    #[error("the answer was decoded before, and is refused now: {0}")]
    Decoder(String),
}

impl Agent {
    /// Sends a message to the model, and returns its answer as a value of the app's type. An answer that does not fit
    /// the type goes back to the model with the path and the reason, twice; then the turn fails.
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
    /// The answer is incomplete, or does not fit ([`ErrorKind::OutputInvalid`](crate::ErrorKind::OutputInvalid));
    /// its text is kept. An answer cannot have this type.
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
    /// Returns the typed answer as a value of the app's type.
    ///
    /// # Errors
    /// The turn has no typed answer, or it does not fit the type.
    pub fn output_as<T: DeserializeOwned>(&self) -> Result<T, RunError> {
        read(self.output.as_ref().unwrap_or(&Value::Null)).map_err(RunError::Decoder)
    }
}
