//! The AG-UI server: takes runs over HTTP, drives each with an agent of its own, and streams its events.
//!
//! The way of a run: [`endpoint`] reads the request, [`AgUiServer`] finds out what the run is, its engine drives the turn, and
//! what the turn says is streamed in the encoding that the client asked for. The turns of sessions are the same engine's.
//!
//! Source: AG-UI 1.0, <https://docs.ag-ui.com>.

mod agent;
mod authorization;
mod backend;
mod capabilities;
mod connections;
mod copilotkit;
mod dropped_logs;
mod endpoint;
mod extract;
mod host_name;
mod journals;
mod measured;
mod metrics;
mod openapi;
mod page;
mod recording;
mod refusal;
mod requests;
mod router;
mod scripted;
mod serving;
mod sessions;
#[cfg(test)]
#[path = "../../tests/simulation/mod.rs"]
mod simulation;
mod store_health;
mod thread_view;
mod turn_events;
mod turn_stream;
mod turns;
mod user_limits;

pub(crate) use backend::{Backend, ServerTool};
pub(crate) use openapi::AGENT_PATH;
pub(crate) use scripted::{scripted, scripted_slowly};
pub(crate) use serving::{EngineSettings, Limits, Serving, SessionStore};
#[cfg(feature = "restate")]
pub(crate) use stepwell_serve::parts::RestateSettings;

use axum::Router;
use measured::MeasuredStore;
use metrics::Metrics;
use recording::Recorder;
use sessions::Sessions;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use stepwell_core::run::TextOptions;
use stepwell_core::session::ViewOptions;
use stepwell_serve::AgUiServer;
use stepwell_serve::parts::{CHANGE_STATE, DriverSetup, Engine, Journals, LocalEngine, TurnAgent};
use store_health::StoreHealth;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use user_limits::UserLimits;
use uuid::Uuid;

/// How long the last bytes may take once all runs are over.
const LAST_BYTES: Duration = Duration::from_secs(5);

/// What all requests share.
struct Server {
    backend: Backend,
    /// What runs all turns.
    agent: Arc<TurnAgent>,
    serving: Serving,
    /// The runs that clients post, and who follows turns.
    runs: AgUiServer,
    user_limits: UserLimits,
    metrics: Metrics,
    /// The stored sessions.
    sessions: Sessions,
    /// What keeps the journals of turns, if they are kept.
    recorder: Option<Recorder>,
    store_health: StoreHealth,
}

/// A host that is open: it answers requests, and has gone on with the turns that were left to it. What brings the
/// requests is not its matter.
pub(crate) struct Host {
    server: Arc<Server>,
}

impl Host {
    /// Sets it up, and goes on with its unfinished turns.
    pub(crate) async fn open(backend: Backend, serving: Serving) -> io::Result<Self> {
        let tools = backend.registry().map_err(io::Error::other)?;
        let names = tools.definitions().iter();
        let names = names.map(|tool| tool.name.clone());
        let metrics = Metrics::new(names.chain([CHANGE_STATE.to_owned()]));
        let agent = Arc::new(agent::agent(&backend, &metrics));
        let kept = serving.sessions.clone();
        let store_health = StoreHealth::new(kept.store);
        let recorder = Recorder::new(serving.record);
        let setup = DriverSetup {
            store: Arc::new(MeasuredStore {
                store: Arc::new(store_health.clone()),
                metrics: metrics.clone(),
            }),
            // Of this life alone: a name that a host before had, or another has, would be taken for it.
            owner: format!("{}-{}", kept.label, Uuid::new_v4()),
            is_durable: kept.is_durable,
            agent: Some(Arc::clone(&agent)),
            offered: backend.offered.clone(),
            observer: Some(Arc::new(metrics.clone())),
            journals: recorder
                .clone()
                .map(|recorder| Arc::new(recorder) as Arc<dyn Journals>),
            most: serving.limits.runs,
            waiting: serving.limits.user_waiting,
            run_time: serving.limits.run_time,
            interrupt_time: serving.limits.interrupt_time,
            linger: serving.limits.linger,
            store_timeout: serving.limits.store_timeout,
            elsewhere: None,
        };
        let engine: Arc<dyn Engine> = match &serving.engine {
            EngineSettings::Local => Arc::new(LocalEngine::new(setup)),
            #[cfg(feature = "restate")]
            EngineSettings::Restate(settings) => {
                Arc::new(stepwell_serve::parts::RestateEngine::new(setup, settings).await?)
            }
            #[cfg(all(test, feature = "restate"))]
            EngineSettings::Simulated(maker) => Arc::new(maker.engine(setup)),
        };
        engine.open().await.map_err(io::Error::other)?;
        let driver = engine.driver().clone();
        let runs = AgUiServer::of_engine(
            Arc::clone(&engine),
            serving.trust,
            serving.keep_alive,
            serving.limits.store_timeout,
        );
        tokio::spawn(runs.let_go().clone().run_until_cancelled_owned({
            let driver = driver.clone();
            async move {
                if let Err(error) = driver.complete_logs().await {
                    tracing::warn!(target: "stepwell", %error, "the logs of turns that are over cannot be completed");
                }
            }
        }));
        let store = Arc::clone(driver.store());
        if let Some(kept) = serving.limits.keep_events {
            let drops = dropped_logs::keep_dropping(Arc::clone(&store), kept);
            tokio::spawn(runs.let_go().clone().run_until_cancelled_owned(drops));
        }
        let view = ViewOptions {
            tools: tools.clone(),
            text: TextOptions::AS_WRITTEN,
        };
        let sessions = Sessions::new(store, engine, view, kept.is_durable);
        let server = Arc::new(Server {
            agent,
            sessions,
            metrics,
            runs,
            user_limits: UserLimits::new(&serving.limits),
            backend,
            serving,
            recorder,
            store_health,
        });
        Ok(Self { server })
    }

    /// What answers its requests.
    pub(crate) fn router(&self) -> Router {
        router::router(Arc::clone(&self.server))
    }

    /// Takes no more runs, and gives those under way time to end. Returns when none is.
    pub(crate) async fn stop(&self) {
        let server = &self.server;
        server.runs.stop(server.serving.limits.grace).await;
    }
}

/// Serves until `stop` comes; then takes no more runs, and gives those under way time to end.
pub(crate) async fn serve(
    listener: TcpListener,
    backend: Backend,
    serving: Serving,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let bounds = serving.limits.connections();
    let host = Host::open(backend, serving).await?;
    let closing = CancellationToken::new();
    let http = connections::serve(listener, host.router(), bounds, closing.clone());
    let mut http = tokio::spawn(http);
    tokio::select! {
        ended = &mut http => return Ok(ended?),
        () = stop => {}
    }
    host.stop().await;
    closing.cancel();
    match tokio::time::timeout(LAST_BYTES, &mut http).await {
        Ok(ended) => ended?,
        Err(_) => http.abort(),
    }
    Ok(())
}
