//! The key set of an issuer (RFC 7517).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

/// The keys of a set that can verify a signature.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: Option<String>,
    kind: KeyKind,
    /// The only algorithm that the key is for, if the set names one.
    algorithm: Option<KeyAlgorithm>,
    key: DecodingKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyKind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl KeyKind {
    fn of(jwk: &Jwk) -> Option<Self> {
        Some(match &jwk.algorithm {
            AlgorithmParameters::RSA(key) if is_long_enough(&key.n) => Self::Rsa,
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
                Self::P256
            }
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => {
                Self::P384
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                Self::Ed25519
            }
            // Secrets above all: a key set is public.
            _ => return None,
        })
    }

    /// Returns the kind of key that verifies this algorithm; `None` if it needs a secret.
    fn for_algorithm(algorithm: Algorithm) -> Option<Self> {
        Some(match algorithm {
            Algorithm::RS256
            | Algorithm::RS384
            | Algorithm::RS512
            | Algorithm::PS256
            | Algorithm::PS384
            | Algorithm::PS512 => Self::Rsa,
            Algorithm::ES256 => Self::P256,
            Algorithm::ES384 => Self::P384,
            Algorithm::EdDSA => Self::Ed25519,
            _ => return None,
        })
    }
}

/// Returns whether an RSA key with this modulus is safe: it has 2048 bits or more (RFC 7518, section 3.3).
fn is_long_enough(modulus: &str) -> bool {
    let modulus = BASE64_URL_SAFE_NO_PAD.decode(modulus).unwrap_or_default();
    modulus.iter().skip_while(|byte| **byte == 0).count() >= 256
}

/// Returns whether tokens may have this algorithm: a public key verifies it.
pub(super) fn is_supported(algorithm: Algorithm) -> bool {
    KeyKind::for_algorithm(algorithm).is_some()
}

impl KeySet {
    /// Parses a key set. Keys that are unknown or for another use are left out (RFC 7517, section 5).
    ///
    /// # Errors
    /// The text is no key set.
    pub(super) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let Set { keys } = serde_json::from_slice(json)?;
        let keys = keys.into_iter().filter_map(|key| {
            let jwk: Jwk = serde_json::from_value(key).ok()?;
            let kind = KeyKind::of(&jwk)?;
            let common = &jwk.common;
            let is_for_others = |used: &PublicKeyUse| *used != PublicKeyUse::Signature;
            if common.public_key_use.as_ref().is_some_and(is_for_others) {
                return None;
            }
            Some(Key {
                id: common.key_id.clone(),
                kind,
                algorithm: common.key_algorithm,
                key: DecodingKey::from_jwk(&jwk).ok()?,
            })
        });
        Ok(Self(keys.collect()))
    }

    /// Returns the key that a token's header names; without an id, the only key of its kind.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&DecodingKey> {
        let kind = KeyKind::for_algorithm(algorithm)?;
        let mut fitting = self.0.iter().filter(|key| {
            let is_for = key
                .algorithm
                .is_none_or(|only| only == KeyAlgorithm::from(algorithm));
            key.kind == kind && is_for && id.is_none_or(|id| key.id.as_deref() == Some(id))
        });
        let key = fitting.next()?;
        if id.is_none() && fitting.next().is_some() {
            return None;
        }
        Some(&key.key)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A key of RFC 8037, appendix A.2, and one of RFC 7517, appendix A.1.
    fn set() -> Value {
        let ed = json!({ "kty": "OKP", "crv": "Ed25519", "kid": "ed",
            "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" });
        let ec = json!({ "kty": "EC", "crv": "P-256", "kid": "ec", "use": "sig", "alg": "ES256",
            "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
            "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM" });
        let mut other_use = ec.clone();
        other_use["use"] = json!("enc");
        other_use["kid"] = json!("enc");
        let secret =
            json!({ "kty": "oct", "kid": "secret", "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMko" });
        let unknown = json!({ "kty": "of tomorrow", "kid": "new" });
        let broken = json!({ "kty": "RSA", "kid": "broken" });
        let short = BASE64_URL_SAFE_NO_PAD.encode([255; 128]);
        let short = json!({ "kty": "RSA", "kid": "short", "n": short, "e": "AQAB" });
        json!({ "keys": [broken, short, unknown, secret, other_use, ed, ec] })
    }

    #[test]
    fn key_is_found_by_id_and_kind() {
        let keys = KeySet::parse(set().to_string().as_bytes()).unwrap();
        let is_found = |id, algorithm| keys.find(id, algorithm).is_some();
        assert_eq!(keys.len(), 2);
        assert!(is_found(Some("ed"), Algorithm::EdDSA));
        assert!(is_found(Some("ec"), Algorithm::ES256));
        assert!(is_found(None, Algorithm::EdDSA));
        for (id, algorithm) in [
            ("ed", Algorithm::ES256),
            ("ec", Algorithm::ES384),
            ("enc", Algorithm::ES256),
            ("other", Algorithm::ES256),
            ("secret", Algorithm::HS256),
            ("ec", Algorithm::HS256),
            ("short", Algorithm::RS256),
        ] {
            assert!(!is_found(Some(id), algorithm), "{id}");
        }
        assert!(!is_found(None, Algorithm::RS256));
    }

    #[test]
    fn without_id_only_key_of_kind_is_found() {
        let mut set = set();
        let keys = set["keys"].as_array_mut().unwrap();
        let mut second = keys[5].clone();
        second["kid"] = json!("second");
        keys.push(second);
        let keys = KeySet::parse(set.to_string().as_bytes()).unwrap();
        assert!(keys.find(None, Algorithm::EdDSA).is_none());
        assert!(keys.find(Some("second"), Algorithm::EdDSA).is_some());
    }

    #[test]
    fn invalid_set_is_refused() {
        for text in ["", "[]", "{}", r#"{"keys": 7}"#] {
            assert!(KeySet::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
