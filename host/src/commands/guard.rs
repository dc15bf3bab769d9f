//! Who is let in, as the settings say.

use crate::access::{Access, Jwt, KeyPlace, Keys, TokenFile};
use crate::settings::Settings;
use std::ffi::OsStr;
use std::sync::Arc;
use stepwell_demo::Failure;
use stepwell_io::HttpClient;

/// What opens the server.
///
/// # Errors
/// A file cannot be used, or a setting is empty or lacks another.
pub(super) async fn access(settings: &Settings, client: &HttpClient) -> Result<Access, Failure> {
    check_empty(settings)?;
    let tokens = settings.tokens.as_deref().map(TokenFile::open).transpose();
    let tokens = tokens.map_err(|error| Failure::usage(format!("tokens: {error}")))?;
    Ok(Access {
        token: settings.token.clone(),
        tokens: tokens.map(Arc::new),
        jwt: jwt(settings, client).await?.map(Arc::new),
    })
}

/// Refuses what is there and says nothing: a variable that was to be filled, and was not.
fn check_empty(settings: &Settings) -> Result<(), Failure> {
    let tokens = settings.tokens.as_ref().map(|path| path.as_os_str());
    let text = |text: &'static str, value: &Option<String>| {
        let is_empty = value.as_ref().is_some_and(|value| value.trim().is_empty());
        is_empty.then_some(text)
    };
    let empty = [
        tokens.is_some_and(OsStr::is_empty).then_some("tokens"),
        text("jwt_issuer", &settings.jwt_issuer),
        text("jwt_audience", &settings.jwt_audience),
        text("jwt_keys", &settings.jwt_keys),
    ];
    match empty.into_iter().flatten().next() {
        None => Ok(()),
        Some(key) => Err(Failure::usage(format!(
            "{key} is empty: leave it out, or give one"
        ))),
    }
}

async fn jwt(settings: &Settings, client: &HttpClient) -> Result<Option<Jwt>, Failure> {
    let Settings {
        jwt_issuer: issuer,
        jwt_audience: audience,
        jwt_keys: keys,
        ..
    } = settings;
    let (issuer, place) = match (issuer, keys) {
        (Some(issuer), Some(keys)) => (issuer.clone(), keys),
        (None, None) if audience.is_none() => return Ok(None),
        _ => {
            return Err(Failure::usage(
                "JSON Web Tokens need both their issuer, jwt_issuer, and its keys, jwt_keys",
            ));
        }
    };
    let unusable = |error| Failure::usage(format!("jwt_keys: {error}"));
    let source = KeyPlace::of(place, client.clone()).map_err(unusable)?;
    let is_file = matches!(source, KeyPlace::File(_));
    let keys = Keys::new(source);
    match keys.load().await {
        Ok(()) => {}
        Err(error) if is_file => return Err(unusable(error)),
        // They may come in a while; other tokens open the server meanwhile.
        Err(error) => {
            tracing::error!(target: "stepwell", %error, "the issuer's keys cannot be read");
        }
    }
    Ok(Some(Jwt::new(issuer, audience.clone(), keys)))
}
