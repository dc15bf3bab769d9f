use crate::serve::{self, RestateSettings};
use crate::settings::EngineSettings;
use crate::setup::store;
use reqwest::Url;
use stepwell_demo::Failure;

/// The port of Restate's admin API, unless the settings name its address.
const ADMIN_PORT: u16 = 9070;

/// Checks the settings of Restate.
pub(super) fn restate(
    settings: &EngineSettings,
    store: &str,
    is_insecure: bool,
) -> Result<serve::EngineSettings, Failure> {
    if !store::is_shared(store) {
        let store = store::name(store);
        return Err(Failure::usage(format!(
            "the engine `restate` lets any host continue a turn, so the hosts share a PostgreSQL, and the store is \
             `{store}`: name one with --store postgres://USER@HOST/DATABASE"
        )));
    }
    let Some(ingress) = &settings.restate else {
        return Err(Failure::usage(
            "the engine `restate` needs the address of Restate: --restate http://127.0.0.1:8080",
        ));
    };
    let ingress = address("restate", ingress)?;
    let admin = match &settings.restate_admin {
        Some(admin) => address("restate_admin", admin)?,
        None => {
            let mut admin = ingress.clone();
            // An address with a host can have a port.
            let _ = admin.set_port(Some(ADMIN_PORT));
            admin
        }
    };
    let url = settings.restate_url.as_deref();
    let url = url.map(|url| address("restate_url", url)).transpose()?;
    check_listen(settings, url.as_ref(), is_insecure)?;
    Ok(serve::EngineSettings::Restate(RestateSettings {
        ingress: ingress.into(),
        admin: admin.into(),
        listen: settings.restate_listen,
        url: url.map(String::from),
        identity: settings.restate_identity.clone(),
    }))
}

/// Refuses an address that is open to others than Restate, or that Restate cannot call.
fn check_listen(
    settings: &EngineSettings,
    url: Option<&Url>,
    is_insecure: bool,
) -> Result<(), Failure> {
    let listen = settings.restate_listen;
    if !listen.ip().is_loopback() && settings.restate_identity.is_none() && !is_insecure {
        return Err(Failure::usage(format!(
            "any client that reaches {listen} could answer for the users: set restate_identity to Restate's public key, \
             let it listen on 127.0.0.1, or say --insecure if that is meant"
        )));
    }
    if listen.ip().is_unspecified() && url.is_none() {
        return Err(Failure::usage(format!(
            "Restate cannot call {listen}: say with --restate-url where it reaches this host"
        )));
    }
    Ok(())
}

fn address(key: &str, text: &str) -> Result<Url, Failure> {
    let unusable = |reason: &str| {
        Failure::usage(format!(
            "{key}: `{text}` is no address ({reason}): write it as http://127.0.0.1:8080"
        ))
    };
    let url = Url::parse(text).map_err(|error| unusable(&error.to_string()))?;
    match matches!(url.scheme(), "http" | "https") && url.has_host() {
        true => Ok(url),
        false => Err(unusable("it is not of http")),
    }
}
