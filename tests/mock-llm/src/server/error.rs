//! What can go wrong before the server is up.

use std::io;
use std::net::SocketAddr;

/// Why [`MockLlm::start`](crate::MockLlm::start) did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The port could not be opened.
    #[error("cannot listen on {address}: {source}; choose another port, or 0 for any free one")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The script asks for something HTTP cannot carry.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// The fault of a [`Script`](crate::Script).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The text is not a script: not JSON, an unknown field, a value of the wrong type.
    #[error("the script cannot be read: {0}; the README of stepwell-mock-llm lists every field")]
    Json(#[from] serde_json::Error),
    /// A hop cannot be sent as it is written.
    #[error("hop {hop} of the script cannot be played: {reason}")]
    Hop {
        /// Its place in the script, from 0.
        hop: usize,
        /// The fault, and what would be right.
        reason: String,
    },
}
