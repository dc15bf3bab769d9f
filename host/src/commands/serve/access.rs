//! The access to the server that the settings give.

use crate::access::{Access, Jwt, KeyPlace, Keys, TokenFile};
use crate::settings::ServerSettings;
use std::sync::Arc;
use stepwell_demo::Failure;
use stepwell_io::HttpClient;

/// Returns what gives access to the server.
///
/// # Errors
/// A file cannot be used, or a setting needs another one.
pub(super) async fn access(
    settings: &ServerSettings,
    client: &HttpClient,
) -> Result<Access, Failure> {
    let tokens = settings.tokens.as_deref().map(TokenFile::open).transpose();
    let tokens = tokens.map_err(|error| Failure::usage(format!("tokens: {error}")))?;
    Ok(Access {
        token: settings.token.clone(),
        tokens: tokens.map(Arc::new),
        jwt: jwt(settings, client).await?.map(Arc::new),
    })
}

async fn jwt(settings: &ServerSettings, client: &HttpClient) -> Result<Option<Jwt>, Failure> {
    let ServerSettings {
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
    let source = KeyPlace::parse(place, client.clone()).map_err(unusable)?;
    let is_file = matches!(source, KeyPlace::File(_));
    let keys = Keys::new(source);
    match keys.load().await {
        Ok(()) => {}
        Err(error) if is_file => return Err(unusable(error)),
        // The keys may be readable later; other tokens give access meanwhile.
        Err(error) => {
            tracing::error!(target: "stepwell", %error, "the issuer's keys cannot be read");
        }
    }
    Ok(Some(Jwt::new(issuer, audience.clone(), keys)))
}

/// Refuses to listen beyond this machine without a token, unless the settings allow that.
pub(super) fn check_listen(settings: &ServerSettings, access: &Access) -> Result<(), Failure> {
    let listen = settings.listen;
    if listen.ip().is_loopback() || access.is_guarded() || settings.insecure {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "any client that reaches {listen} could use the model and read all sessions: set STEPWELL_SERVE_TOKEN, listen on \
         127.0.0.1, or say --insecure if that is meant"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    #[test]
    fn listening_beyond_this_machine_needs_a_token() {
        let command = ServerSettings::augment_args(Command::new("serve"));
        let matches = command.get_matches_from(["serve", "--listen", "0.0.0.0:0"]);
        let settings = ServerSettings::from_arg_matches(&matches).expect("settings");
        check_listen(&settings, &Access::default()).unwrap_err();
        let keys = Keys::new(KeyPlace::File("keys.json".into()));
        let jwt = Jwt::new("issuer".to_owned(), None, keys);
        for access in [
            Access {
                token: Some("token".into()),
                ..Access::default()
            },
            Access {
                jwt: Some(Arc::new(jwt)),
                ..Access::default()
            },
        ] {
            check_listen(&settings, &access).unwrap();
        }
    }
}
