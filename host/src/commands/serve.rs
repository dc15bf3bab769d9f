use super::chat::set_endpoint;
use super::guard;
use crate::access::Access;
use crate::mcp::Mcp;
#[cfg(feature = "restate")]
use crate::serve::RestateSettings;
use crate::serve::{
    AGENT_PATH, Backend, EngineSettings, Limits, Record, ServerTool, Serving, SessionStore,
    scripted, serve,
};
use crate::settings::{
    EngineFlags, EngineName, InForce, LimitFlags, ModelFlags, Origin, ServeFlags, Settings,
    Sources, StoreFlags, ToolFlags, flags,
};
use crate::store::MEMORY;
use crate::tools::{calculator, clock};
use clap::Args;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;
use stepwell_core::run::{Limits as RunLimits, RunConfig};
use stepwell_demo::Failure;
use stepwell_io::{Endpoint, HttpClient};
use stepwell_mock_llm::MockLlm;
use stepwell_serve::ClientTrust;
use tokio::net::TcpListener;

/// Serves an AG-UI agent: runs are posted to /agent, and their events streamed. A web page at / is for people.
///
/// Without --provider a scripted model answers, without key and network; a word of the question chooses what happens:
/// hello, think, app, both, list, change, everything, slow, missing, table, fail, refuse, wait, or anything else. With a
/// provider the model has a clock, a calculator, the state that it shares with the client, and the client's own tools;
/// with either, those that MCP servers have when the server starts.
///
/// Ctrl-C or SIGTERM stop it: runs under way may end first. A second Ctrl-C ends it at once.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    limits: LimitFlags,
    #[command(flatten)]
    tools: ToolFlags,
    /// What the scripted model says, in the place of its own script: a file in the format of `mock-llm`.
    #[arg(long, value_name = "FILE", conflicts_with = "provider")]
    script: Option<PathBuf>,
    // Their tools are asked for once, when the server starts.
    #[command(flatten)]
    mcp: Mcp,
    #[command(flatten)]
    store: StoreFlags,
    #[command(flatten)]
    engine: EngineFlags,
    #[command(flatten)]
    serve: ServeFlags,
}

impl Serve {
    pub(crate) async fn run(self, sources: &Sources) -> Result<(), Failure> {
        let own = [
            flags(&self.model)?,
            flags(&self.limits)?,
            flags(&self.tools)?,
            flags(&self.mcp)?,
            flags(&self.store)?,
            flags(&self.engine)?,
            flags(&self.serve)?,
        ];
        let in_force = sources.with(&own)?;
        let settings = &in_force.settings;
        let client = HttpClient::new().map_err(Failure::failed)?;
        let access = guard::access(settings, &client).await?;
        check_listen(settings, &access)?;
        let is_guarded = access.is_guarded();
        // What cannot be is said before anything is opened.
        engine(settings)?;
        let address = settings.store.as_deref().unwrap_or(MEMORY);
        let store = crate::store::open(address).await?;
        let sessions = SessionStore {
            store: store.store(),
            label: settings.owner.clone(),
            is_durable: address != MEMORY,
        };
        let mut serving = serving(settings, sessions, access)?;
        let (model, mut backend) = self.backend(&in_force, client).await?;
        if model.is_some() && in_force.origin("record") == Origin::Default {
            // It says nothing that anybody could want to hide.
            serving.record = Record::Full;
        }
        backend.instructions.clone_from(&settings.instructions);
        settings.limit(&mut backend.limits);
        let mut config = RunConfig::new(backend.endpoint.clone());
        config.limits = backend.limits;
        config.check_price().map_err(Failure::usage)?;
        let servers = Mcp::of(settings).connect().await?;
        backend.tools.extend(ServerTool::of(&servers));
        ask_before(&mut backend, &settings.ask_before)?;

        let listen = settings.listen;
        let unusable = |error| Failure::failed(format!("{listen}: {error}"));
        let listener = TcpListener::bind(listen).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let mut out = io::stdout();
        // Whoever reads the line may tell it to stop.
        let signal = stop_signal()?;
        // At once: whoever started the program may read no more than the first line.
        let addresses =
            format!("AG-UI agent at http://{address}{AGENT_PATH}\nweb page at http://{address}/\n");
        out.write_all(addresses.as_bytes())?;
        if !address.ip().is_loopback() && !is_guarded {
            writeln!(
                io::stderr(),
                "stepwell: whoever reaches {address} may use the model: set STEPWELL_SERVE_TOKEN"
            )?;
        }
        out.flush()?;
        let served = serve(listener, backend, serving, signal).await;
        servers.close().await;
        store.close().await;
        Ok(served?)
    }

