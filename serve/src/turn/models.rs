//! The models that a server offers: the one that answers, and those that a turn may ask for in its place.

use stepwell_io::config::Endpoint;

/// Returns the name of a model for clients: with its provider.
pub fn name(endpoint: &Endpoint) -> String {
    format!("{}/{}", endpoint.provider, endpoint.model)
}

/// The model of this name, if it is the usual one or another that is offered.
pub fn find<'a>(
    usual: &'a Endpoint,
    offered: &'a [Endpoint],
    wanted: &str,
) -> Option<&'a Endpoint> {
    let mut all = std::iter::once(usual).chain(offered);
    all.find(|endpoint| name(endpoint) == wanted)
}
