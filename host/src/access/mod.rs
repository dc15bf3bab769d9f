//! Authenticates users: by the server's one token, by the tokens of several users, or by JSON Web Tokens of one issuer.

mod jwt;
mod key_set;
mod keys;
mod token_file;
mod tokens;
mod user;

pub(crate) use jwt::{Jwt, JwtError};
pub(crate) use keys::{KeyPlace, Keys};
pub(crate) use token_file::TokenFile;
pub(crate) use tokens::{NewToken, NoToken};
pub(crate) use user::User;

use std::sync::Arc;
use stepwell_core::dialect::Secret;
use subtle::ConstantTimeEq;
use time::OffsetDateTime;

/// The ways to get access to the server. Without any of them every client is admitted, as the unnamed user.
#[derive(Clone, Debug, Default)]
pub(crate) struct Access {
    /// The token of the unnamed user.
    pub(crate) token: Option<Secret>,
    /// The tokens of named users.
    pub(crate) tokens: Option<Arc<TokenFile>>,
    /// The JSON Web Tokens of named users.
    pub(crate) jwt: Option<Arc<Jwt>>,
}

/// Why a client is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    #[error("send the server's token: `Authorization: Bearer TOKEN`")]
    NoToken,
    #[error("this is not the server's token")]
    WrongToken,
    #[error(transparent)]
    Jwt(#[from] JwtError),
}

impl Access {
    /// Returns whether a token is needed.
    pub(crate) fn is_guarded(&self) -> bool {
        self.token.is_some() || self.tokens.is_some() || self.jwt.is_some()
    }

    /// Returns the user of a token.
    ///
    /// # Errors
    /// The token gives no access.
    pub(crate) async fn user(
        &self,
        token: Option<&[u8]>,
        now: OffsetDateTime,
    ) -> Result<User, Denied> {
        if !self.is_guarded() {
            return Ok(User::default());
        }
        let token = token.ok_or(Denied::NoToken)?;
        // In constant time, however much of the token is right.
        let is_token = |own: &Secret| bool::from(own.expose().as_bytes().ct_eq(token));
        if self.token.as_ref().is_some_and(is_token) {
            return Ok(User::default());
        }
        if let Some(user) = self.tokens.as_ref().and_then(|file| file.user(token)) {
            return Ok(user);
        }
        match &self.jwt {
            // A JSON Web Token has three parts, which no token of the file has.
            Some(jwt) if token.iter().filter(|&&byte| byte == b'.').count() == 2 => {
                Ok(jwt.user(token, now).await?)
            }
            _ => Err(Denied::WrongToken),
        }
    }
}
