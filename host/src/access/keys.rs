//! The keys of an issuer: reads them, and keeps them current.

use super::key_set::KeySet;
use axum::http::Uri;
use futures::FutureExt;
use futures::future::BoxFuture;
use jsonwebtoken::{Algorithm, DecodingKey};
use std::fmt::Debug;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use stepwell_core::dialect::HttpRequest;
use stepwell_io::HttpClient;
use stepwell_io::http::SendError;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// The shortest time between two reads of the keys, so that tokens with unknown keys cause no more reads.
const MIN_READ_INTERVAL: Duration = Duration::from_secs(60);

/// The age at which keys are read again when one is needed, so that a key that the issuer has withdrawn is forgotten.
const MAX_AGE: Duration = Duration::from_secs(3600);

/// The time that a read may take.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// The source of keys.
pub(crate) trait KeySource: Debug + Send + Sync {
    /// Reads the current key set.
    fn read(&self) -> BoxFuture<'_, Result<Vec<u8>, KeysError>>;
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeysError {
    #[error("{0}")]
    File(#[from] io::Error),
    #[error("{0}")]
    Send(#[from] SendError),
    #[error("the answer has the status {0}")]
    Status(u16),
    #[error("no answer came in time")]
    Timeout,
    #[error("this is no key set: {0}")]
    Invalid(#[from] serde_json::Error),
    #[error(
        "no key of the set can verify a signature: RSA, P-256, P-384 and Ed25519 can, by their public keys"
    )]
    None,
    /// The address is not repeated: it may hold a password.
    #[error("this is no address of keys: write a file, or a URL with https://")]
    Address,
}

/// A file or a URL with keys.
#[derive(Debug)]
pub(crate) enum KeyPlace {
    File(PathBuf),
    Url(String, HttpClient),
}

impl KeyPlace {
    /// Parses a URL or the path of a file.
    ///
    /// # Errors
    /// The URL is neither protected by TLS nor on this machine, so that others could answer.
    pub(crate) fn parse(text: &str, client: HttpClient) -> Result<Self, KeysError> {
        if !text.contains("://") {
            return Ok(Self::File(PathBuf::from(text)));
        }
        let is_safe = text.parse::<Uri>().is_ok_and(|uri| match uri.scheme_str() {
            Some("https") => true,
            Some("http") => uri.host().is_some_and(is_loopback),
            _ => false,
        });
        if !is_safe {
            return Err(KeysError::Address);
        }
        Ok(Self::Url(text.to_owned(), client))
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let address = address.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

impl KeySource for KeyPlace {
    fn read(&self) -> BoxFuture<'_, Result<Vec<u8>, KeysError>> {
        async move {
            let (url, client) = match self {
                Self::File(path) => return Ok(std::fs::read(path)?),
                Self::Url(url, client) => (url, client),
            };
            let request = HttpRequest {
                method: "GET",
                url: url.clone(),
                headers: vec![("accept".to_owned(), "application/json".to_owned())],
                body: Vec::new(),
            };
            match client.exchange(request).await? {
                (200, body) => Ok(body),
                (status, _) => Err(KeysError::Status(status)),
            }
        }
        .boxed()
    }
}

/// The keys of an issuer. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Keys(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Box<dyn KeySource>,
    known: RwLock<Option<KnownKeys>>,
    /// The time of the last read; locked during a read.
    last_read: Mutex<Option<Instant>>,
}

#[derive(Clone, Debug)]
struct KnownKeys {
    set: Arc<KeySet>,
    since: Instant,
}

/// Why there is no key for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The issuer has none of this id and kind.
    Unknown,
    /// The issuer's keys could never be read.
    Unavailable,
}

impl Keys {
    pub(crate) fn new(source: impl KeySource + 'static) -> Self {
        Self(Arc::new(Inner {
            source: Box::new(source),
            known: RwLock::default(),
            last_read: Mutex::default(),
        }))
    }

    /// Reads the keys for the first time.
    ///
    /// # Errors
    /// The keys cannot be read. The next token that needs one reads them again, after a minute.
    pub(crate) async fn load(&self) -> Result<(), KeysError> {
        let mut last_read = self.0.last_read.lock().await;
        *last_read = Some(Instant::now());
        self.read_keys().await
    }

    /// Returns the key for a token. An unknown key may be new: the keys are then read again, at most once a minute.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, NoKey> {
        if let Some(known) = self.known()
            && let Some(key) = known.set.find(id, algorithm)
        {
            if known.since.elapsed() >= MAX_AGE {
                // In the background: this token has its key.
                let keys = self.clone();
                tokio::spawn(async move { keys.refresh().await });
            }
            return Ok(key.clone());
        }
        self.refresh().await;
        let known = self.known().ok_or(NoKey::Unavailable)?;
        known.set.find(id, algorithm).cloned().ok_or(NoKey::Unknown)
    }

    /// Reads the keys, unless they were read in the last minute. A concurrent caller waits for the read.
    async fn refresh(&self) {
        let mut last_read = self.0.last_read.lock().await;
        if last_read.is_some_and(|last_read| last_read.elapsed() < MIN_READ_INTERVAL) {
            return;
        }
        *last_read = Some(Instant::now());
        if let Err(error) = self.read_keys().await {
            tracing::error!(target: "stepwell", %error, "the issuer's keys cannot be read");
        }
    }

    async fn read_keys(&self) -> Result<(), KeysError> {
        let read = tokio::time::timeout(READ_TIMEOUT, self.0.source.read()).await;
        let read = read.map_err(|_| KeysError::Timeout)??;
        let set = KeySet::parse(&read)?;
        if set.len() == 0 {
            return Err(KeysError::None);
        }
        let known = KnownKeys {
            set: Arc::new(set),
            since: Instant::now(),
        };
        // A panic under the lock leaves nothing half-done.
        let mut held = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        *held = Some(known);
        Ok(())
    }

    fn known(&self) -> Option<KnownKeys> {
        let held = self.0.known.read().unwrap_or_else(PoisonError::into_inner);
        held.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_from_file_or_trusted_url() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = HttpClient::new().unwrap();
        let place = |text: &str| KeyPlace::parse(text, client.clone());
        assert!(matches!(place("keys.json"), Ok(KeyPlace::File(_))));
        for url in [
            "https://issuer.example/keys",
            "http://127.0.0.1:8080/keys",
            "http://[::1]/keys",
            "http://localhost/keys",
        ] {
            assert!(matches!(place(url), Ok(KeyPlace::Url(..))), "{url}");
        }
        for url in [
            "http://issuer.example/keys",
            "http://localhost.evil.example/keys",
            "http://127.0.0.1.evil.example/keys",
            "file:///etc/keys",
            "https://",
        ] {
            assert!(matches!(place(url), Err(KeysError::Address)), "{url}");
        }
    }
}
