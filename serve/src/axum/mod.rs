//! Stepwell's agents in an axum app.
//!
//! [`router`] has the routes for [AG-UI](https://docs.ag-ui.com) clients and for chats of the
//! [AI SDK](https://ai-sdk.dev), with tools of the client's, shared state, and questions to the user: about tools that need an
//! approval, and of tools that run:
//!
//! ```no_run
//! use stepwell_io::{Agent, provider};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = provider::find("openai")?.endpoint(None, "gpt-4o-mini", None, Some("the key".into()))?;
//! let agent = Agent::builder(endpoint).instructions("You answer in one sentence.").build()?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! axum::serve(listener, stepwell_serve::axum::router(agent)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! In a handler of your own, [`RunRequest`] and [`Chat`] read what a client asks for, and answer with a turn that you have
//! begun.

mod body;
#[doc(hidden)]
pub mod durable_stream;
mod refusal;
mod requests;
mod routes;

pub use body::{RequestBody, chat_response, check_content_type, read_body, response};
pub use refusal::{ChatRefusal, Refusal};
pub use requests::{Chat, RunRequest};
pub use routes::{AgentRoutes, router};
