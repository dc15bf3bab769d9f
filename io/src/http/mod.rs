//! The HTTP client of agents, with its own connections or with an HTTP stack of the app's.

mod address;
mod app_transport;
mod client;
mod connector;
mod error;
mod pool;
mod proxy;
mod redirect;
#[cfg(feature = "reqwest")]
mod reqwest;
mod response;
mod shared;
#[cfg(feature = "tls")]
mod tls;

pub use client::HttpClient;
pub use error::{HttpClientError, SendError};
pub(crate) use redirect::redirect_body;
pub(crate) use response::Body;
