//! How a host and Restate reach each other.

use std::net::SocketAddr;

/// The addresses and the key with which a host and Restate reach each other.
#[derive(Clone, Debug)]
pub struct RestateSettings {
    /// The URL to which turns are sent.
    pub ingress: String,
    /// The URL where hosts are registered.
    pub admin: String,
    /// The address where this host listens for Restate.
    pub listen: SocketAddr,
    /// The URL at which Restate reaches the hosts, if it is not that address.
    pub url: Option<String>,
    /// The key with which Restate signs its calls. Other calls are refused.
    pub identity: Option<String>,
}
