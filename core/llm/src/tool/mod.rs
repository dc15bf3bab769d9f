//! The tools that a model may call, and the checks of its calls.
//!
//! This crate has a tool's name, its parameters and the conditions under which it may run. The tool's code stays with
//! the host.
//!
//! ```
//! use serde_json::json;
//! use stepwell_llm::tool::{Tool, ToolRegistry};
//!
//! let registry = ToolRegistry::new().register(
//!     Tool::new("get_weather", "The weather in a city.").parameters(json!({
//!         "type": "object",
//!         "properties": { "city": { "type": "string" } },
//!         "required": ["city"]
//!     })),
//! )?;
//! assert!(registry.check("get_weather", r#"{"city":"Bergen"}"#).is_ok());
//! assert!(registry.check("get_weather", r#"{"town":"Bergen"}"#).is_err());
//! # Ok::<(), stepwell_llm::tool::ToolError>(())
//! ```

mod arguments;
mod json_in_text;
mod label;
mod output_type;
mod partial;
mod registry;
mod result;
// For `stepwell-core`. The module is hidden because it may change in any release.
#[doc(hidden)]
pub mod schema;

pub use arguments::{Arguments, Rejection, parse_arguments, repair_surrogates};
pub use label::ToolLabel;
#[doc(hidden)]
pub use label::one_line;
pub use output_type::{OutputMode, OutputType, OutputTypeError};
pub use partial::{
    Change, InvalidArguments, MisplacedChange, OwnedChange, PartialArguments, PartialState,
};
pub use registry::{Tool, ToolError, ToolRegistry};
pub use result::{ToolFailure, ToolFailureKind, ToolOutput, ToolResult};
