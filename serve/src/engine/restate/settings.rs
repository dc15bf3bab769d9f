//! How a host and Restate reach each other.

use std::net::SocketAddr;

/// How a host and Restate reach each other.
#[derive(Clone, Debug)]
pub struct RestateSettings {
    /// Where turns are sent.
    pub ingress: String,
    /// Where hosts are made known.
    pub admin: String,
    /// Where this host listens for Restate.
    pub listen: SocketAddr,
    /// Where Restate reaches the hosts, if not there.
    pub url: Option<String>,
    /// What Restate signs its calls with: others are refused.
    pub identity: Option<String>,
}
