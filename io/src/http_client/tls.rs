use super::error::HttpClientError;
use hyper_rustls::ConfigBuilderExt;
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use std::sync::Arc;

/// TLS with what the system trusts. The crypto provider is the process's, if the app installed one, else ring: it is
/// given by value, since to install one is the app's to do.
pub(super) fn config() -> Result<ClientConfig, HttpClientError> {
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .try_with_platform_verifier()?
        .with_no_client_auth();
    Ok(config)
}