    /// What answers the runs, and the scripted model if it is that.
    async fn backend(
        &self,
        in_force: &InForce,
        client: HttpClient,
    ) -> Result<(Option<MockLlm>, Backend), Failure> {
        let settings = &in_force.settings;
        if self.script.is_none()
            && let Some(endpoint) = set_endpoint(settings)?
        {
            let backend = Backend {
                endpoint,
                offered: offered(settings)?,
                instructions: None,
                limits: RunLimits::default(),
                tools: vec![
                    ServerTool::new(clock::tool(), clock::run),
                    ServerTool::new(
                        calculator::tool()
                            .label(|arguments| Some(arguments["expression"].as_str()?.to_owned())),
                        calculator::run,
                    ),
                ],
                client,
            };
            return Ok((None, backend));
        }
        for key in ["api", "base_url", "model", "offer"] {
            if let Origin::Flag(flag) = in_force.origin(key) {
                return Err(Failure::usage(format!(
                    "{flag} is of a provider: name it with --provider"
                )));
            }
        }
        let script = self.script.as_ref().map(|path| {
            let unusable = |error| Failure::usage(format!("{}: {error}", path.display()));
            fs::read_to_string(path).map_err(unusable)
        });
        let script = script.transpose()?;
        let (model, backend) = scripted(script.as_deref(), client).await?;
        Ok((Some(model), backend))
    }
}

/// The models that a turn may ask for, beside the one that is set.
fn offered(settings: &Settings) -> Result<Vec<Endpoint>, Failure> {
    let offered = settings.offer.iter().map(|name| {
        let (provider, model) = name
            .split_once('/')
            .filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
            .ok_or_else(|| {
                Failure::usage(format!("`{name}` is no model: write it as PROVIDER/MODEL"))
            })?;
        let is_same = settings.provider.as_deref() == Some(provider);
        let other = Settings {
            provider: Some(provider.to_owned()),
            model: Some(model.to_owned()),
            // They are of the one that is set.
            api: settings.api.clone().filter(|_| is_same),
            base_url: settings.base_url.clone().filter(|_| is_same),
            ..Settings::default()
        };
        set_endpoint(&other)
    });
    offered.filter_map(Result::transpose).collect()
}

/// Refuses to let other machines in without a token, unless that is meant.
fn check_listen(settings: &Settings, access: &Access) -> Result<(), Failure> {
    let listen = settings.listen;
    if listen.ip().is_loopback() || access.is_guarded() || settings.insecure {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "whoever reaches {listen} could use the model and read all sessions: set STEPWELL_SERVE_TOKEN, listen on \
         127.0.0.1, or say --insecure if that is meant"
    )))
}

/// How the server behaves towards its clients.
fn serving(
    settings: &Settings,
    sessions: SessionStore,
    access: Access,
) -> Result<Serving, Failure> {
    for origin in &settings.allow_origin {
        let is_origin = origin == "*" || is_origin(origin);
        if !is_origin {
            return Err(Failure::usage(format!(
                "`{origin}` is no web origin: write it as http://localhost:3000, without a path"
            )));
        }
    }
    Ok(Serving {
        engine: engine(settings)?,
        limits: Limits {
            body: settings.max_body,
            runs: settings.max_runs,
            user_runs: settings.user_runs,
            user_threads: settings.user_threads,
            user_waiting: settings.user_waiting.get(),
            user_requests: settings.user_requests,
            user_streams: settings.user_streams,
            connections: settings.max_connections.get(),
            header_timeout: Duration::from_secs(settings.header_timeout.get()),
            idle_timeout: Duration::from_secs(settings.idle_timeout.get()),
            run_time: Duration::from_secs(settings.run_timeout),
            interrupt_time: Duration::from_secs(settings.interrupt_timeout),
            linger: Some(Duration::from_secs(settings.resume_timeout)),
            keep_events: settings
                .keep_events
                .map(|hours| Duration::from_secs(hours.get().saturating_mul(3600))),
            store_timeout: Duration::from_secs(settings.store_timeout),
            grace: Duration::from_secs(settings.grace),
        },
        sessions,
        access,
        trust: match settings.trust_clients {
            true => ClientTrust::Trusted,
            false => ClientTrust::Untrusted,
        },
        origins: settings.allow_origin.clone(),
        hosts: settings.allow_host.clone(),
        record: settings.record,
        keep_alive: Duration::from_secs(settings.keep_alive.get()),
    })
}

