use super::error::HttpClientError;
use crate::base::lock;
use hyper_rustls::ConfigBuilderExt;
use rustls::ClientConfig;
use rustls::crypto::{CryptoProvider, ring};
use std::sync::{Arc, Mutex};

/// The configuration that all clients of the process share, and the crypto provider that it was made with, if the app
/// has installed one. Reading the system's certificates takes some 15 ms.
static SHARED: Mutex<Option<(Option<Arc<CryptoProvider>>, ClientConfig)>> = Mutex::new(None);

/// Returns a TLS configuration with the system's trusted certificates, which are read once; on Android with Mozilla's.
/// The crypto provider is the process's, if the app installed one, else ring. It is passed by value: only the app may
/// install one.
pub(super) fn config() -> Result<ClientConfig, HttpClientError> {
    let installed = CryptoProvider::get_default().cloned();
    let mut shared = lock(&SHARED);
    if let Some((provider, config)) = &*shared
        && is_same(provider.as_ref(), installed.as_ref())
    {
        return Ok(config.clone());
    }
    let config = read(installed.clone())?;
    *shared = Some((installed, config.clone()));
    Ok(config)
}

fn is_same(one: Option<&Arc<CryptoProvider>>, other: Option<&Arc<CryptoProvider>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}

fn read(installed: Option<Arc<CryptoProvider>>) -> Result<ClientConfig, HttpClientError> {
    let provider = installed.unwrap_or_else(|| Arc::new(ring::default_provider()));
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions()?;
    #[cfg(target_os = "android")]
    let config = config.with_webpki_roots();
    #[cfg(not(target_os = "android"))]
    let config = config.try_with_platform_verifier()?;
    Ok(config.with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_certificates_once() {
        let (one, other) = (config().unwrap(), config().unwrap());
        assert!(Arc::ptr_eq(&one.key_log, &other.key_log));
    }
}
