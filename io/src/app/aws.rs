//! The credentials of AWS, with which requests to Amazon Bedrock are signed.

use futures::FutureExt;
use futures::future::BoxFuture;
use std::env;
use std::fmt::{self, Display};
use stepwell_core::dialect::Secret;

/// The credentials of an identity in AWS. They are in no snapshot, journal, log or error.
#[derive(Clone, PartialEq, Eq)]
pub struct AwsCredentials {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: Secret,
    pub(crate) session_token: Option<Secret>,
    pub(crate) region: Option<String>,
}

impl AwsCredentials {
    /// Creates the credentials of a user.
    #[must_use]
    pub fn new(access_key_id: impl Into<String>, secret_access_key: impl Into<Secret>) -> Self {
        Self {
            access_key_id: access_key_id.into(),
            secret_access_key: secret_access_key.into(),
            session_token: None,
            region: None,
        }
    }

    /// Sets the session token that temporary credentials have.
    #[must_use]
    pub fn with_session_token(mut self, token: impl Into<Secret>) -> Self {
        self.session_token = Some(token.into());
        self
    }

    /// Sets the region that requests are signed for, where the address does not name it: a proxy's. Without it, that is
    /// the region of `AWS_REGION` or `AWS_DEFAULT_REGION`.
    #[must_use]
    pub fn with_region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Returns the credentials of `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, if the first two are
    /// set.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        Self::from_variables(|name| env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let value = |name: &str| {
            let value = variable(name)?;
            let value = value.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let own = Self::new(value("AWS_ACCESS_KEY_ID")?, value("AWS_SECRET_ACCESS_KEY")?);
        Some(match value("AWS_SESSION_TOKEN") {
            Some(token) => own.with_session_token(token),
            None => own,
        })
    }
}

impl fmt::Debug for AwsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsCredentials")
            .field("region", &self.region)
            .finish_non_exhaustive()
    }
}

/// Gives the credentials of AWS: [`AwsCredentials`] that stay the same, or an async closure to new ones. The closure is
/// called before each request, so it should cache its credentials. If it fails, the request counts as one that did not
/// reach the provider, and is tried again.
pub trait AwsCredentialSource: Send + Sync + 'static {
    /// Gives the credentials. Dropping the future cancels the work.
    fn credentials(&self) -> BoxFuture<'static, Result<AwsCredentials, String>>;
}

impl AwsCredentialSource for AwsCredentials {
    fn credentials(&self) -> BoxFuture<'static, Result<AwsCredentials, String>> {
        let own = self.clone();
        async move { Ok(own) }.boxed()
    }
}

impl<F, Fut, E> AwsCredentialSource for F
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<AwsCredentials, E>> + Send + 'static,
    E: Display,
{
    fn credentials(&self) -> BoxFuture<'static, Result<AwsCredentials, String>> {
        let given = self();
        async move { given.await.map_err(|error| error.to_string()) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_the_sdks_have_credentials() {
        let read = |set: &[(&str, &str)]| {
            AwsCredentials::from_variables(|name| {
                let found = set.iter().find(|(set, _)| *set == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        let (id, secret) = (
            ("AWS_ACCESS_KEY_ID", "AKID "),
            ("AWS_SECRET_ACCESS_KEY", "s"),
        );
        assert_eq!(read(&[id]), None);
        assert_eq!(read(&[id, ("AWS_SECRET_ACCESS_KEY", " ")]), None);
        let own = AwsCredentials::new("AKID", "s");
        assert_eq!(read(&[id, secret]), Some(own.clone()));
        let session = own.with_session_token("t");
        assert_eq!(
            read(&[id, secret, ("AWS_SESSION_TOKEN", "t")]),
            Some(session)
        );
    }

    #[test]
    fn no_credential_is_printed() {
        let own = AwsCredentials::new("AKID", "secret").with_session_token("token");
        let printed = format!("{own:?}");
        for hidden in ["AKID", "secret", "token"] {
            assert!(!printed.contains(hidden), "{printed}");
        }
    }
}
