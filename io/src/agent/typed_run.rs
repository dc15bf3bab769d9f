//! Answers that are a type of the app's.

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
