use super::error::HttpClientError;
use hyper_rustls::ConfigBuilderExt;
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use std::sync::Arc;

/// TLS with what the system trusts; on Android with Mozilla's roots. The crypto provider is the process's, if the app installed one, else ring: it is
/// given by value, since to install one is the app's to do.
pub(super) fn config() -> Result<ClientConfig, HttpClientError> {
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions()?;
    #[cfg(target_os = "android")]
    let config = config.with_webpki_roots();
    #[cfg(not(target_os = "android"))]
    let config = config.try_with_platform_verifier()?;
    Ok(config.with_no_client_auth())
}
