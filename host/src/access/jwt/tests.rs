//! Tokens that are taken and tokens that are not, signed by keys that each test makes, and by an RSA key of a file.

use super::super::keys::{KeySource, KeysError};
use super::*;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures::FutureExt;
use futures::future::BoxFuture;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair,
};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration as Wait;

const ISSUER: &str = "https://issuer.example";

/// The time at which the tests run.
const NOW: i64 = 1_800_000_000;

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

/// A key that signs, and its public one in a set.
struct Signer {
    algorithm: &'static str,
    id: &'static str,
    pair: Pair,
}

enum Pair {
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl Signer {
    fn ec(
        algorithm: &'static str,
        id: &'static str,
        signing: &'static EcdsaSigningAlgorithm,
    ) -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(signing, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(signing, made.as_ref(), &random).unwrap();
        let pair = Pair::Ec(pair);
        Self {
            algorithm,
            id,
            pair,
        }
    }

    fn p256(id: &'static str) -> Self {
        Self::ec("ES256", id, &ECDSA_P256_SHA256_FIXED_SIGNING)
    }

    fn p384(id: &'static str) -> Self {
        Self::ec("ES384", id, &ECDSA_P384_SHA384_FIXED_SIGNING)
    }

    fn ed25519(id: &'static str) -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self {
            algorithm: "EdDSA",
            id,
            pair: Pair::Ed(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap()),
        }
    }

    fn public(&self) -> Value {
        match &self.pair {
            Pair::Ec(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({ "kty": "EC", "crv": curve, "kid": self.id, "x": encoded(x), "y": encoded(y) })
            }
            Pair::Ed(pair) => {
                json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.id, "x": encoded(pair.public_key()) })
            }
        }
    }

    fn sign(&self, claims: &Value) -> String {
        self.sign_as(&json!({ "alg": self.algorithm, "kid": self.id }), claims)
    }

    fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let message = format!(
            "{}.{}",
            encoded(header.to_string()),
            encoded(claims.to_string())
        );
        let signature = match &self.pair {
            Pair::Ec(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message.as_bytes());
                encoded(signed.unwrap())
            }
            Pair::Ed(pair) => encoded(pair.sign(message.as_bytes())),
        };
        format!("{message}.{signature}")
    }
}

/// A set that the test changes, and that counts how often it is read.
#[derive(Clone, Debug, Default)]
struct Set {
    keys: Arc<Mutex<Option<Value>>>,
    reads: Arc<AtomicUsize>,
}

impl Set {
    fn of(signers: &[&Signer]) -> Self {
        let set = Self::default();
        set.has(signers);
        set
    }

    fn has(&self, signers: &[&Signer]) {
        let keys: Vec<_> = signers.iter().map(|signer| signer.public()).collect();
        self.is(json!({ "keys": keys }));
    }

    fn is(&self, set: Value) {
        *self.keys.lock().unwrap() = Some(set);
    }

    fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }
}

impl KeySource for Set {
    fn read(&self) -> BoxFuture<'_, Result<Vec<u8>, KeysError>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let keys = self.keys.lock().unwrap().clone();
        let keys = keys.ok_or(KeysError::Status(503));
        async move { Ok(keys?.to_string().into_bytes()) }.boxed()
    }
}

fn jwt(set: &Set) -> Jwt {
    Jwt::new(ISSUER.to_owned(), None, Keys::new(set.clone()))
}

fn claims() -> Value {
    json!({ "iss": ISSUER, "sub": "alice", "exp": NOW + 600 })
}

async fn user(jwt: &Jwt, token: &str) -> Result<String, JwtError> {
    let now = OffsetDateTime::from_unix_timestamp(NOW).unwrap();
    let user = jwt.user(token.as_bytes(), now).await?;
    Ok(user.room().to_owned())
}

#[tokio::test]
async fn the_subject_of_a_token_is_the_user() {
    let signers = [
        Signer::p256("one"),
        Signer::p384("two"),
        Signer::ed25519("three"),
    ];
    let jwt = jwt(&Set::of(&signers.each_ref()));
    for signer in &signers {
        let token = signer.sign(&claims());
        assert_eq!(user(&jwt, &token).await.as_deref(), Ok("alice"));
        let without_id = signer.sign_as(&json!({ "alg": signer.algorithm }), &claims());
        assert_eq!(user(&jwt, &without_id).await.as_deref(), Ok("alice"));
    }
}

