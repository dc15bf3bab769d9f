//! Where an issuer's keys come from, and how they are kept current.

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
use stepwell_io::{HttpClient, SendError};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// Between two looks at where the keys are: whoever sends tokens with keys that nobody knows causes no more of them.
const PAUSE: Duration = Duration::from_secs(60);

/// How long keys are taken to be current. After that they are looked at again when one is needed, so that a key that the
/// issuer has withdrawn is forgotten.
const FRESH: Duration = Duration::from_secs(3600);

/// How long a look may take.
const LOOK: Duration = Duration::from_secs(10);

/// Where keys are.
pub(crate) trait KeySource: Debug + Send + Sync {
    /// The key set as it is now.
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
    Late,
    #[error("this is no key set: {0}")]
    Form(#[from] serde_json::Error),
    #[error(
        "no key of the set can verify a signature: RSA, P-256, P-384 and Ed25519 can, by their public keys"
    )]
    None,
    /// It is not repeated: it may hold a password.
    #[error("this is no address of keys: write a file, or a URL with https://")]
    Address,
}

/// A file, or an address.
#[derive(Debug)]
pub(crate) enum KeyPlace {
    File(PathBuf),
    Url(String, HttpClient),
}

impl KeyPlace {
    /// What somebody wrote: a URL, or the path of a file.
    ///
    /// # Errors
    /// It is a URL that others could answer: without TLS, and not on this machine.
    pub(crate) fn of(text: &str, client: HttpClient) -> Result<Self, KeysError> {
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

/// The keys of an issuer. Clones are the same keys.
#[derive(Clone, Debug)]
pub(crate) struct Keys(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    source: Box<dyn KeySource>,
    known: RwLock<Option<Known>>,
    /// When somebody looked last; locked while somebody looks.
    looked: Mutex<Option<Instant>>,
}

#[derive(Clone, Debug)]
struct Known {
    set: Arc<KeySet>,
    since: Instant,
}

/// Why there is no key for a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The issuer has none of this id and kind.
    Unknown,
    /// The issuer's keys were never had.
    Away,
}

impl Keys {
    pub(crate) fn new(source: impl KeySource + 'static) -> Self {
        Self(Arc::new(Inner {
            source: Box::new(source),
            known: RwLock::default(),
            looked: Mutex::default(),
        }))
    }

    /// Reads them for the first time.
    ///
    /// # Errors
    /// They cannot be had. The next token that needs one has them looked for again, after a minute.
    pub(crate) async fn load(&self) -> Result<(), KeysError> {
        let mut looked = self.0.looked.lock().await;
        *looked = Some(Instant::now());
        self.look().await
    }

    /// The key for a token. One that is not known may be new: the keys are then read again, once a minute at most.
    pub(super) async fn find(
        &self,
        id: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<DecodingKey, NoKey> {
        if let Some(known) = self.known()
            && let Some(key) = known.set.find(id, algorithm)
        {
            if known.since.elapsed() >= FRESH {
                // Nobody waits for that.
                let keys = self.clone();
                tokio::spawn(async move { keys.look_again().await });
            }
            return Ok(key.clone());
        }
        self.look_again().await;
        let known = self.known().ok_or(NoKey::Away)?;
        known.set.find(id, algorithm).cloned().ok_or(NoKey::Unknown)
    }

    /// Looks, unless somebody has in the last minute. Whoever comes while somebody looks waits for them.
    async fn look_again(&self) {
        let mut looked = self.0.looked.lock().await;
        if looked.is_some_and(|looked| looked.elapsed() < PAUSE) {
            return;
        }
        *looked = Some(Instant::now());
        if let Err(error) = self.look().await {
            tracing::error!(target: "stepwell", %error, "the issuer's keys cannot be read");
        }
    }

    async fn look(&self) -> Result<(), KeysError> {
        let read = tokio::time::timeout(LOOK, self.0.source.read()).await;
        let read = read.map_err(|_| KeysError::Late)??;
        let set = KeySet::parse(&read)?;
        if set.len() == 0 {
            return Err(KeysError::None);
        }
        let known = Known {
            set: Arc::new(set),
            since: Instant::now(),
        };
        // Nothing is left half-done under the lock.
        let mut held = self.0.known.write().unwrap_or_else(PoisonError::into_inner);
        *held = Some(known);
        Ok(())
    }

    fn known(&self) -> Option<Known> {
        let held = self.0.known.read().unwrap_or_else(PoisonError::into_inner);
        held.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_from_a_file_or_from_where_nobody_can_change_them() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = HttpClient::new().unwrap();
        let place = |text: &str| KeyPlace::of(text, client.clone());
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