/// What decides where turns run.
fn engine(settings: &Settings) -> Result<EngineSettings, Failure> {
    match settings.engine {
        EngineName::Local => match settings.restate {
            Some(_) => Err(Failure::usage(
                "an address of Restate is set, and the engine is `local`: say --engine restate too",
            )),
            None => Ok(EngineSettings::Local),
        },
        EngineName::Restate => restate(settings),
    }
}

#[cfg(not(feature = "restate"))]
fn restate(_: &Settings) -> Result<EngineSettings, Failure> {
    Err(Failure::usage(
        "this program was built without the engine `restate`: build it with `--features restate`",
    ))
}

#[cfg(feature = "restate")]
fn restate(settings: &Settings) -> Result<EngineSettings, Failure> {
    let store = settings.store.as_deref().unwrap_or(MEMORY);
    if !crate::store::is_shared(store) {
        let store = crate::store::name(store);
        return Err(Failure::usage(format!(
            "the engine `restate` lets any host go on with a turn, so the hosts share a PostgreSQL, and the store is \
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
            // What has a host can have a port.
            let _ = admin.set_port(Some(RESTATE_ADMIN_PORT));
            admin
        }
    };
    let url = settings.restate_url.as_deref();
    let url = url.map(|url| address("restate_url", url)).transpose()?;
    let listen = settings.restate_listen;
    if !listen.ip().is_loopback() && settings.restate_identity.is_none() && !settings.insecure {
        return Err(Failure::usage(format!(
            "whoever reaches {listen} could answer for the users: set restate_identity to Restate's public key, let it \
             listen on 127.0.0.1, or say --insecure if that is meant"
        )));
    }
    if listen.ip().is_unspecified() && url.is_none() {
        return Err(Failure::usage(format!(
            "Restate cannot call {listen}: say with --restate-url where it reaches this host"
        )));
    }
    Ok(EngineSettings::Restate(RestateSettings {
        ingress: ingress.into(),
        admin: admin.into(),
        listen,
        url: url.map(String::from),
        identity: settings.restate_identity.clone(),
    }))
}

/// Where Restate's admin API is, if nothing else is said.
#[cfg(feature = "restate")]
const RESTATE_ADMIN_PORT: u16 = 9070;

#[cfg(feature = "restate")]
fn address(key: &str, text: &str) -> Result<reqwest::Url, Failure> {
    let unusable = |reason: &str| {
        Failure::usage(format!(
            "{key}: `{text}` is no address ({reason}): write it as http://127.0.0.1:8080"
        ))
    };
    let url = reqwest::Url::parse(text).map_err(|error| unusable(&error.to_string()))?;
    match matches!(url.scheme(), "http" | "https") && url.has_host() {
        true => Ok(url),
        false => Err(unusable("it is not of http")),
    }
}

fn ask_before(backend: &mut Backend, names: &[String]) -> Result<(), Failure> {
    for name in names {
        let mut tools = backend.tools.iter_mut();
        match tools.find(|tool| tool.tool.name() == name) {
            Some(tool) => tool.tool.requires_approval = true,
            None => {
                let known = backend.tools.iter().map(|tool| tool.tool.name());
                let known = known.collect::<Vec<_>>().join(", ");
                return Err(Failure::usage(format!(
                    "the server has no tool `{name}`; it has: {known}"
                )));
            }
        }
    }
    Ok(())
}

/// Whether it is a scheme and an authority, and nothing more.
fn is_origin(text: &str) -> bool {
    let authority = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    authority.is_some_and(|authority| {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"/?#@*,".contains(&byte);
        !authority.is_empty() && authority.bytes().all(is_plain)
    })
}

/// How a program ends that Ctrl-C has broken off: 128 and the signal's number.
const INTERRUPTED: i32 = 130;

/// Ctrl-C, or what a supervisor sends. Listened for from now on. A Ctrl-C after that ends the process at once.
#[cfg(unix)]
pub(super) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tokio::spawn(async move {
            interrupt.recv().await;
            std::process::exit(INTERRUPTED);
        });
    })
}

/// Ctrl-C. A second one ends the process at once.
#[cfg(not(unix))]
pub(super) fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without it the program ends as soon as it is pressed.
        let _ = tokio::signal::ctrl_c().await;
        tokio::spawn(async {
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(INTERRUPTED);
            }
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Jwt, KeyPlace, Keys};
    use std::sync::Arc;

    #[test]
    fn beyond_this_machine_everybody_needs_a_token_of_some_kind() {
        let settings = Settings {
            listen: "0.0.0.0:0".parse().unwrap(),
            ..Settings::default()
        };
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