#[tokio::test]
async fn every_signature_of_rsa_is_verified() {
    let file: Value = serde_json::from_str(include_str!("rsa_tokens.json")).unwrap();
    let set = Set::default();
    set.is(json!({ "keys": [file["key"]] }));
    let jwt = jwt(&set);
    let tokens = file["tokens"].as_object().unwrap();
    assert_eq!(tokens.len(), 6);
    for (algorithm, token) in tokens {
        let token = token.as_str().unwrap();
        let taken = user(&jwt, token).await;
        assert_eq!(taken.as_deref(), Ok("alice"), "{algorithm}");
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let (header, _) = signed.split_once('.').unwrap();
        let mut other = claims();
        other["sub"] = json!("mallory");
        let changed = format!("{header}.{}.{signature}", encoded(other.to_string()));
        assert_eq!(user(&jwt, &changed).await, Err(JwtError::Signature));
    }
}

#[tokio::test]
async fn a_token_of_another_form_is_not_taken() {
    let signer = Signer::p256("k");
    let set = Set::of(&[&signer]);
    let jwt = jwt(&set);
    let signed_as = |header: Value| signer.sign_as(&header, &claims());
    let unsigned = format!(
        "{}.{}.",
        encoded(r#"{"alg":"none"}"#),
        encoded(claims().to_string())
    );
    let good = signer.sign(&claims());
    for (token, error) in [
        (unsigned, JwtError::Algorithm),
        (
            signed_as(json!({ "alg": "none", "kid": "k" })),
            JwtError::Algorithm,
        ),
        (
            signed_as(json!({ "alg": "HS256", "kid": "k" })),
            JwtError::Algorithm,
        ),
        (
            signed_as(json!({ "alg": "HS512", "kid": "k" })),
            JwtError::Algorithm,
        ),
        // Keys are the issuer's, and none that the token brings along.
        (
            signed_as(json!({ "alg": "ES256", "kid": "other", "jwk": signer.public() })),
            JwtError::Key,
        ),
        (
            signed_as(json!({ "alg": "ES384", "kid": "k" })),
            JwtError::Key,
        ),
        (
            signed_as(json!({ "alg": "ES256", "kid": "k", "crit": ["b64"], "b64": true })),
            JwtError::Critical,
        ),
        (Signer::p256("k").sign(&claims()), JwtError::Signature),
        (format!("{good}A"), JwtError::Signature),
        (good[..good.len() - 10].to_owned(), JwtError::Signature),
        ("a.b.c".to_owned(), JwtError::Algorithm),
        ("..".to_owned(), JwtError::Algorithm),
    ] {
        let denied = user(&jwt, &token).await.unwrap_err();
        let is_expected = denied == error || denied == JwtError::Unreadable;
        assert!(is_expected, "{token}: {denied:?}");
        assert_ne!(denied, JwtError::KeysUnavailable);
    }
    assert_eq!(user(&jwt, &good).await.as_deref(), Ok("alice"));
}

#[tokio::test]
async fn claims_are_held_to_the_issuer_the_audience_and_the_clock() {
    let signer = Signer::ed25519("k");
    let jwt = jwt(&Set::of(&[&signer]));
    let with = |key: &str, value: Value| {
        let mut claims = claims();
        claims[key] = value;
        claims
    };
    for (claims, expected) in [
        (
            with("iss", json!("https://other.example")),
            Err(JwtError::Issuer),
        ),
        (with("iss", json!([ISSUER])), Err(JwtError::Claims)),
        (with("iss", Value::Null), Err(JwtError::Claims)),
        (with("sub", Value::Null), Err(JwtError::Claims)),
        (with("sub", json!("")), Err(JwtError::Subject)),
        (with("sub", json!("a\nb")), Err(JwtError::Subject)),
        (with("exp", Value::Null), Err(JwtError::Claims)),
        (with("exp", json!("never")), Err(JwtError::Claims)),
        (with("exp", json!(NOW - 61)), Err(JwtError::Expired)),
        (with("exp", json!(NOW - 60)), Err(JwtError::Expired)),
        (with("exp", json!(NOW - 59)), Ok("alice")),
        (with("exp", json!(NOW as f64 + 0.5)), Ok("alice")),
        (with("nbf", json!(NOW + 61)), Err(JwtError::Early)),
        (with("nbf", json!(NOW + 60)), Ok("alice")),
        // The token has an audience, and this server's is not configured.
        (
            with("aud", json!("another-service")),
            Err(JwtError::Audience),
        ),
        (
            with("sub", json!("ålice@example.org")),
            Ok("ålice@example.org"),
        ),
    ] {
        let taken = user(&jwt, &signer.sign(&claims)).await;
        assert_eq!(taken.as_deref(), expected.as_ref().copied(), "{claims}");
    }
}

#[tokio::test]
async fn a_token_is_for_the_servers_audience() {
    let signer = Signer::ed25519("k");
    let keys = Keys::new(Set::of(&[&signer]));
    let jwt = Jwt::new(ISSUER.to_owned(), Some("stepwell".to_owned()), keys);
    for (audience, expected) in [
        (json!("stepwell"), Ok("alice")),
        (json!(["other", "stepwell"]), Ok("alice")),
        (json!("other"), Err(JwtError::Audience)),
        (json!([]), Err(JwtError::Audience)),
        (Value::Null, Err(JwtError::Claims)),
    ] {
        let mut claims = claims();
        claims["aud"] = audience;
        let taken = user(&jwt, &signer.sign(&claims)).await;
        assert_eq!(taken.as_deref(), expected.as_ref().copied(), "{claims}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_that_is_new_is_looked_for_once_a_minute_at_most() {
    let (old, new) = (Signer::p256("old"), Signer::p256("new"));
    let set = Set::of(&[&old]);
    let jwt = jwt(&set);
    let (of_old, of_new) = (old.sign(&claims()), new.sign(&claims()));
    assert_eq!(user(&jwt, &of_old).await.as_deref(), Ok("alice"));
    assert_eq!(set.reads(), 1, "they are read when they are first needed");
    set.has(&[&old, &new]);
    for _ in 0..100 {
        assert_eq!(user(&jwt, &of_new).await, Err(JwtError::Key));
    }
    assert_eq!(set.reads(), 1);
    tokio::time::advance(Wait::from_secs(60)).await;
    assert_eq!(user(&jwt, &of_new).await.as_deref(), Ok("alice"));
    assert_eq!(user(&jwt, &of_old).await.as_deref(), Ok("alice"));
    assert_eq!(set.reads(), 2);
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_away_are_told_and_looked_for_again() {
    let signer = Signer::p256("k");
    let set = Set::default();
    let jwt = jwt(&set);
    let token = signer.sign(&claims());
    for _ in 0..10 {
        assert_eq!(user(&jwt, &token).await, Err(JwtError::KeysUnavailable));
    }
    assert_eq!(set.reads(), 1);
    set.has(&[&signer]);
    tokio::time::advance(Wait::from_secs(60)).await;
    assert_eq!(user(&jwt, &token).await.as_deref(), Ok("alice"));
    // A later answer that is no set changes nothing.
    set.is(json!({ "keys": [] }));
    tokio::time::advance(Wait::from_secs(60)).await;
    let unknown = Signer::p256("other").sign(&claims());
    assert_eq!(user(&jwt, &unknown).await, Err(JwtError::Key));
    assert_eq!(user(&jwt, &token).await.as_deref(), Ok("alice"));
    assert_eq!(set.reads(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_was_withdrawn_is_forgotten() {
    let (old, new) = (Signer::p256("old"), Signer::p256("new"));
    let set = Set::of(&[&old]);
    let jwt = jwt(&set);
    let token = old.sign(&claims());
    assert_eq!(user(&jwt, &token).await.as_deref(), Ok("alice"));
    set.has(&[&new]);
    tokio::time::advance(Wait::from_secs(3600)).await;
    // The first request does not wait for the read that it causes.
    let _ = user(&jwt, &token).await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert_eq!(set.reads(), 2);
    assert_eq!(user(&jwt, &token).await, Err(JwtError::Key));
}
