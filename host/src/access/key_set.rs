//! The keys of an issuer, as its key set has them (RFC 7517).

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
    kind: Kind,
    /// The only algorithm that it is for, if the set says one.
    algorithm: Option<KeyAlgorithm>,
    key: DecodingKey,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

impl Kind {
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
            // Secrets above all: what is in a set is known to everybody.
            _ => return None,
        })
    }

    /// What a key of this kind is needed for; nothing for what needs a secret.
    fn needed_by(algorithm: Algorithm) -> Option<Self> {
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

/// Whether tokens may be signed so: by a private key, whose public one verifies.
pub(super) fn is_taken(algorithm: Algorithm) -> bool {
    Kind::needed_by(algorithm).is_some()
}

impl KeySet {
    /// Reads a set. A key that is not understood, or is for something else, is left out (RFC 7517, section 5).
    ///
    /// # Errors
    /// It is no set.
    pub(super) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let Set { keys } = serde_json::from_slice(json)?;
        let keys = keys.into_iter().filter_map(|key| {
            let jwk: Jwk = serde_json::from_value(key).ok()?;
            let kind = Kind::of(&jwk)?;
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

    /// The key that a token's header speaks of. One without an id is the only key of its kind.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&DecodingKey> {
        let kind = Kind::needed_by(algorithm)?;
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
    fn a_key_is_found_by_its_id_and_kind() {
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
    fn without_an_id_there_is_one_key_or_none() {
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
    fn what_is_no_set_is_refused() {
        for text in ["", "[]", "{}", r#"{"keys": 7}"#] {
            assert!(KeySet::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
