//! Tools whose arguments and results are types of the app's.

use super::AgentBuilder;
use crate::app::tools::context::ToolContext;
use crate::app::tools::handler::IntoToolAnswer;
use crate::app::tools::typed::{AgentTool, asynchronous};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use stepwell_core::tool::Tool;

impl<D: Send + Sync + 'static, T> AgentBuilder<D, T> {
    /// Adds tools that are functions: see [`#[tool]`](macro@crate::tool).
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use stepwell_io::{tool, tools};
    ///
    /// /// The secret number of a person.
    /// #[tool]
    /// async fn get_secret_number(
    ///     /// The first name.
    ///     name: String,
    /// ) -> u32 {
    ///     if name == "alice" { 42 } else { 7 }
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let agent = Agent::builder(endpoint).tools(tools![get_secret_number]).build()?;
    /// # let _: Agent = agent;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn tools(self, tools: impl IntoIterator<Item = AgentTool<D>>) -> Self {
        let add =
            |builder: Self, tool: AgentTool<D>| builder.shared_handler(tool.tool, tool.handler);
        tools.into_iter().fold(self, add)
    }

    /// Adds a tool whose arguments are a type of the app's, from which the tool's parameters are generated. The code is
    /// an async closure from the arguments and the call to an [answer](IntoToolAnswer): a text, a number, a value in
    /// [`Json`](crate::tool::Json), or a `Result` of one.
    ///
    /// ```
    /// # use stepwell_io::{Agent, provider};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    /// use stepwell_io::tool::Tool;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Person {
    ///     /// The first name.
    ///     name: String,
    /// }
    ///
    /// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
    /// let secret_number = Tool::new("get_secret_number", "The secret number of a person.");
    /// let agent = Agent::builder(endpoint)
    ///     .typed_tool(secret_number, |person: Person, _| async move {
    ///         match person.name.as_str() {
    ///             "alice" => Ok(42),
    ///             _ => Err("nobody knows it"),
    ///         }
    ///     })
    ///     .build()?;
    /// # let _: Agent = agent;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn typed_tool<A, F, Fut>(self, tool: Tool, code: F) -> Self
    where
        A: JsonSchema + DeserializeOwned + Send + 'static,
        F: Fn(A, ToolContext<D>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoToolAnswer> + Send + 'static,
    {
        self.tools([asynchronous(tool, code)])
    }
}
