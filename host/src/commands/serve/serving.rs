//! How the server behaves towards its clients.

use crate::access::Access;
use crate::serve::{self, Limits, Serving, SessionStore};
use crate::settings::{Record, ServerSettings};
use std::time::Duration;
use stepwell_demo::Failure;
use stepwell_serve::ClientTrust;

/// Converts the settings to those of the server.
pub(super) fn serving(
    settings: &ServerSettings,
    engine: serve::EngineSettings,
    sessions: SessionStore,
    access: Access,
    default_record: Record,
) -> Result<Serving, Failure> {
    check_origins(&settings.allow_origin)?;
    Ok(Serving {
        engine,
        limits: limits(settings),
        sessions,
        access,
        trust: match settings.trust_clients {
            true => ClientTrust::Trusted,
            false => ClientTrust::Untrusted,
        },
        origins: settings.allow_origin.clone(),
        hosts: settings.allow_host.clone(),
        record: settings.record.unwrap_or(default_record),
        keep_alive: Duration::from_secs(settings.keep_alive.get()),
    })
}

fn limits(settings: &ServerSettings) -> Limits {
    let seconds = Duration::from_secs;
    Limits {
        body: settings.max_body,
        runs: settings.max_runs,
        user_runs: settings.user_runs,
        user_threads: settings.user_threads,
        user_waiting: settings.user_waiting.get(),
        user_requests: settings.user_requests,
        user_streams: settings.user_streams,
        connections: settings.max_connections.get(),
        header_timeout: seconds(settings.header_timeout.get()),
        idle_timeout: seconds(settings.idle_timeout.get()),
        run_time: seconds(settings.run_timeout),
        interrupt_time: seconds(settings.interrupt_timeout),
        linger: Some(seconds(settings.resume_timeout)),
        keep_events: settings
            .keep_events
            .map(|hours| seconds(hours.get().saturating_mul(3600))),
        store_timeout: seconds(settings.store_timeout),
        grace: seconds(settings.grace),
    }
}

/// Refuses what is no web origin.
fn check_origins(origins: &[String]) -> Result<(), Failure> {
    match origins
        .iter()
        .find(|origin| *origin != "*" && !is_origin(origin))
    {
        Some(other) => Err(Failure::usage(format!(
            "`{other}` is no web origin: write it as http://localhost:3000, without a path"
        ))),
        None => Ok(()),
    }
}

/// Returns whether the text is a scheme and an authority, and nothing more.
fn is_origin(text: &str) -> bool {
    let authority = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    authority.is_some_and(|authority| {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"/?#@*,".contains(&byte);
        !authority.is_empty() && authority.bytes().all(is_plain)
    })
}
