//! Tools whose arguments and results are types of the app's: by `#[tool]` on a function, or by a closure.

use crate::app::tools::context::ToolContext;
use crate::app::tools::handler::{
    Blocking, IntoToolAnswer, ToolAnswer, ToolHandler, WithDeps, not_json,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::any::Any;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::sync::Arc;
use stepwell_core::event::{ContentPart, MessageContent};
use stepwell_core::tool::{Tool, ToolFailure, ToolOutput};

/// A tool with its code, from a function in [`tools!`](crate::tools).
///
/// `D` is the type of the app's value that the tool needs.
pub struct AgentTool<D = ()> {
    /// The tool's definition, and how it may be run.
    pub tool: Tool,
    pub(crate) handler: Arc<dyn ToolHandler>,
    deps: PhantomData<fn(D)>,
}

impl<D> Clone for AgentTool<D> {
    fn clone(&self) -> Self {
        Self {
            tool: self.tool.clone(),
            handler: Arc::clone(&self.handler),
            deps: PhantomData,
        }
    }
}

impl<D: 'static> AgentTool<D> {
    fn new<A: JsonSchema>(tool: Tool, handler: impl ToolHandler<D>) -> Self {
        Self {
            tool: tool.parameters(json_schema::<A>()),
            handler: Arc::new(WithDeps::new(handler)),
            deps: PhantomData,
        }
    }
}

impl<D> fmt::Debug for AgentTool<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentTool")
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// A function with [`#[tool]`](macro@crate::tool), as a type of the function's name. `D` is the type of the app's value that
/// the function needs: that of its `ToolContext<D>`, or any.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool of an agent whose tools need a `{D}`",
    note = "write `#[tool]` on the function of this name; one that takes a `ToolContext<D>` is for an `Agent<D>`"
)]
pub trait ToolFunction<D = ()> {
    /// Returns the tool, with the function as its code.
    fn tool() -> AgentTool<D>;
}

/// Makes tools of functions with [`#[tool]`](macro@crate::tool), for
/// [`AgentBuilder::tools`](crate::AgentBuilder::tools). A path that is no such function does not compile:
///
/// ```compile_fail,E0277
/// struct Weather;
/// let _ = stepwell_io::tools![Weather];
/// ```
#[macro_export]
macro_rules! tools {
    ($($function:path),* $(,)?) => { [$(<$function as $crate::tool::ToolFunction<_>>::tool()),*] };
}

/// The result of a typed tool: a [`Serialize`] type, or a [`ToolAnswer`]. [Media](crate::media), alone or in a `Vec`,
/// and a [`MessageContent`] are shown to the model as media.
///
/// `M` distinguishes the two implementations, and is always inferred.
pub trait ToolReply<M> {
    /// Returns the tool's answer.
    ///
    /// # Errors
    /// The value cannot be written as JSON.
    fn reply(self) -> Result<ToolAnswer, serde_json::Error>;
}

impl ToolReply<Self> for ToolAnswer {
    fn reply(self) -> Result<ToolAnswer, serde_json::Error> {
        Ok(self)
    }
}

impl<T: Serialize + 'static> ToolReply<Value> for T {
    fn reply(self) -> Result<ToolAnswer, serde_json::Error> {
        let value: &dyn Any = &self;
        // These types are serialized for storage; here they are what the model sees.
        if let Some(output) = value.downcast_ref::<ToolOutput>() {
            return Ok(output.clone().into());
        }
        if let Some(content) = value.downcast_ref::<MessageContent>() {
            return Ok(ToolOutput::from(content.clone()).into());
        }
        if let Some(part) = value.downcast_ref::<ContentPart>() {
            return Ok(ToolOutput::from(part.clone()).into());
        }
        if let Some(parts) = value.downcast_ref::<Vec<ContentPart>>() {
            return Ok(ToolOutput::from(parts.clone()).into());
        }
        if value.is::<()>() {
            return Ok("done".into());
        }
        Ok(serde_json::to_value(self)?.into())
    }
}

/// Returns the JSON Schema of a type, without what is useless to the model.
pub(crate) fn json_schema<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings
            .transforms
            .push(Box::new(schemars::transform::RecursiveTransform(
                without_number_format,
            )));
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}

/// Removes `uint32`, `double` and other formats of OpenAPI, which some providers refuse. The bounds stay.
fn without_number_format(schema: &mut schemars::Schema) {
    let is_text =
        |schema: &schemars::Schema| schema.get("type").is_some_and(|kind| kind == "string");
    if !is_text(schema) {
        schema.remove("format");
    }
}

/// Makes a tool of an async function.
#[doc(hidden)]
pub fn asynchronous<D, A, F, Fut>(tool: Tool, code: F) -> AgentTool<D>
where
    D: 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    F: Fn(A, ToolContext<D>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoToolAnswer> + Send + 'static,
{
    let code = Arc::new(code);
    AgentTool::new::<A>(tool, move |call: ToolContext<D>| {
        let code = Arc::clone(&code);
        async move { code(arguments(&call)?, call).await.into_tool_answer() }
    })
}

/// Makes a tool of a function that may block.
#[doc(hidden)]
pub fn blocking<D, A, F>(tool: Tool, code: F) -> AgentTool<D>
where
    D: 'static,
    A: JsonSchema + DeserializeOwned + Send + 'static,
    F: Fn(A, ToolContext<D>) -> Result<ToolAnswer, ToolFailure> + Send + Sync + 'static,
{
    let code = move |call: ToolContext<D>| code(arguments(&call)?, call);
    AgentTool::new::<A>(tool, Blocking(Arc::new(code)))
}

/// Reads the arguments as the tool's type, which may demand more than its schema.
fn arguments<D, A: DeserializeOwned>(call: &ToolContext<D>) -> Result<A, ToolFailure> {
    read(&call.arguments.value).map_err(|reason| {
        ToolFailure::error(format!(
            "the arguments of `{}` cannot be taken: {reason}",
            call.name
        ))
    })
}

/// Reads a value as a type of the app's.
///
/// # Errors
/// The value does not fit: what, and where, in words for the model.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let place = error.path().to_string();
        let reason = error.into_inner();
        match place.as_str() {
            "." => reason.to_string(),
            _ => format!("{reason} (at {place})"),
        }
    })
}

/// The returned value of a function: a `Result`, or a value without an error.
#[doc(hidden)]
#[derive(Debug)]
pub struct Returned<T>(pub T);

impl<T, E> Returned<Result<T, E>> {
    #[doc(hidden)]
    pub fn answer<M>(self) -> Result<ToolAnswer, ToolFailure>
    where
        T: ToolReply<M>,
        E: Display,
    {
        let value = self
            .0
            .map_err(|error| ToolFailure::error(error.to_string()))?;
        value.reply().map_err(|error| not_json(&error))
    }
}

/// A value that is no `Result`: an inherent method is found before a trait's.
#[doc(hidden)]
pub trait ReturnsValue {
    #[doc(hidden)]
    type Value;

    #[doc(hidden)]
    fn answer<M>(self) -> Result<ToolAnswer, ToolFailure>
    where
        Self::Value: ToolReply<M>;
}

impl<T> ReturnsValue for Returned<T> {
    type Value = T;

    fn answer<M>(self) -> Result<ToolAnswer, ToolFailure>
    where
        T: ToolReply<M>,
    {
        Returned(Ok::<_, std::convert::Infallible>(self.0)).answer()
    }
}
