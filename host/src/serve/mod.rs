//! The AG-UI server: takes runs over HTTP, drives each with an agent of its own, and streams its events.
//!
//! The way of a run: [`endpoint`] reads the request, [`AgUiServer`](stepwell_serve::AgUiServer) finds out what the run is, its engine drives the turn, and
//! the turn's events are streamed in the encoding that the client asked for. The same engine drives the turns of sessions.
//!
//! Source: AG-UI 1.0, <https://docs.ag-ui.com>.

mod agent;
mod authorization;
mod backend;
mod capabilities;
mod connections;
mod copilotkit;
mod dropped_logs;
mod endpoint;
mod extract;
mod host;
mod host_name;
mod journals;
mod measured;
mod metrics;
mod openapi;
mod page;
mod recording;
mod refusal;
mod requests;
mod router;
mod scripted;
mod server;
mod serving;
mod sessions;
#[cfg(test)]
#[path = "../../tests/simulation/mod.rs"]
mod simulation;
mod store_health;
mod stored_sessions;
mod thread_view;
mod turn_events;
mod turn_stream;
mod turns;
mod user_limits;

pub(crate) use backend::{Backend, ServerTool};
#[cfg(test)]
pub(crate) use host::Host;
pub(crate) use host::serve;
pub(crate) use openapi::AGENT_PATH;
pub(crate) use scripted::{scripted, scripted_slowly};
pub(crate) use serving::{EngineSettings, Limits, Serving, SessionStore};
#[cfg(feature = "restate")]
pub(crate) use stepwell_serve::parts::RestateSettings;
