//! JSON Web Tokens of one issuer (RFC 7519), by the best practices of RFC 8725.

use super::key_set::is_supported;
use super::keys::{Keys, NoKey};
use super::user::User;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Validation, decode, decode_header};
use serde::Deserialize;
use time::{Duration, OffsetDateTime};

/// The allowed difference between the issuer's clock and this one.
const LEEWAY: Duration = Duration::seconds(60);

/// Validates the tokens of one issuer.
#[derive(Debug)]
pub(crate) struct Jwt {
    issuer: String,
    audience: Option<String>,
    keys: Keys,
}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JwtError {
    #[error("this is no JSON Web Token that can be read")]
    Unreadable,
    #[error(
        "the token's header says of no signature that is taken: RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA"
    )]
    Algorithm,
    #[error("the token has conditions that this server does not know (`crit`)")]
    Critical,
    #[error("the token's key is none of its issuer's")]
    Key,
    #[error("the token's signature is wrong")]
    Signature,
    #[error("the token is of another issuer")]
    Issuer,
    #[error("the token is for another audience")]
    Audience,
    #[error("the token lacks a claim: it needs `iss`, `sub` and `exp`, and `aud` where one is set")]
    Claims,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    Early,
    #[error(
        "the token's subject cannot be a user's name: that has 1 to 255 bytes and no control characters"
    )]
    Subject,
    /// The token may be valid.
    #[error("the keys of the tokens' issuer cannot be had: try again in a while")]
    KeysUnavailable,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    /// Seconds since 1970, with or without a fraction.
    exp: f64,
    nbf: Option<f64>,
}

impl Jwt {
    /// Accepts the tokens of `issuer` for `audience`, or, without one, those without an audience.
    pub(crate) fn new(issuer: String, audience: Option<String>, keys: Keys) -> Self {
        Self {
            issuer,
            audience,
            keys,
        }
    }

    /// Returns the user of a token: its subject.
    ///
    /// # Errors
    /// The token is refused.
    pub(crate) async fn user(&self, token: &[u8], now: OffsetDateTime) -> Result<User, JwtError> {
        let header = decode_header(token).map_err(|error| match error.kind() {
            // `none`, among others.
            ErrorKind::Json(_) | ErrorKind::InvalidAlgorithmName => JwtError::Algorithm,
            _ => JwtError::Unreadable,
        })?;
        if !is_supported(header.alg) {
            return Err(JwtError::Algorithm);
        }
        if header.crit.is_some() {
            return Err(JwtError::Critical);
        }
        let key = self.keys.find(header.kid.as_deref(), header.alg).await;
        let key = key.map_err(|missing| match missing {
            NoKey::Unknown => JwtError::Key,
            NoKey::Unavailable => JwtError::KeysUnavailable,
        })?;
        let mut validation = Validation::new(header.alg);
        // Checked below, by the given clock.
        validation.validate_exp = false;
        validation.set_issuer(&[&self.issuer]);
        let mut required = vec!["iss", "sub", "exp"];
        if let Some(audience) = &self.audience {
            validation.set_audience(&[audience]);
            required.push("aud");
        }
        validation.set_required_spec_claims(&required);
        let decoded = decode::<Claims>(token, &key, &validation);
        let claims = decoded.map_err(|error| reason(error.kind()))?.claims;
        if claims.iss != self.issuer {
            return Err(JwtError::Issuer);
        }
        let seconds = |time: OffsetDateTime| time.unix_timestamp() as f64;
        if seconds(now - LEEWAY) >= claims.exp {
            return Err(JwtError::Expired);
        }
        if claims.nbf.is_some_and(|from| seconds(now + LEEWAY) < from) {
            return Err(JwtError::Early);
        }
        User::named(&claims.sub).map_err(|_| JwtError::Subject)
    }
}

fn reason(kind: &ErrorKind) -> JwtError {
    match kind {
        ErrorKind::InvalidSignature => JwtError::Signature,
        ErrorKind::InvalidIssuer => JwtError::Issuer,
        ErrorKind::InvalidAudience => JwtError::Audience,
        ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => JwtError::Algorithm,
        ErrorKind::MissingRequiredClaim(_)
        | ErrorKind::InvalidClaimFormat(_)
        | ErrorKind::Json(_) => JwtError::Claims,
        _ => JwtError::Unreadable,
    }
}

#[cfg(test)]
mod tests;
