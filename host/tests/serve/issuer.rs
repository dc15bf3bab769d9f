//! An issuer of JSON Web Tokens on this machine.

use axum::Router;
use axum::routing::get;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::net::TcpListener;

pub(crate) struct Issuer {
    pair: EcdsaKeyPair,
    /// The address of the keys.
    pub(crate) keys: String,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    /// The issuer's name.
    pub(crate) const NAME: &str = "https://issuer.example";

    pub(crate) async fn start() -> Self {
        let random = SystemRandom::new();
        let method = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let made = EcdsaKeyPair::generate_pkcs8(method, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(method, made.as_ref(), &random).expect("a key");
        let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
        let key =
            json!({ "kty": "EC", "crv": "P-256", "kid": "k", "x": encoded(x), "y": encoded(y) });
        let set = json!({ "keys": [key] }).to_string();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let answer = move || {
            count.fetch_add(1, Ordering::Relaxed);
            std::future::ready(set.clone())
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let keys = format!("http://{}/keys", listener.local_addr().expect("an address"));
        let app = Router::new().route("/keys", get(answer));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { pair, keys, asked }
    }

    /// Returns the number of requests for the keys.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns a token for a subject, which is valid for this number of seconds, with these additional claims.
    pub(crate) fn token(&self, subject: &str, seconds: i64, more: &Value) -> String {
        self.signed(
            &json!({ "alg": "ES256", "kid": "k" }),
            subject,
            seconds,
            more,
        )
    }

    /// The same with a header of another kind.
    pub(crate) fn signed(
        &self,
        header: &Value,
        subject: &str,
        seconds: i64,
        more: &Value,
    ) -> String {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        let now = i64::try_from(now.as_secs()).expect("a time");
        let mut claims = json!({ "iss": Self::NAME, "sub": subject, "exp": now + seconds });
        for (name, value) in more.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        let message = format!(
            "{}.{}",
            encoded(header.to_string()),
            encoded(claims.to_string())
        );
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes());
        format!("{message}.{}", encoded(signature.expect("it is signed")))
    }
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
