//! The HTTP client of agents: connections of its own, or whatever the app sends requests with.

mod address;
mod client;
mod connector;
mod error;
mod own;
mod pool;
mod proxy;
mod redirect;
#[cfg(feature = "reqwest")]
mod reqwest;
mod response;
#[cfg(feature = "tls")]
mod tls;

pub use client::HttpClient;
pub use error::{HttpClientError, SendError};
pub(crate) use redirect::redirect_body;
pub(crate) use response::Body;
