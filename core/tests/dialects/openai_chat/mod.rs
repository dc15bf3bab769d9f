//! The Chat Completions dialect, through its public API: quirks of the wire, cutting, snapshots, requests.

mod audio;
mod errors;
mod reasoning;
mod request;
mod text;
mod tool_calls;
mod whole;
