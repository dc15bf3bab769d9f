//! `#[tool]`, for `stepwell-io`, which exports it.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod expand;
mod function;
mod options;

use function::Function;
use options::Options;
use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, parse_macro_input};

/// Makes a tool of a function: for `tools!`, which gives it to an agent.
///
/// The model calls it by the function's name, and reads its documentation up to the first heading. It is given the JSON
/// Schema of the arguments: their types are [`Deserialize`](https://docs.rs/serde/latest/serde/trait.Deserialize.html)
/// and [`JsonSchema`](https://docs.rs/schemars/latest/schemars/trait.JsonSchema.html), a comment before one is its
/// description, and an `Option` may be left out. `#[serde(…)]` and `#[schemars(…)]` before an argument are as before the
/// field of a struct: `#[serde(default)]`, `#[schemars(range(min = 1))]`.
///
/// ```
/// use serde::Serialize;
/// use std::time::Duration;
/// use stepwell_io::{Agent, provider, tool, tools};
///
/// #[derive(Serialize)]
/// struct Forecast {
///     city: String,
///     degrees: f64,
/// }
///
/// /// The weather in a city.
/// #[tool(idempotent, timeout = Duration::from_secs(10))]
/// async fn get_weather(
///     /// Its name, without the country.
///     city: String,
///     /// In how many days: today if not given.
///     days: Option<u8>,
/// ) -> Result<Forecast, String> {
///     match days.unwrap_or_default() {
///         0..7 => Ok(Forecast { city, degrees: 21.5 }),
///         _ => Err("nobody knows so far ahead".to_owned()),
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let endpoint = provider::find("openai-compatible")?.endpoint(None, "m", Some("http://localhost/v1"), None)?;
/// let agent = Agent::builder(endpoint).tools(tools![get_weather]).build()?;
/// # Ok(())
/// # }
/// ```
///
/// A function that is not `async` may block: each call has a thread to itself. What it gives is
/// [`Serialize`](https://docs.rs/serde/latest/serde/trait.Serialize.html), or a `ToolAnswer` where the result comes later
/// or is more than text; the error of a `Result` is `Display`, and the model reads it. The function itself stays as it
/// is, for other code and for tests.
///
/// The options are those of a `Tool`: `name = "…"` in place of the function's, `requires_approval`, `idempotent`,
/// `repeatable`, `timeout = Duration`, and `label = |arguments| …`, for what the user is shown of a call.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, function: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(function as ItemFn);
    let read = Function::read(&mut item);
    let options = syn::parse::<Options>(options);
    let made = match (read, options) {
        (Ok(function), Ok(options)) => expand::tool(&item, &function, &options),
        (Err(mut errors), Err(of_options)) => {
            errors.combine(of_options);
            Err(errors)
        }
        (Err(errors), Ok(_)) | (Ok(_), Err(errors)) => Err(errors),
    };
    let made = made.unwrap_or_else(|errors| errors.to_compile_error());
    // The function is there in any case: code that calls it is not to blame.
    quote!(#item #made).into()
}
